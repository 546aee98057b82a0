"""A query of Nexmark on emulated edge nodes through a compressed day: scaled by a policy, verified, compared."""

import json
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from rich.console import Console

from gesscale.errors import ClusterError, InputError
from gesscale.service.recorded import write_page
from testbed.live.job_runner import Setup, module_command, run_job
from testbed.live.kafka import KafkaFeed, kafka_feed
from testbed.live.nodes import ProgressLog, verify_delays
from testbed.live.record import Record
from testbed.live.report import LATE_SHARE, PromiseCheck, check_scaling, commands_for, write_report
from testbed.live.rivals import DayCost, compare_with_rivals, rivals_table
from testbed.live.scenario import LiveOperator, Scenario, TopicInput
from testbed.live.scoring import LiveRun
from testbed.nexmark.queries import NexmarkQuery
from testbed.workloads.registry import workload_named
from testbed.workloads.workload import Workload

TOPIC = "nexmark"
_LAST_WINDOWS_WAIT_S = 20.0
_VERIFY_TIMEOUT_S = 300.0


def scenario_of(query: NexmarkQuery, *, kafka: bool = False) -> Scenario:
    """Return the scenario of a query: the taxi day's, with more work per row and fewer replicas.

    An event takes 8 ms on a node of weight 1, so that a replica processes less than 125 per second.
    """
    operator = LiveOperator(name=query.name, service_ms_per_row=8.0)
    scenario = Scenario(operators=(operator,), cap_rows=300, max_replicas=3, drain_s=120.0)
    # The driver reports the offered rows, as for the other source.
    return replace(scenario, kafka=TopicInput(loop_reads=False), cap_rows=750) if kafka else scenario


@dataclass(frozen=True, slots=True, kw_only=True)
class NexmarkJob:
    """A query and its events; a `testbed.live.job_runner.LiveJob`. An event that is read twice counts as two rows.

    Attributes
    ----------
    query, scenario: the query, and the times of its run
    load: events due per second
    start_at_s: when the first event is due, seconds since the epoch
    feed: source of the events; None if the driver generates them
    state_partitions: partitions of the query's state
    """

    query: NexmarkQuery
    scenario: Scenario
    load: Workload
    start_at_s: float
    feed: KafkaFeed | None = None
    state_partitions: int = 6

    @property
    def events(self) -> int:
        """Number of all events."""
        return int(self.load.total_rows)

    @property
    def events_per_s(self) -> float:
        """Events per second of event time: the mean rate of the load, so that windows close during the day."""
        return round(self.events / self.load.duration_s, 1)

    @property
    def rows_total(self) -> int:
        """Rows that Spark has to process."""
        return self.events * self.query.reads

    def offered_rows(self, now_s: float) -> int:
        """Return the number of rows that are due by an instant, seconds since the epoch."""
        return min(self.events, int(self.load.offered_rows(now_s - self.start_at_s))) * self.query.reads

    def rows_due_at_s(self, rows: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return when these rows are due, seconds since the epoch."""
        wholes = np.nextafter(rows // self.query.reads + 1.0, 0.0)  # due before a pause of the load, not after it
        return self.start_at_s + np.array([self.load.offered_at_s(whole) for whole in wholes.tolist()])

    @property
    def event_options(self) -> dict[str, object]:
        """Options of ``python -m testbed.nexmark`` for the events and their due times."""
        return {
            "events": self.events,
            "events-per-s": self.events_per_s,
            "start-at": self.start_at_s,
            "step-s": self.load.step_s,
            "rates": ",".join(f"{rate:.6g}" for rate in self.load.rows_per_s),
        }

    def program(self, operator: LiveOperator, folder: Path) -> tuple[str, ...]:
        """Return the driver program; the work of an event is divided among its reads."""
        options: dict[str, object] = {
            "folder": folder.resolve(),
            **self.event_options,
            "service-ms-per-row": operator.service_ms_per_row / self.query.reads,
            "trigger-s": self.scenario.trigger_s,
            "state-partitions": self.state_partitions,
            "metrics-port": operator.metrics_port,
        }
        if self.feed is None:
            options["cap-rows-per-replica"] = self.scenario.cap_rows
        else:
            options |= {"kafka": self.feed.bootstrap, "topic": TOPIC, "cap-rows": self.scenario.cap_rows}
        command = module_command("testbed.nexmark", "stream", self.query.name, options=options)
        return (*command, "--linger")

    def send(self) -> None:
        """Start the producer of the events if they go through a topic."""
        if self.feed is not None and self.scenario.kafka is not None:
            partitions = self.scenario.kafka.partitions
            options = {"kafka": self.feed.bootstrap, "topic": TOPIC, "partitions": partitions}
            options |= self.event_options
            self.feed.send(module_command("testbed.nexmark", "produce", options=options))

    @contextmanager
    def sending(self) -> Iterator[float]:
        """Yield when the first event is due; at the end, wait for the last windows."""
        yield self.start_at_s
        if self.query.closes:
            time.sleep(_LAST_WINDOWS_WAIT_S)  # a batch without rows writes them

    def check(self) -> None:
        """Raise ClusterError if the producer has failed."""
        if self.feed is not None:
            self.feed.check()

    def verify(self, folder: Path, processed_rows: int) -> dict[str, int]:
        """Compare the query's result with a batch over the processed events, row for row.

        It runs in a new process, as a Spark driver cannot be started twice in one process.

        Raises
        ------
        ClusterError
            If the comparison fails.
        """
        events = processed_rows // self.query.reads
        command = (
            *(sys.executable, "-m", "testbed.nexmark", "verify", self.query.name, "--folder", str(folder)),
            *("--events", str(events), "--events-per-s", str(self.events_per_s), "--output", "json"),
        )
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=_VERIFY_TIMEOUT_S, check=False)
        except subprocess.TimeoutExpired:
            raise ClusterError("verify-timeout", timeout_s=_VERIFY_TIMEOUT_S) from None
        try:
            comparison: dict[str, int] = json.loads(done.stdout)
        except ValueError:
            raise ClusterError("verify-failed", cause=done.stderr.strip()[-500:]) from None
        return comparison


#: The simulator's constants for a query on these nodes; with them, its day promises scaling and is compared.
PHYSICS = {"q5": "nexmark-q5"}
#: The load by default, a New York taxi day from 04:00.
LOAD = "nyc-day"
_BEGINS_AT_HOUR = 4.0


@dataclass(frozen=True, slots=True, kw_only=True)
class NexmarkDay:
    """The settings of a day.

    Raises
    ------
    InputError
        If the load exceeds the capacity of the largest batches without a pause between them.
    """

    query: NexmarkQuery
    policy: str
    topology: str = "edge8"
    #: Name or file of the load, which is compressed to the day.
    workload: str = LOAD
    #: Length of the day, seconds.
    day_s: float = 180.0
    #: Events due per second at the day's peak; one replica processes less than 125.
    max_rows_per_s: float = 130.0
    #: Whether the events go through a topic of a real broker; otherwise the source generates them.
    kafka: bool = False

    def __post_init__(self) -> None:
        scenario = self.scenario
        rows = scenario.cap_rows * (1 if self.kafka else scenario.max_replicas)
        most = int(rows * (self.day_s + scenario.drain_s) / scenario.trigger_s)
        if self.load.total_rows > most:
            raise InputError(
                "nexmark-overload",
                place="--max-rows-per-s",
                max=most,
                got=int(self.load.total_rows),
                batch_rows=rows,
                trigger_s=scenario.trigger_s,
            )

    @property
    def load(self) -> Workload:
        """Events due per second."""
        day = workload_named(self.workload, seed=0).with_duration(self.day_s)
        return day.scaled(self.max_rows_per_s / day.peak_rows_per_s)

    @property
    def scenario(self) -> Scenario:
        """The scenario of this day, for the settings of its loop: a period is an hour."""
        scenario, period_s = scenario_of(self.query, kafka=self.kafka), self.day_s / 24
        return replace(scenario, policy=self.policy, topology=self.topology, day_s=self.day_s, period_s=period_s)


def run_day(day: NexmarkDay, folder: Path, console: Console, *, verbose: bool = False) -> bool:
    """Run a query through its day, report on it, and return whether all promises were kept.

    Raises
    ------
    GesscaleError
        If a component cannot be started or exits early; everything is cleaned up.
    """
    scenario, name = day.scenario, day.query.name
    setup = Setup.prepare(scenario, folder, ProgressLog(console, verbose=verbose))
    progress, topology = setup.progress, setup.topology
    with ExitStack() as stack:
        stack.enter_context(setup.nodes())
        pairs = verify_delays(topology, progress)
        feed = None
        if scenario.kafka is not None:
            progress.log(f"starting a Kafka broker on {topology.driver_node}")
            feed = stack.enter_context(kafka_feed(topology, scenario.kafka, [TOPIC], folder))
        start_at_s = time.time() + scenario.head_start_s
        job = NexmarkJob(query=day.query, scenario=scenario, load=day.load, start_at_s=start_at_s, feed=feed)
        job.send()
        record = run_job(setup, job, rows=job.rows_total, begins_at_hour=_BEGINS_AT_HOUR)[name]
    progress.log("comparing the result with a batch query")
    comparison = job.verify(folder, record.processed_rows)
    checks: tuple[PromiseCheck, ...] = ()
    rivals: tuple[DayCost, ...] = ()
    if name in PHYSICS and not day.kafka:
        checks = check_scaling(record, topology, LATE_SHARE * day.day_s)
        progress.log("simulating the day with other policies")
        wrong, lost = comparison["unexpected"], comparison["missing"]
        run = LiveRun(record=record, schedule=job, rows_doubled=wrong, rows_lost=lost)
        try:
            rivals = compare_with_rivals(run, scenario, PHYSICS[name], folder)
        except ClusterError as error:
            progress.warn(error.problem)
    kept = write_report(
        {name: record},
        {"produced": job.rows_total, "comparison": comparison},
        [*checks, _check_rows(job, record, comparison)],
        folder,
        console,
        more={
            "policy": day.policy,
            "delay_error_ms_max": max(abs(pair.error_ms or 0.0) for pair in pairs),
            "pairs": pairs,
            "rivals": rivals,
        },
        tables=[rivals_table(rivals, scenario)] if rivals else [],
        hints=commands_for(folder),
        verbose=verbose,
    )
    if ":" not in day.policy:  # the code of a custom policy does not run to read a record
        write_page(folder, folder / "page.html")
    return kept


def _check_rows(job: NexmarkJob, record: Record, comparison: Mapping[str, int]) -> PromiseCheck:
    exact = comparison["expected"] > 0 and comparison["missing"] == comparison["unexpected"] == 0
    figures = ", ".join(f"{rows} {what}" for what, rows in comparison.items())
    detail = f"{record.processed_rows} of {job.rows_total} events processed; rows of the batch query: {figures}"
    return PromiseCheck("each row once, as in a batch query", exact and record.processed_rows >= job.rows_total, detail)
