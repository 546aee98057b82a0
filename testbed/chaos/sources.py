"""What the query of chaos is: its driver program, where its rows come from, and how its result is counted."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from testbed.chaos.exactness import PARTITIONS, Exactness, GrowingSink, HotWindows, NumberedRows, is_bid
from testbed.chaos.setting import NEXMARK_MS_PER_ROW, RIDES, ChaosSetting
from testbed.cluster.topology import Topology
from testbed.demo.query import option_words, stream_program
from testbed.demo.scenario import TopicInput
from testbed.nexmark.feed import EventFeed, event_feed

_START_S = 2.0
_SEED = 1
_STATE_PARTITIONS = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Driver:
    """A driver program, and where it keeps what.

    Attributes
    ----------
    program
        Arguments for the Python interpreter.
    checkpoint
        Of its query.
    rows
        Counts its result.
    """

    program: tuple[str, ...]
    checkpoint: Path
    rows: Exactness


@contextmanager
def event_topic(setting: ChaosSetting, topology: Topology, folder: Path) -> Iterator[EventFeed]:
    """Have a broker on the driver's node, and events that come to its topic, for as long as the context lasts.

    Raises
    ------
    GesscaleError
        Where the broker does not start, or nobody makes the topic.
    """
    with event_feed(topology, TopicInput(partitions=PARTITIONS), folder) as feed:
        feed.send(_events(setting))
        yield feed


def driver_of(setting: ChaosSetting, folder: Path, topic: EventFeed | None) -> Driver:
    """Return the driver program of a setting, for both clusters; its rides are written where it replays them.

    Parameters
    ----------
    setting
        What is played.
    folder
        Of this run of the query.
    topic
        Where the events come from; None: the query makes its rows itself.
    """
    scenario = setting.scenario
    (operator,) = scenario.operators
    sink = folder / "sink"
    obeys = {"autoscaler": operator.name} if setting.kubernetes else {}
    if setting.query == RIDES:
        rides = setting.write_rides(folder / "rides")
        options = {
            **scenario.stream_options(operator, folder),
            **scenario.replay_options(rides),
            "start-at-s": time.time() + _START_S,
            **obeys,
        }
        checkpoint = Path(str(options["checkpoint"]))
        rows = NumberedRows(checkpoint=checkpoint, sink=GrowingSink(sink, ("ride",)))
        return Driver(program=stream_program(options), checkpoint=checkpoint, rows=rows)
    options = {
        "folder": folder.resolve(),
        **_events(setting),
        "trigger-s": scenario.trigger_s,
        "state-partitions": _STATE_PARTITIONS,
        **obeys,
    }
    if topic is not None:
        options |= {**topic.options, "cap-rows": scenario.cap_rows}
    else:
        options |= {
            "start-at": time.time() + _START_S,
            "service-ms-per-row": NEXMARK_MS_PER_ROW,
            "cap-rows-per-replica": scenario.cap_rows,
        }
    program = ("-m", "testbed.nexmark", "stream", setting.query, *option_words(options), "--linger")
    return Driver(program=program, checkpoint=folder / "checkpoint", rows=_rows(setting, folder))


def _rows(setting: ChaosSetting, folder: Path) -> Exactness:
    sink = folder / "sink"
    if setting.query == "q5":
        found = GrowingSink(sink, ("window_end", "auction", "bids"))
        return HotWindows(sink=found, events_per_s=setting.rows_per_s, seed=_SEED)
    return NumberedRows(
        checkpoint=folder / "checkpoint", sink=GrowingSink(sink, ("number",)), expected=is_bid
    )


def _events(setting: ChaosSetting) -> dict[str, object]:
    """Return which events there are, as options: as many in a second of their own time as in one of ours."""
    return {
        "events": setting.events,
        "events-per-s": setting.rows_per_s,
        "seed": _SEED,
        "step-s": setting.part_s,
        "rates": setting.rows_per_s,
    }
