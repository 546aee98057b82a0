"""Taxi rides as the rows of a day: made once, and replayed by the driver or sent through Kafka."""

import hashlib
import json
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path

from gesscale.common.text import command_line
from testbed.cluster.commands import run
from testbed.cluster.topology import Topology
from testbed.live.kafka import Producer, broker_on_driver, start_producer
from testbed.live.running import option_words, stream_program
from testbed.live.scenario import Scenario, TaxiOperator, TopicInput
from testbed.pipeline.kafka_topic import create_topics, verify_topic
from testbed.pipeline.replay import open_rides
from testbed.pipeline.rides import Demand, write_demand
from testbed.pipeline.sink import SinkCount

_CACHE = Path(".cache") / "rides"
_STEP_S, _STEP_RIDES = 180.0, 60_000
"""Generating and cleaning so many rides, those of the demo, may take so long each on a busy machine."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedRides:
    """Cleaned rides.

    Attributes
    ----------
    folder
        The cleaned rides.
    rows
        Rows that a replay of them serves, copies included.
    begins_at_hour
        Hour of the day of the first half hour.
    cleaning
        What the cleaning read, kept and dropped, by reason.
    """

    folder: Path
    rows: int
    begins_at_hour: float
    cleaning: dict[str, object]


def prepare_rides(demand: Demand, share: float, copies: int, say: Callable[[str], None]) -> PreparedRides:
    """Generate and clean the rides of a demand, unless an earlier run has.

    Parameters
    ----------
    demand
        Passengers of each half hour.
    share
        Rides that are generated per real passenger.
    copies
        How often each ride will be served.
    say
        Prints what takes time.

    Returns
    -------
    PreparedRides
        Ready to be replayed.

    Raises
    ------
    GesscaleError
        When the cleaning fails.
    """
    pipeline = Path(__file__).parent.parent / "pipeline"
    recipe = b"".join((pipeline / name).read_bytes() for name in ("rides.py", "clean.py"))
    key = hashlib.sha256(recipe + repr((demand, share)).encode()).hexdigest()[:12]
    folder = _CACHE / key
    summary = folder / "cleaning.json"
    if not summary.exists():
        say("generating rides and cleaning them with Spark (once)")
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        write_demand(demand, folder / "demand.csv")
        asked = ("--demand", str(folder / "demand.csv"), "--rides-per-passenger", str(share))
        limit_s = _STEP_S * max(1.0, share * sum(demand.passengers) / _STEP_RIDES)
        raw, clean = str(folder / "raw.csv"), str(folder / "clean")
        _run("generate", raw, *asked, limit_s=limit_s)
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
        failure=f"preparing the rides failed: {command_line(words)}",
        timeout_s=limit_s,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayFeed:
    """The driver replays the rides itself.

    Attributes
    ----------
    scenario, rides
        What is played.
    start_at_s
        When the first ride is due, seconds since the epoch.
    """

    scenario: Scenario
    rides: Path
    start_at_s: float

    def options(self, _: TaxiOperator) -> Mapping[str, object]:
        """Return the rides, and when they are due."""
        return {**self.scenario.replay_options(self.rides), "start-at-s": self.start_at_s}

    def program(self, operator: TaxiOperator, folder: Path) -> tuple[str, ...]:
        """Return the driver program that replays the rides."""
        return stream_program({**self.scenario.stream_options(operator, folder), **self.options(operator)})

    def flowing(self) -> AbstractContextManager[float]:
        """Return when the first ride is due."""
        return nullcontext(self.start_at_s)

    def check(self) -> None:
        """Do nothing: rides come as long as the driver lives."""

    def handed_on(self, _valid: int) -> Mapping[str, SinkCount]:
        """Return nothing: there are no topics."""
        return {}


@dataclass(slots=True, kw_only=True)
class KafkaFeed:
    """A producer sends the rides to the first topic, from outside of the nodes.

    Attributes
    ----------
    scenario, kafka, topology, rides
        What is played, and where.
    folder
        Where the producer's log goes.
    """

    scenario: Scenario
    kafka: TopicInput
    topology: Topology
    rides: Path
    folder: Path
    _producer: Producer | None = None

    @property
    def bootstrap(self) -> str:
        """Where the broker listens."""
        return self.kafka.bootstrap(self.topology)

    def options(self, operator: TaxiOperator) -> Mapping[str, object]:
        """Return the topic that an operator reads."""
        return {"kafka": self.bootstrap, "topic": operator.reads}

    def program(self, operator: TaxiOperator, folder: Path) -> tuple[str, ...]:
        """Return the driver program that reads the operator's topic."""
        return stream_program({**self.scenario.stream_options(operator, folder), **self.options(operator)})

    @contextmanager
    def flowing(self) -> Iterator[float]:
        """Have the producer that sends the rides as they are due; its log is kept."""
        options = {
            "rides": self.rides.resolve(),
            "kafka": self.bootstrap,
            "topic": self.scenario.operators[0].reads,
            "speed": self.scenario.speed,
            "broken-share": self.kafka.broken_share,
        }
        program = ("-m", "testbed.pipeline", "produce", *option_words(options))
        self._producer = start_producer(program, self.topology, self.folder / "producer.log")
        try:
            yield time.time()
        finally:
            self._producer.stop()

    def check(self) -> None:
        """Raise ClusterError where the producer has failed."""
        if self._producer is not None:
            self._producer.check()

    def handed_on(self, valid: int) -> Mapping[str, SinkCount]:
        """Count the rows of each topic between two operators."""
        return {
            operator.name: verify_topic(self.bootstrap, operator.writes, valid)
            for operator in self.scenario.operators
            if operator.writes
        }


Feed = ReplayFeed | KafkaFeed
"""What gives operators of the taxi stream their rows, a `testbed.live.running.Job`."""


@contextmanager
def open_feed(
    scenario: Scenario, topology: Topology, rides: Path, folder: Path, say: Callable[[str], None]
) -> Iterator[Feed]:
    """Have what gives a scenario's operators their rows, a broker included where they read topics.

    Parameters
    ----------
    scenario, topology
        What is played, and where; the nodes are up.
    rides
        Folder of cleaned rides.
    folder
        Where logs go.
    say
        Prints what happens.
    """
    if scenario.kafka is None:
        yield ReplayFeed(scenario=scenario, rides=rides, start_at_s=time.time() + scenario.head_start_s)
        return
    say(f"starting a Kafka broker on {topology.driver_node}")
    with broker_on_driver(topology, scenario.kafka, folder) as broker:
        topics = [operator.reads for operator in scenario.operators]
        create_topics(broker.bootstrap, topics, partitions=scenario.kafka.partitions)
        yield KafkaFeed(
            scenario=scenario, kafka=scenario.kafka, topology=topology, rides=rides, folder=folder
        )
