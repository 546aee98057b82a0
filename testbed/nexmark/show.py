"""A query of Nexmark on emulated edge nodes through a day of changing load: scaled by a policy, then verified.

The delays are not measured first, as in the demo: whether rows are exact does not depend on them.
"""

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from rich.console import Console

from gesscale.errors import ClusterError, InputError
from testbed.cluster.topology import Topology, read_topology
from testbed.demo.day import scale_day
from testbed.demo.record import write_records
from testbed.demo.scenario import Scenario, prepare_settings
from testbed.demo.stage import Stage, edge_nodes
from testbed.nexmark.feed import EventFeed, event_feed
from testbed.nexmark.job import NexmarkJob, scenario_of
from testbed.nexmark.queries import Query
from testbed.workloads.workload import Workload

_STEPS = 24


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
    kafka
        Whether the events come through a topic of a real broker; else the source makes them.

    Raises
    ------
    InputError
        Where batches of the most rows, without a pause, would not carry the load.
    """

    query: Query
    policy: str
    topology: str = "edge8"
    day_s: float = 240.0
    least_rows_per_s: float = 15.0
    most_rows_per_s: float = 150.0
    kafka: bool = False

    def __post_init__(self) -> None:
        scenario = self.scenario
        rows = scenario.cap_rows * (1 if self.kafka else scenario.max_replicas)
        most = int(rows * (self.day_s + scenario.drain_s) / scenario.trigger_s)
        if self.load.total_rows > most:
            message = (
                f"nexmark: expected at most {most} events, got {int(self.load.total_rows)}: a batch reads at most "
                f"{rows}, and one begins every {scenario.trigger_s:g} s; give a lower --most-rows-per-s"
            )
            raise InputError(message)

    @property
    def load(self) -> Workload:
        """Events due per second: half a wave."""
        grows = self.most_rows_per_s - self.least_rows_per_s
        return Workload.of_rates(
            self.query.name,
            self.day_s / _STEPS,
            (
                round(self.least_rows_per_s + grows * math.sin(math.pi * (step + 0.5) / _STEPS), 1)
                for step in range(_STEPS)
            ),
        )

    @property
    def scenario(self) -> Scenario:
        """The same as a scenario of the demo, for the settings of its loop."""
        scenario = scenario_of(self.query, kafka=self.kafka)
        return replace(scenario, policy=self.policy, topology=self.topology, day_s=self.day_s)


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
    stage, scenario, name = Stage(console), day.scenario, day.query.name
    topology = read_topology(day.topology)
    settings = prepare_settings(scenario, topology, folder)
    with edge_nodes(topology, day.topology, stage), _feed(scenario, topology, folder, stage) as feed:
        job = NexmarkJob(
            query=day.query,
            scenario=scenario,
            load=day.load,
            start_at_s=time.time() + scenario.head_start_s,
            feed=feed,
        )
        if feed is not None:
            feed.send(job.event_options)
        records = scale_day(scenario, settings, topology, job, folder, stage, rows=job.rows_total)
    write_records(records, folder)
    record = records[name]
    if record.processed_rows < job.rows_total:
        message = (
            f"expected {job.rows_total} rows within {day.day_s + scenario.drain_s:.0f} s, got "
            f"{record.processed_rows}: the load is beyond what the nodes, or this machine, can carry; what was "
            "written is no whole result"
        )
        raise ClusterError(message)
    up, down = (sum(sign * each.growth > 0 for each in record.rescales) for sign in (1, -1))
    stage.say(f"{len(record.rescales)} changes, {up} up and {down} down; comparing with the batch")
    found = job.verified(folder, record.processed_rows)
    stage.say(
        f"{name}: {found['expected']} rows expected, {found['missing']} missing, "
        f"{found['unexpected']} unexpected; the record is in {folder}"
    )
    return found["expected"] > 0 and found["missing"] == found["unexpected"] == 0


@contextmanager
def _feed(scenario: Scenario, topology: Topology, folder: Path, stage: Stage) -> Iterator[EventFeed | None]:
    """Have a broker where the events come through one."""
    if scenario.kafka is None:
        yield None
        return
    stage.say(f"starting a Kafka broker on {topology.driver_node}")
    with event_feed(topology, scenario.kafka, folder) as feed:
        yield feed
