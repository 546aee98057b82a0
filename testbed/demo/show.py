"""The demo from beginning to end: nodes, rides, driver, loop, report. Nothing of it stays behind."""

import shutil
import signal
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console

from gesscale.assembly import build_loop
from gesscale.clock import SystemClock
from gesscale.decision import Decision
from gesscale.errors import ClusterError
from gesscale.settings import load_settings
from testbed.cluster import lifecycle
from testbed.cluster.check import PairCheck, check_pairs
from testbed.cluster.processes import Role
from testbed.cluster.spark import LocalSpark
from testbed.cluster.topology import Topology, read_topology
from testbed.demo.live import LiveView
from testbed.demo.query import start_query
from testbed.demo.record import Record
from testbed.demo.report import write_report
from testbed.demo.rides import PreparedRides, prepare_rides
from testbed.demo.scenario import Scenario

HEAD_START_S = 30.0
DRAIN_S = 90.0
CHECKS = 4


@dataclass(slots=True)
class DayClock(SystemClock):
    """Real time that ends when every row is processed.

    Attributes
    ----------
    spark
        Its driver must stay alive.
    record
        Tells the rows that are processed.
    rows
        How many there are.
    deadline_s
        When it ends at the latest, seconds since the epoch.
    """

    spark: LocalSpark
    record: Record
    rows: int
    deadline_s: float

    def __post_init__(self) -> None:
        SystemClock.__init__(self)

    def wait_until(self, at_s: float) -> bool:
        """Wait for an instant; False when the day is over.

        Raises
        ------
        ClusterError
            When the driver has died.
        """
        if self.record.processed_rows >= self.rows or self.now_s() > self.deadline_s:
            return False
        if self.spark.driver() is None:
            message = "the query's driver has ended before its day was over"
            raise ClusterError(message)
        return SystemClock.wait_until(self, at_s)


@dataclass(slots=True)
class Stage:
    """Says what is going on, and how long it took.

    Attributes
    ----------
    console
        Where to.
    """

    console: Console
    began_s: float = field(default_factory=time.monotonic)

    def say(self, text: str) -> None:
        """Print a line with the seconds since the beginning."""
        self.console.print(f"[dim]{time.monotonic() - self.began_s:5.0f} s[/dim]  {text}", highlight=False)


def play(scenario: Scenario, folder: Path, console: Console) -> bool:
    """Run the demo.

    Parameters
    ----------
    scenario
        What is played.
    folder
        The report's folder; it exists and is empty.
    console
        Where progress is shown.

    Returns
    -------
    bool
        Whether every promise was kept.

    Raises
    ------
    GesscaleError
        When something cannot be started; nothing stays behind.
    """
    stage = Stage(console)
    topology = read_topology(scenario.topology)
    with _cluster(topology, scenario, stage):
        pairs = _checked_pairs(topology, stage)
        rides = prepare_rides(scenario, stage.say)
        record = _play_day(scenario, topology, rides, folder, stage)
        stage.say("counting the rows of the sink, drawing the figure")
        return write_report(record, scenario, topology, pairs, rides, folder, console)


@contextmanager
def _cluster(topology: Topology, scenario: Scenario, stage: Stage) -> Iterator[None]:
    stage.say(f"bringing up {len(topology.nodes)} edge nodes, each a network namespace")
    lifecycle.up(topology, source=scenario.topology)
    try:
        yield
    finally:
        before = signal.signal(
            signal.SIGINT, signal.SIG_IGN
        )  # a second Ctrl-C must not cut the cleaning short
        swept = lifecycle.down(topology.name)
        signal.signal(signal.SIGINT, before)
        stage.say(f"took the nodes down ({swept.processes} processes ended)")


def _checked_pairs(topology: Topology, stage: Stage) -> tuple[PairCheck, ...]:
    stage.say("pinging every pair of nodes against the latency map")
    for _ in range(CHECKS):
        pairs = check_pairs(topology, count=5)
        wrong = [pair for pair in pairs if not pair.ok]
        if not wrong:
            error_ms = max(abs(pair.error_ms or 0.0) for pair in pairs)
            stage.say(f"{len(pairs)} pairs are as the map says, the worst {error_ms:.2f} ms off")
            return pairs
        stage.say(f"{len(wrong)} of {len(pairs)} pairs are not as the map says; measuring again")
    pair = wrong[0]
    message = (
        f"{len(wrong)} pairs of nodes stay off the latency map, such as {pair.first} to {pair.second}: asked "
        f"{pair.asked_ms:g} ms, measured {pair.measured_ms} ms; is this machine busy with something else?"
    )
    raise ClusterError(message)


def _play_day(
    scenario: Scenario, topology: Topology, rides: PreparedRides, folder: Path, stage: Stage
) -> Record:
    start_at_s = time.time() + HEAD_START_S
    stage.say(f"starting the query's driver on {topology.driver_node}, and one replica beside it")
    spark = start_query(scenario, topology, rides.folder, folder, start_at_s)
    loop = build_loop(load_settings(scenario.write_settings(folder, topology)), time.time())
    record = Record(began_at_s=start_at_s)
    view = LiveView(stage.console, scenario.day_s, rides.begins_at_hour)
    stage.say(f"the day begins: {rides.rows} rows in {scenario.day_s:.0f} s, policy {scenario.policy}")
    clock = DayClock(spark, record, rides.rows, start_at_s + scenario.day_s + DRAIN_S)

    def report(decisions: tuple[Decision, ...]) -> None:
        record.add(decisions)
        for decision in decisions:
            view.show(decision, record.since_start_s(decision.at_s))

    try:
        with closing(loop.knowledge), view.showing():
            loop.run(clock, scenario.period_s, report)
    finally:
        shutil.copy(spark.log(Role.DRIVER, topology.driver_node), folder / "driver.log")
    spark.stop_driver()
    return record
