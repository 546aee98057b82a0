"""Taxi rides as the rows of a day: made once, and replayed by the driver or sent through Kafka."""

import hashlib
import json
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from gesscale.common.errors import Problem
from gesscale.common.shell import command_line
from testbed.cluster.commands import run
from testbed.live.job_runner import Setup, module_command, run_job
from testbed.live.kafka import KafkaFeed, kafka_feed
from testbed.live.record import DayResult
from testbed.live.scenario import LiveOperator, Scenario
from testbed.pipeline.kafka_topic import broken_rows, verify_topic
from testbed.pipeline.replay import open_rides
from testbed.pipeline.rides import Demand, write_demand
from testbed.pipeline.sink import SinkCount, verify_sink

_CACHE = Path(".cache") / "rides"
#: Time limit for generating, and for cleaning, this number of rides (those of the demo) on a busy machine.
_STEP_S, _STEP_RIDES = 180.0, 60_000


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedRides:
    """Cleaned rides.

    Attributes
    ----------
    folder: the cleaned rides
    rows: rows of a replay, copies included
    begins_at_hour: hour of the day of the first half hour
    cleaning: counts of rides that the cleaning read, kept and dropped, by reason
    """

    folder: Path
    rows: int
    begins_at_hour: float
    cleaning: dict[str, object]


def prepare_rides(demand: Demand, share: float, copies: int, log: Callable[[str], None]) -> PreparedRides:
    """Generate and clean the rides of a demand, unless an earlier run has.

    Raises
    ------
    GesscaleError
        If the cleaning fails.
    """
    pipeline = Path(__file__).parent.parent / "pipeline"
    recipe = b"".join((pipeline / name).read_bytes() for name in ("rides.py", "clean.py"))
    key = hashlib.sha256(recipe + repr((demand, share)).encode()).hexdigest()[:12]
    folder = _CACHE / key
    summary = folder / "cleaning.json"
    if not summary.exists():
        log("generating taxi rides and cleaning them with Spark (only once)")
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        write_demand(demand, folder / "demand.csv")
        demand_options = ("--demand", str(folder / "demand.csv"), "--rides-per-passenger", str(share))
        limit_s = _STEP_S * max(1.0, share * sum(demand.passengers) / _STEP_RIDES)
        raw, clean = str(folder / "raw.csv"), str(folder / "clean")
        _run("generate", raw, *demand_options, limit_s=limit_s)
        written = _run("clean", raw, clean, "--output", "json", limit_s=limit_s)
        (folder / "raw.csv").unlink()
        summary.write_text(written)
    rides = open_rides(str(folder / "clean")).rides
    return PreparedRides(
        folder=folder / "clean",
        rows=rides * copies,
        begins_at_hour=demand.begins.hour + demand.begins.minute / 60,
        cleaning=json.loads(summary.read_text()),
    )


def _run(*words: str, limit_s: float) -> str:
    return run(
        (sys.executable, "-m", "testbed.pipeline", *words),
        failure=Problem("rides-not-prepared", {"command": command_line(words)}),
        timeout_s=limit_s,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class TaxiJob:
    """Operators of the taxi stream and their rides; a `testbed.live.job_runner.LiveJob`.

    Attributes
    ----------
    scenario: operators, load and times
    rides: folder of cleaned rides
    start_at_s: when the first ride is due, seconds since the epoch; None means at the start of its query
    feed: topics of the rides; None if the only driver replays them
    """

    scenario: Scenario
    rides: Path
    start_at_s: float | None = None
    feed: KafkaFeed | None = None

    def program(self, operator: LiveOperator, folder: Path) -> tuple[str, ...]:
        """Return the driver program; it keeps running after the last row."""
        options = self.scenario.stream_options(operator, folder)
        if self.feed is not None:
            options |= {"kafka": self.feed.bootstrap, "topic": operator.reads}
        else:
            scenario = self.scenario
            options |= {"rides": self.rides.resolve(), "speed": scenario.speed, "copies": scenario.copies}
            if self.start_at_s is not None:
                options["start-at-s"] = self.start_at_s
        return (*module_command("testbed.pipeline", "stream", options=options), "--linger")

    @contextmanager
    def sending(self) -> Iterator[float]:
        """Yield when the first ride is due; with topics, start the producer."""
        if self.feed is None:
            yield self.start_at_s or time.time()
            return
        options = {
            "rides": self.rides.resolve(),
            "kafka": self.feed.bootstrap,
            "topic": self.scenario.operators[0].reads,
            "speed": self.scenario.speed,
            "broken-share": self.scenario.broken_share,
        }
        self.feed.send(module_command("testbed.pipeline", "produce", options=options))
        yield time.time()

    def check(self) -> None:
        """Raise ClusterError if the producer has failed."""
        if self.feed is not None:
            self.feed.check()

    def handed_on(self, valid: int) -> dict[str, SinkCount]:
        """Count the rows of each topic between two operators."""
        return {
            operator.name: verify_topic(self.feed.bootstrap, operator.writes, valid)
            for operator in self.scenario.operators
            if operator.writes and self.feed
        }


@contextmanager
def taxi_job(setup: Setup, rides: Path) -> Iterator[TaxiJob]:
    """Provide a scenario's operators with their rides within the context, through a broker if they read topics."""
    scenario, topology = setup.scenario, setup.topology
    if scenario.kafka is None:
        yield TaxiJob(scenario=scenario, rides=rides, start_at_s=time.time() + scenario.head_start_s)
        return
    setup.progress.log(f"starting a Kafka broker on {topology.driver_node}")
    topics = [operator.reads for operator in scenario.operators]
    with kafka_feed(topology, scenario.kafka, topics, setup.folder) as feed:
        yield TaxiJob(scenario=scenario, rides=rides, feed=feed)


def run_taxi_day(setup: Setup, rides: PreparedRides) -> DayResult:
    """Run a day of rides through all operators on nodes that are up.

    Raises
    ------
    GesscaleError
        If something cannot be started, or exits early.
    """
    broken = broken_rows(rides.rows, setup.scenario.broken_share)
    valid = rides.rows - broken
    with taxi_job(setup, rides.folder) as job:
        records = run_job(setup, job, rows=valid, begins_at_hour=rides.begins_at_hour)
        setup.progress.log("counting the output rows")
        handed_on = job.handed_on(valid)
    sink = verify_sink(setup.folder / "sink", valid)
    return DayResult(records=records, produced=rides.rows, broken=broken, handed_on=handed_on, sink=sink)
