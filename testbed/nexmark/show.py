"""A query of Nexmark on emulated edge nodes through a day of changing load: scaled by a policy, then verified.

The delays are not measured first, as in the demo: whether rows are exact does not depend on them.
"""

import json
import math
import shutil
import subprocess
import sys
import time
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from gesscale.assembly import build_loop
from gesscale.decision import Decision
from gesscale.errors import ClusterError
from gesscale.loop import ControlLoop
from gesscale.settings import Settings
from testbed.cluster.processes import Role
from testbed.cluster.spark import LocalSpark, open_spark
from testbed.cluster.topology import Topology, read_topology
from testbed.demo.live import LiveView
from testbed.demo.query import await_query, require_driver
from testbed.demo.record import Record, write_records
from testbed.demo.scenario import Scenario, TaxiOperator, prepare_settings
from testbed.demo.stage import DayClock, Stage, edge_nodes
from testbed.nexmark.queries import Query

HEAD_START_S = 30.0
DRAIN_S = 120.0
_STEPS = 24
_LAST_WINDOWS_S = 20.0
_VERIFY_WITHIN_S = 300.0


@dataclass(frozen=True, slots=True, kw_only=True)
class NexmarkDay:
    """What is played.

    Attributes
    ----------
    query, policy, topology
        Which query, scaled by which policy, on which nodes.
    day_s
        Length of the day, seconds: the load rises from the least to the most and falls again.
    least_rows_per_s, most_rows_per_s
        Events due per second. One replica does less than 125.
    service_ms_per_row
        Emulated work of a node of weight 1 on an event.
    cap_rows
        The cap on a batch, of each replica.
    max_replicas
        As many as there are parts of the state at most.
    """

    query: Query
    policy: str
    topology: str = "edge8"
    day_s: float = 240.0
    least_rows_per_s: float = 15.0
    most_rows_per_s: float = 150.0
    service_ms_per_row: float = 8.0
    cap_rows: int = 300
    max_replicas: int = 3

    @property
    def rates(self) -> tuple[float, ...]:
        """Events due per second, by step: half a wave."""
        grows = self.most_rows_per_s - self.least_rows_per_s
        return tuple(
            round(self.least_rows_per_s + grows * math.sin(math.pi * (step + 0.5) / _STEPS), 1)
            for step in range(_STEPS)
        )

    @property
    def events(self) -> int:
        """How many are due in the day."""
        return int(sum(self.rates) * self.day_s / _STEPS)

    @property
    def events_per_s(self) -> float:
        """Events in a second of their own time: as many as are due in the mean, so that windows close in the day."""
        return round(self.events / self.day_s, 1)

    @property
    def scenario(self) -> Scenario:
        """The same as a scenario of the demo, for the settings of its loop."""
        return Scenario(
            policy=self.policy,
            topology=self.topology,
            operators=(TaxiOperator(name=self.query.name),),
            day_s=self.day_s,
            cap_rows=self.cap_rows,
            max_replicas=self.max_replicas,
        )

    def program(self, folder: Path, start_at_s: float) -> tuple[str, ...]:
        """Return the driver program, as arguments for the Python interpreter."""
        options = {
            "folder": folder.resolve(),
            "events": self.events,
            "events-per-s": self.events_per_s,
            "start-at": start_at_s,
            "step-s": self.day_s / _STEPS,
            "rates": ",".join(map(str, self.rates)),
            "service-ms-per-row": self.service_ms_per_row / self.query.reads,
            "cap-rows-per-replica": self.cap_rows,
            "trigger-s": self.scenario.trigger_s,
        }
        words = [word for name, value in options.items() for word in (f"--{name}", str(value))]
        return ("-m", "testbed.nexmark", "stream", self.query.name, *words, "--linger")


def play(day: NexmarkDay, folder: Path, console: Console) -> bool:
    """Run a query through its day, and compare its result with a batch.

    Parameters
    ----------
    day
        What is played.
    folder
        For the record; it exists and is empty.
    console
        Where progress is shown.

    Returns
    -------
    bool
        Whether every row is as the batch has it, whatever the policy did.

    Raises
    ------
    GesscaleError
        When something cannot be started, or ends before its time; nothing stays behind.
    """
    stage = Stage(console)
    topology = read_topology(day.topology)
    settings = prepare_settings(day.scenario, topology, folder)
    with edge_nodes(topology, day.topology, stage):
        record = _scale(day, settings, topology, folder, stage)
    write_records({day.query.name: record}, folder)
    up, down = (sum(sign * each.growth > 0 for each in record.rescales) for sign in (1, -1))
    stage.say(f"{len(record.rescales)} changes, {up} up and {down} down; comparing with the batch")
    found = _verified(day, folder)
    stage.say(
        f"{day.query.name}: {found['expected']} rows expected, {found['missing']} missing, "
        f"{found['unexpected']} unexpected; the record is in {folder}"
    )
    return found["expected"] > 0 and found["missing"] == found["unexpected"] == 0


def _scale(day: NexmarkDay, settings: Settings, topology: Topology, folder: Path, stage: Stage) -> Record:
    """Run driver and loop until all events are processed."""
    spark = open_spark(topology, day.query.name)
    try:
        stage.say(f"starting on {topology.driver_node} the driver, and one replica, of {day.query.name}")
        began_at_s = time.time() + HEAD_START_S
        spark.start_driver(day.program(folder, began_at_s))
        await_query(spark, day.scenario.operators[0].metrics_url(topology))
        loop = build_loop(settings, time.time())
        with closing(loop.knowledge):
            record = _run(day, loop, settings.monitor.period_s, spark, began_at_s, stage)
        time.sleep(_LAST_WINDOWS_S)  # a batch without rows writes the windows that the last events closed
        spark.stop_driver()
        return record
    finally:
        log = spark.log(Role.DRIVER, topology.driver_node)
        if log.exists():
            shutil.copy(log, folder / "driver.log")


def _run(
    day: NexmarkDay, loop: ControlLoop, period_s: float, spark: LocalSpark, began_at_s: float, stage: Stage
) -> Record:
    record = Record(began_at_s=began_at_s)
    wanted = day.events * day.query.reads
    view = LiveView(stage.console, day.day_s, 0.0)
    stage.say(f"the day begins: {day.events} events in {day.day_s:.0f} s, policy {loop.policy.name}")

    def report(decisions: tuple[Decision, ...]) -> None:
        record.add(decisions)
        for decision in decisions:
            view.show(decision, decision.at_s - began_at_s)

    clock = DayClock(
        is_over=lambda: record.processed_rows >= wanted,
        check=lambda: require_driver(spark),
        deadline_s=began_at_s + day.day_s + DRAIN_S,
    )
    with view.showing():
        loop.run(clock, period_s, report)
    if record.processed_rows < wanted:
        message = (
            f"expected {wanted} rows within {day.day_s + DRAIN_S:.0f} s, got {record.processed_rows}: the load is "
            "beyond what the nodes, or this machine, can carry; what was written is no whole result"
        )
        raise ClusterError(message)
    return record


def _verified(day: NexmarkDay, folder: Path) -> dict[str, int]:
    """Compare in a process of its own: a Spark driver that has ended cannot begin again in the same one."""
    command = (
        *(sys.executable, "-m", "testbed.nexmark", "verify", day.query.name, "--folder", str(folder)),
        *("--events", str(day.events), "--events-per-s", str(day.events_per_s), "--output", "json"),
    )
    done = subprocess.run(command, capture_output=True, text=True, timeout=_VERIFY_WITHIN_S, check=False)
    try:
        found: dict[str, int] = json.loads(done.stdout)
    except ValueError:
        message = f"the comparison has failed: {done.stderr.strip()[-500:]}"
        raise ClusterError(message) from None
    return found
