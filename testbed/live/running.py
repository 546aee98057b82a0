"""Running a day: drivers and first replicas start, and the loop scales them until every row is processed."""

import shutil
import time
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from pathlib import Path
from typing import Protocol

from gesscale.assembly import build_loop
from gesscale.errors import ClusterError, MetricsUnavailableError
from gesscale.model.decision import Decision
from gesscale.monitor.fetch import fetch
from gesscale.service.local import ServedLoop
from gesscale.settings import Settings
from testbed.cluster import privilege
from testbed.cluster.processes import Role
from testbed.cluster.spark import LocalSpark, open_spark
from testbed.cluster.topology import Topology
from testbed.live.nodes import DayClock, Stage
from testbed.live.record import Record
from testbed.live.scenario import Scenario, TaxiOperator
from testbed.live.view import LiveView

DRIVER_S = 240.0
METRICS_S = 240.0


class Job(Protocol):
    """What is run on the nodes: driver programs, and rows that reach them when they are due."""

    def program(self, operator: TaxiOperator, folder: Path) -> tuple[str, ...]:
        """Return an operator's driver program, as arguments for the Python interpreter.

        Parameters
        ----------
        operator
            Whose.
        folder
            Where its sink and its checkpoint go.
        """
        ...

    def flowing(self) -> AbstractContextManager[float]:
        """Have rows for as long as the context lasts; it gives when the first is due, seconds since the epoch."""
        ...

    def check(self) -> None:
        """Raise ClusterError where rows do not come any more."""
        ...


@contextmanager
def running_operators(
    scenario: Scenario, topology: Topology, job: Job, folder: Path
) -> Iterator[tuple[LocalSpark, ...]]:
    """Have what `start_operators` starts for as long as the context lasts; the drivers' logs are kept.

    Nothing of it runs on when the context ends, however it ends: the nodes can hold another run then.
    """
    sparks = tuple(open_spark(topology, operator.name) for operator in scenario.operators)
    try:
        yield start_operators(scenario, topology, job, folder)
    finally:
        for spark in sparks:
            spark.stop_driver()
            log = spark.log(Role.DRIVER, topology.driver_node)
            if log.exists():
                shutil.copy(log, folder / f"driver-{spark.operator}.log")


def start_operators(scenario: Scenario, topology: Topology, job: Job, folder: Path) -> tuple[LocalSpark, ...]:
    """Start a Spark application for each operator, with one replica on the node of its driver.

    Parameters
    ----------
    scenario, topology
        What is played, and on which nodes.
    job
        Their programs.
    folder
        Where sink and checkpoints go.

    Returns
    -------
    tuple of LocalSpark
        In the order of the operators; all can be observed.

    Raises
    ------
    ClusterError
        When a driver ends, or its metrics cannot be read in time.
    """
    sparks = tuple(open_spark(topology, operator.name) for operator in scenario.operators)
    for spark, operator in zip(sparks, scenario.operators, strict=True):
        spark.start_driver(job.program(operator, folder))
    for spark, operator in zip(sparks, scenario.operators, strict=True):
        await_query(spark, operator.metrics_url(topology))
    return sparks


def stream_program(options: Mapping[str, object]) -> tuple[str, ...]:
    """Return the driver program of an operator, as arguments for the Python interpreter.

    Parameters
    ----------
    options
        Those of ``python -m testbed.pipeline stream``, by name. It lingers when all is processed.

    Examples
    --------
    >>> stream_program({"trigger-s": 2.0})
    ('-m', 'testbed.pipeline', 'stream', '--trigger-s', '2.0', '--linger')
    """
    return ("-m", "testbed.pipeline", "stream", *option_words(options), "--linger")


def option_words(options: Mapping[str, object]) -> tuple[str, ...]:
    """Return options as words of a command line.

    Parameters
    ----------
    options
        By name, without dashes.

    Examples
    --------
    >>> option_words({"trigger-s": 2.0})
    ('--trigger-s', '2.0')
    """
    return tuple(word for name, value in options.items() for word in (f"--{name}", str(value)))


def await_query(spark: LocalSpark, metrics_url: str) -> None:
    """Wait for a driver that was started, give it a first replica on its own node, wait until it can be observed.

    Parameters
    ----------
    spark
        Its application.
    metrics_url
        Where it publishes its batches.

    Raises
    ------
    ClusterError
        When the driver ends, or its metrics cannot be read in time.
    """
    spark.await_driver(DRIVER_S)
    spark.await_replicas(spark.start_replicas([spark.topology.driver_node]))
    deadline_s = time.monotonic() + METRICS_S
    while True:
        try:
            fetch(f"{metrics_url}/replicas", timeout_s=2.0, max_bytes=100_000)
        except MetricsUnavailableError as error:
            if time.monotonic() > deadline_s:
                message = f"the driver runs, but after {METRICS_S:g} s its metrics cannot be read: {error}"
                raise ClusterError(message) from error
            time.sleep(0.5)
        else:
            return


def require_driver(spark: LocalSpark) -> None:
    """Check that a query's driver lives.

    Raises
    ------
    ClusterError
        When it has died.
    """
    if spark.driver() is None:
        message = f"the driver of operator {spark.operator!r} has ended before its day was over"
        raise ClusterError(message)


def scale_day(
    scenario: Scenario,
    settings: Settings,
    topology: Topology,
    job: Job,
    folder: Path,
    stage: Stage,
    *,
    rows: int,
    begins_at_hour: float = 0.0,
) -> Mapping[str, Record]:
    """Run a job's drivers and the loop until the last operator has processed all rows, or time is up.

    Parameters
    ----------
    scenario, settings
        What is played, and how it is scaled.
    topology
        The nodes; they are up.
    job
        What is run.
    folder
        Where everything goes.
    stage
        Prints what happens.
    rows
        That the last operator is to process.
    begins_at_hour
        Hour of the day of the first row, for whoever looks on.

    Returns
    -------
    Mapping of str to Record
        By operator, in the order of the stream.

    Raises
    ------
    GesscaleError
        When something cannot be started, or ends before its time.
    """
    names = [operator.name for operator in scenario.operators]
    with ExitStack() as stack:
        stage.say(
            f"starting on {topology.driver_node} the driver, and one replica, of {' and of '.join(names)}"
        )
        sparks = stack.enter_context(running_operators(scenario, topology, job, folder))
        loop = build_loop(settings, time.time())
        stack.enter_context(closing(loop.knowledge))
        served = stack.enter_context(closing(ServedLoop(loop, settings, host="127.0.0.1", port=0)))
        if privilege.is_network_of_machine():
            stage.say(f"look at it: {served.url}")
        stage.say(f"the day begins: {rows} rows in {scenario.day_s:.0f} s, policy {loop.policy.name}")
        began_at_s = stack.enter_context(job.flowing())
        records = {name: Record(began_at_s=began_at_s) for name in names}
        view = LiveView(stage.console, scenario.day_s, begins_at_hour)
        stack.enter_context(view.showing())

        def check() -> None:
            job.check()
            for spark in sparks:
                require_driver(spark)

        def report(decisions: tuple[Decision, ...]) -> None:
            served.report(decisions)
            for decision in decisions:
                records[decision.operator].add((decision,))
                view.show(decision, decision.at_s - began_at_s)

        clock = DayClock(
            is_over=lambda: records[names[-1]].processed_rows >= rows,
            check=check,
            deadline_s=began_at_s + scenario.day_s + scenario.drain_s,
        )
        served.loop.run(
            clock, settings.monitor.period_s, report, least_period_s=settings.monitor.least_period_s
        )
        return records
