"""Running a day: drivers and first replicas start, and the loop scales them until every row is processed."""

import shutil
import time
from collections.abc import Iterator, Mapping
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
from testbed.cluster.processes import Role
from testbed.cluster.spark import LocalSpark, open_spark
from testbed.cluster.topology import Topology, read_topology
from testbed.live.nodes import DayClock, ProgressLog, edge_nodes
from testbed.live.record import Record
from testbed.live.scenario import Scenario, TaxiOperator, prepare_settings

DRIVER_S = 240.0
METRICS_S = 240.0


class LiveJob(Protocol):
    """What is run on the nodes: driver programs, and rows that reach them when they are due."""

    def program(self, operator: TaxiOperator, folder: Path) -> tuple[str, ...]:
        """Return an operator's driver program, arguments for Python; sink and checkpoint go to the folder."""
        ...

    def flowing(self) -> AbstractContextManager[float]:
        """Have rows for as long as the context lasts; it gives when the first is due, seconds since the epoch."""
        ...

    def check(self) -> None:
        """Raise ClusterError where rows do not come any more."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """What a day is played with.

    Attributes
    ----------
    scenario, settings: what is played, and how it is scaled
    topology: the nodes
    folder: where everything goes
    progress: prints what happens
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
        """Have the nodes for as long as the context lasts."""
        return edge_nodes(self.topology, self.progress)


def run_job(setup: Setup, job: LiveJob, *, rows: int, begins_at_hour: float = 0.0) -> Mapping[str, Record]:
    """Run a job's drivers and the loop until the last operator has processed all rows, or time is up.

    Raises
    ------
    GesscaleError
        If something cannot be started, or ends before its time.
    """
    scenario, settings, progress = setup.scenario, setup.settings, setup.progress
    names = [operator.name for operator in scenario.operators]
    with ExitStack() as stack:
        progress.log(
            f"starting on {setup.topology.driver_node} the driver, and one replica, of {' and of '.join(names)}"
        )
        sparks = stack.enter_context(running_operators(setup, job))
        loop = build_loop(settings, time.time())
        stack.enter_context(closing(loop.knowledge))
        served = stack.enter_context(closing(ServedLoop(loop, settings, host="127.0.0.1", port=0)))
        if privilege.is_network_of_machine():
            progress.log(f"look at it: {served.url}")
        progress.log(f"the day begins: {rows} rows in {scenario.day_s:.0f} s, policy {loop.policy.name}")
        began_at_s = stack.enter_context(job.flowing())
        records = {name: Record(began_at_s=began_at_s) for name in names}

        def check() -> None:
            job.check()
            for spark in sparks:
                if spark.driver() is None:
                    raise ClusterError(f"the driver of operator {spark.operator!r} has ended before its day was over")

        def report(decisions: tuple[Decision, ...]) -> None:
            served.report(decisions)
            for decision in decisions:
                records[decision.operator].add((decision,))
                elapsed_s = decision.at_s - began_at_s
                hour = begins_at_hour + 24 * min(1.0, max(0.0, elapsed_s / scenario.day_s))
                progress.console.print(decision_line(decision, elapsed_s, hour), highlight=False)

        clock = DayClock(
            is_over=lambda: records[names[-1]].processed_rows >= rows,
            check=check,
            deadline_s=began_at_s + scenario.day_s + scenario.drain_s,
        )
        monitor = settings.monitor
        served.loop.run(clock, monitor.period_s, report, min_period_s=monitor.min_period_s)
        return records


def decision_line(decision: Decision, elapsed_s: float, hour: float) -> str:
    """Return a decision as a line, with the seconds since the day began and the hour of the day."""
    reading, mst = decision.analysis.reading, decision.analysis.mst
    load, backlog = (reading.input_rows_per_s, reading.backlog_rows) if reading else (None, None)
    clock = f"{int(hour % 24):02d}:{int(hour * 60) % 60:02d}"
    return (
        f"{elapsed_s:4.0f} s  {clock}  {decision.operator:8s}  load {load or 0:5.0f} rows/s"
        f"  MST {f'{mst.mid:5.0f}' if mst else '    –'}  backlog {backlog or 0:6.0f}  {decision.sentence}"
    )


@contextmanager
def running_operators(setup: Setup, job: LiveJob) -> Iterator[tuple[LocalSpark, ...]]:
    """Have a Spark application for each operator, with one replica on the node of its driver; logs are kept.

    Nothing of it runs on when the context ends, however it ends: the nodes can hold another run then.

    Raises
    ------
    ClusterError
        If a driver ends, or its metrics cannot be read in time.
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
    """Wait for a driver that was started, give it a first replica on its own node, wait until it can be observed.

    Raises
    ------
    ClusterError
        If the driver ends, or its metrics cannot be read in time.
    """
    spark.await_driver(DRIVER_S)
    spark.await_replicas(spark.start_replicas([spark.topology.driver_node]))
    deadline_s = time.monotonic() + METRICS_S
    while True:
        try:
            fetch(f"{metrics_url}/replicas", timeout_s=2.0, max_bytes=100_000)
        except MetricsUnavailableError as error:
            if time.monotonic() > deadline_s:
                raise ClusterError(
                    f"the driver runs, but after {METRICS_S:g} s its metrics cannot be read: {error}"
                ) from error
            time.sleep(0.5)
        else:
            return


def module_command(module: str, *words: str, options: Mapping[str, object]) -> tuple[str, ...]:
    """Return a command of a module as arguments for the Python interpreter.

    Examples
    --------
    >>> module_command("testbed.pipeline", "stream", options={"trigger-s": 2.0})
    ('-m', 'testbed.pipeline', 'stream', '--trigger-s', '2.0')
    """
    pairs = (word for name, value in options.items() for word in (f"--{name}", str(value)))
    return ("-m", module, *words, *pairs)
