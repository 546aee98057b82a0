"""Runs a day: starts drivers and first replicas, and lets the loop scale them until every row is processed."""

import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, Self

from gesscale.assembly import build_loop
from gesscale.errors import ClusterError, MetricsUnavailableError
from gesscale.model.decision import Decision
from gesscale.monitor.fetch import fetch
from gesscale.service.local import ServedLoop
from gesscale.settings import Settings
from testbed.cluster import privilege
from testbed.cluster.commands import retry
from testbed.cluster.processes import Role
from testbed.cluster.spark import LocalSpark, open_spark
from testbed.cluster.topology import Topology, read_topology
from testbed.live.nodes import DayClock, ProgressLog, edge_nodes
from testbed.live.record import Record
from testbed.live.scenario import LiveOperator, Scenario, prepare_settings
from testbed.live.steps import StepPrinter

DRIVER_S = 240.0
METRICS_S = 240.0


class LiveJob(Protocol):
    """A job to run on the nodes: driver programs, and rows that reach them when they are due."""

    def program(self, operator: LiveOperator, folder: Path) -> tuple[str, ...]:
        """Return an operator's driver program, arguments for Python; sink and checkpoint are in the folder."""
        ...

    def sending(self) -> AbstractContextManager[float]:
        """Send rows within the context; it yields when the first one is due, seconds since the epoch."""
        ...

    def check(self) -> None:
        """Raise ClusterError if the source of rows has failed."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """Everything that a run needs besides its job.

    Attributes
    ----------
    scenario: operators, load and times
    settings: of the loop
    topology: the nodes
    folder: for all results
    progress: prints the steps
    """

    scenario: Scenario
    settings: Settings
    topology: Topology
    folder: Path
    progress: ProgressLog

    @classmethod
    def prepare(cls, scenario: Scenario, folder: Path, progress: ProgressLog, config: Path | None = None) -> Self:
        """Read the topology of a scenario, and write the settings of its loop; see `prepare_settings`."""
        topology = read_topology(scenario.topology)
        settings = prepare_settings(scenario, topology, folder, config)
        return cls(scenario=scenario, settings=settings, topology=topology, folder=folder, progress=progress)

    def nodes(self) -> AbstractContextManager[None]:
        """Keep the nodes up within the context."""
        return edge_nodes(self.topology, self.progress)


def run_job(setup: Setup, job: LiveJob, *, rows: int, begins_at_hour: float = 0.0) -> Mapping[str, Record]:
    """Run a job's drivers and the loop until the last operator has processed all rows, or the deadline has passed.

    Raises
    ------
    GesscaleError
        If something cannot be started, or exits early.
    """
    scenario, settings, progress = setup.scenario, setup.settings, setup.progress
    names = [operator.name for operator in scenario.operators]
    with ExitStack() as stack:
        progress.log(f"starting driver and first replica of {' and '.join(names)} on {setup.topology.driver_node}")
        sparks = stack.enter_context(running_operators(setup, job))
        loop = build_loop(settings, time.time())
        stack.enter_context(closing(loop.knowledge))
        served = stack.enter_context(closing(ServedLoop(loop, settings, host="127.0.0.1", port=0)))
        if privilege.is_network_of_machine():
            progress.log(f"live page: {served.url}")
        progress.log(f"the day starts: {rows} rows in {scenario.day_s:.0f} s, policy {loop.policy.name}")
        began_at_s = stack.enter_context(job.sending())
        records = {name: Record(began_at_s=began_at_s) for name in names}
        steps = StepPrinter(
            progress.console,
            began_at_s,
            scenario.day_s,
            begins_at_hour,
            with_operator=len(names) > 1,
            verbose=progress.verbose,
        )

        def check() -> None:
            job.check()
            for spark in sparks:
                if spark.driver() is None:
                    raise ClusterError("driver-exited-early", operator=spark.operator)

        def report(decisions: tuple[Decision, ...]) -> None:
            served.report(decisions)
            for decision in decisions:
                records[decision.operator].add((decision,))
                steps.print(decision)

        clock = DayClock(
            is_over=lambda: records[names[-1]].processed_rows >= rows,
            check=check,
            deadline_s=began_at_s + scenario.day_s + scenario.drain_s,
        )
        monitor = settings.monitor
        served.loop.run(clock, monitor.period_s, report, min_period_s=monitor.min_period_s)
        return records


@contextmanager
def running_operators(setup: Setup, job: LiveJob) -> Iterator[tuple[LocalSpark, ...]]:
    """Run a Spark application for each operator within the context, with one replica on its driver's node.

    All its processes end with the context, so that the nodes can be used for another run. The logs are kept.

    Raises
    ------
    ClusterError
        If a driver exits, or its metrics cannot be read in time.
    """
    topology, operators = setup.topology, setup.scenario.operators
    sparks = tuple(open_spark(topology, operator.name) for operator in operators)
    try:
        for spark, operator in zip(sparks, operators, strict=True):
            spark.start_driver(job.program(operator, setup.folder))
        for spark, operator in zip(sparks, operators, strict=True):
            await_query(spark, operator.metrics_url(topology))
        yield sparks
    finally:
        for spark in sparks:
            spark.stop_driver()
            log = spark.log(Role.DRIVER, topology.driver_node)
            if log.exists():
                shutil.copy(log, setup.folder / f"driver-{spark.operator}.log")


def await_query(spark: LocalSpark, metrics_url: str) -> None:
    """Wait for a started driver, start its first replica on the same node, and wait until it serves metrics.

    Raises
    ------
    ClusterError
        If the driver exits, or its metrics cannot be read in time.
    """
    spark.await_driver(DRIVER_S)
    spark.await_replicas(spark.start_replicas([spark.topology.driver_node]))
    await_metrics(lambda: fetch(f"{metrics_url}/replicas", timeout_s=2.0, max_bytes=100_000))


def await_metrics(read: Callable[[], object]) -> None:
    """Wait until a driver serves metrics.

    Raises
    ------
    ClusterError
        If they cannot be read in time.
    """
    try:
        retry(read, METRICS_S)
    except (ClusterError, MetricsUnavailableError) as error:
        raise ClusterError("metrics-not-served", timeout_s=METRICS_S, cause=str(error)) from error


def module_command(module: str, *words: str, options: Mapping[str, object]) -> tuple[str, ...]:
    """Return the arguments for the Python interpreter that run a command of a module.

    Examples
    --------
    >>> module_command("testbed.pipeline", "stream", options={"trigger-s": 2.0})
    ('-m', 'testbed.pipeline', 'stream', '--trigger-s', '2.0')
    """
    pairs = (word for name, value in options.items() for word in (f"--{name}", str(value)))
    return ("-m", module, *words, *pairs)
