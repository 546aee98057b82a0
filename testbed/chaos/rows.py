"""The driver programs of chaos, and the check that each committed row is in the sink once."""

import json
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from gesscale.errors import InputError
from testbed.chaos.settings import PARTITIONS, RIDES, ChaosSettings
from testbed.cluster.topology import Topology
from testbed.demo.taxi import TaxiJob
from testbed.live.job_runner import LiveJob
from testbed.live.kafka import KafkaFeed, kafka_feed
from testbed.live.scenario import TopicInput
from testbed.nexmark.day import TOPIC, NexmarkJob
from testbed.nexmark.events import BEGINS_S, BID, events
from testbed.nexmark.queries import nexmark_query
from testbed.pipeline.replay import write_steady_rides
from testbed.pipeline.sink import FileSink, SinkCount, count_keys
from testbed.workloads.workload import Workload

#: The windows of query q5: 10 s long, one every 2 s, so that each event is in five.
_SLIDE_US, _SLIDES = 2_000_000, 5


def newest_commit(checkpoint: Path) -> int:
    """Return the newest committed batch, -1 before the first."""
    return max((int(path.name) for path in (checkpoint / "commits").glob("[0-9]*")), default=-1)


def committed_rows(checkpoint: Path) -> int:
    """Return the number of committed rows of the source of rides.

    Raises
    ------
    InputError
        If the log of offsets has another format.
    """
    newest = newest_commit(checkpoint)
    if newest < 0:
        return 0
    log = checkpoint / "offsets" / str(newest)
    try:
        return int(json.loads(log.read_text().splitlines()[-1])["rows"])
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise InputError("checkpoint-offsets-unreadable", source=str(log), batch=newest, cause=str(error)) from error


@dataclass(slots=True)
class NumberedRides:
    """Counts the result of the query `rides`, which has each ride by its number."""

    checkpoint: Path
    sink: FileSink

    def count(self) -> SinkCount:
        """Count the committed rides; others belong to a batch that is being committed."""
        rows = committed_rows(self.checkpoint)
        rides = np.concatenate([np.empty(0, np.int64), *(table["ride"].to_numpy() for table in self.sink.read())])
        early = rides[rides < rows]
        return count_keys(early, np.zeros_like(early), rows)


@dataclass(slots=True)
class HotWindows:
    """Counts the result of Nexmark's query q5: closed windows, each with its auctions of most bids.

    All windows up to the newest written one must exist, as Spark writes them in the order of their ends.
    """

    sink: FileSink
    #: Rate of the events.
    events_per_s: float

    def count(self) -> SinkCount:
        """Compare all windows up to the newest one with the result of a batch over the same events."""
        found: Counter[tuple[int, int, int]] = Counter()
        for table in self.sink.read():
            ends = table["window_end"].cast(pa.timestamp("us")).cast(pa.int64()).to_pylist()
            found.update(zip(ends, table["auction"].to_pylist(), table["bids"].to_pylist(), strict=True))
        if not found:
            return SinkCount(rows=0, distinct=0, duplicated=0, missing=0)
        expected = Counter(hot_auctions(max(end for end, _, _ in found), self.events_per_s))
        wrong = (found - expected).total()  # duplicated rows and wrong rows
        return SinkCount(
            rows=found.total(),
            distinct=(found & expected).total(),
            duplicated=wrong,
            missing=(expected - found).total(),
        )


def hot_auctions(until_us: int, events_per_s: float) -> list[tuple[int, int, int]]:
    """Return the result of query q5 up to an instant: end of the window, auction, bids."""
    last = int((until_us / 1e6 - BEGINS_S) * events_per_s) + 1
    generated = events(0, max(1, last), events_per_s=events_per_s)
    bids = generated.filter(pc.equal(generated["kind"], BID))
    at_us = bids["at"].cast(pa.int64()).to_numpy()
    first_end = (at_us // _SLIDE_US + 1) * _SLIDE_US
    ends = np.concatenate([first_end + shift * _SLIDE_US for shift in range(_SLIDES)])
    auctions = np.tile(bids["auction"].to_numpy(), _SLIDES)
    early = ends <= until_us
    counts = Counter(zip(ends[early].tolist(), auctions[early].tolist(), strict=True))
    most: dict[int, int] = {}
    for (end, _), times in counts.items():
        most[end] = max(times, most.get(end, 0))
    return [(end, auction, times) for (end, auction), times in counts.items() if times == most[end]]


_START_S = 2.0
_STATE_PARTITIONS = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Driver:
    """A driver program and its files.

    Attributes
    ----------
    program: arguments for the Python interpreter
    checkpoint: folder of its query's checkpoint
    rows: counts its result
    """

    program: tuple[str, ...]
    checkpoint: Path
    rows: NumberedRides | HotWindows


@contextmanager
def event_topic(settings: ChaosSettings, topology: Topology, folder: Path) -> Iterator[KafkaFeed]:
    """Run a broker on the driver's node, and send events to its topic, within the context.

    Raises
    ------
    GesscaleError
        If the broker does not start.
    """
    with kafka_feed(topology, TopicInput(partitions=PARTITIONS), [TOPIC], folder) as feed:
        _nexmark(settings, time.time(), feed).send()
        yield feed


def driver_of(settings: ChaosSettings, folder: Path, topic: KafkaFeed | None) -> Driver:
    """Return the driver program for either cluster; write the rides that it replays.

    Parameters
    ----------
    topic
        The source of the events; None if the query generates its rows itself.
    """
    (operator,) = settings.scenario.operators
    start_at_s, sink = time.time() + _START_S, folder / "sink"
    job: LiveJob
    rows: NumberedRides | HotWindows
    if settings.query == RIDES:
        checkpoint = folder / f"checkpoint-{operator.name}"
        rides = write_steady_rides(folder / "rides", settings.events, interval_s=1 / settings.rows_per_s)
        job = TaxiJob(scenario=settings.scenario, rides=rides, start_at_s=start_at_s)
        rows = NumberedRides(checkpoint=checkpoint, sink=FileSink(sink, ("ride",)))
    else:
        checkpoint = folder / "checkpoint"
        job = _nexmark(settings, start_at_s, topic)
        files = FileSink(sink, ("window_end", "auction", "bids"))
        rows = HotWindows(sink=files, events_per_s=settings.rows_per_s)
    autoscaler = ("--autoscaler", operator.name) if settings.kubernetes else ()
    return Driver(program=(*job.program(operator, folder), *autoscaler), checkpoint=checkpoint, rows=rows)


def _nexmark(settings: ChaosSettings, start_at_s: float, topic: KafkaFeed | None) -> NexmarkJob:
    """Return a query whose events have the same rate in event time and in real time."""
    return NexmarkJob(
        query=nexmark_query(settings.query),
        scenario=settings.scenario,
        load=Workload.of_rates(settings.query, settings.part_s, [settings.rows_per_s]),
        start_at_s=start_at_s,
        feed=topic,
        state_partitions=_STATE_PARTITIONS,
    )
