"""What the query of chaos is: its driver program, where its rows come from, and how its result is counted."""

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from gesscale.errors import ClusterError
from testbed.chaos.exactness import PARTITIONS, Exactness, GrowingSink, HotWindows, NumberedRows, is_bid
from testbed.chaos.setting import NEXMARK_MS_PER_ROW, RIDES, ChaosSetting
from testbed.cluster import processes
from testbed.cluster.namespaces import inside
from testbed.cluster.processes import Mark, Role
from testbed.cluster.state import state_directory
from testbed.cluster.topology import Topology
from testbed.demo.query import stream_program
from testbed.pipeline.kafka_broker import KafkaBroker, running_broker

TOPIC = "nexmark"
_PORT = 9092
_START_S, _STOP_S, _TOPIC_S = 2.0, 5.0, 60.0
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


@dataclass(slots=True, kw_only=True)
class EventTopic:
    """A topic of a broker, and who sends the events.

    Attributes
    ----------
    broker
        On the node of the driver.
    """

    broker: KafkaBroker
    _producer: "subprocess.Popen[bytes] | None" = field(default=None, init=False)

    def send(self, setting: ChaosSetting, environment: dict[str, str], log: Path) -> None:
        """Start who sends the events as they are due, from outside of the nodes."""
        options = {
            "kafka": self.broker.bootstrap,
            "topic": TOPIC,
            "partitions": PARTITIONS,
            **_events(setting),
        }
        with log.open("w") as out:
            self._producer = subprocess.Popen(
                (sys.executable, "-m", "testbed.nexmark", "produce", *_words(options)),
                env=environment,
                stdout=out,
                stderr=subprocess.STDOUT,
            )

    def check(self) -> None:
        """Check that events are sent.

        Raises
        ------
        ClusterError
            Where they are not.
        """
        ended = None if self._producer is None else self._producer.poll()
        if ended is not None:
            message = f"who sends the events has ended with code {ended}; see producer.log"
            raise ClusterError(message)

    def stop(self) -> None:
        """End who sends the events."""
        if self._producer is not None:
            self._producer.kill()
            self._producer.wait(_STOP_S)


@contextmanager
def event_topic(setting: ChaosSetting, topology: Topology, folder: Path) -> Iterator[EventTopic]:
    """Have a broker on the driver's node, and events that come to its topic, for as long as the context lasts.

    Raises
    ------
    GesscaleError
        Where the broker does not start, or nobody makes the topic.
    """
    node = topology.driver
    with running_broker(
        folder / "broker",
        host=node.address,
        port=_PORT,
        partitions=PARTITIONS,
        way_in=inside(topology.name, node.name, ()),
        environment=_marked(topology, Role.BROKER, node.name),
    ) as broker:
        topic = EventTopic(broker=broker)
        topic.send(setting, _marked(topology, Role.PRODUCER), folder / "producer.log")
        try:
            _await_topic(topic)
            yield topic
        finally:
            topic.stop()


def driver_of(setting: ChaosSetting, folder: Path, topic: EventTopic | None) -> Driver:
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
        options |= {"kafka": topic.broker.bootstrap, "topic": TOPIC, "cap-rows": scenario.cap_rows}
    else:
        options |= {
            "start-at": time.time() + _START_S,
            "service-ms-per-row": NEXMARK_MS_PER_ROW,
            "cap-rows-per-replica": scenario.cap_rows,
        }
    program = ("-m", "testbed.nexmark", "stream", setting.query, *_words(options), "--linger")
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


def _words(options: dict[str, object]) -> tuple[str, ...]:
    return tuple(word for name, value in options.items() for word in (f"--{name}", str(value)))


def _await_topic(topic: EventTopic) -> None:
    from confluent_kafka.admin import AdminClient

    admin = AdminClient({"bootstrap.servers": topic.broker.bootstrap, "log_level": 0})
    deadline_s = time.monotonic() + _TOPIC_S
    while TOPIC not in admin.list_topics(timeout=_TOPIC_S).topics:
        topic.check()
        if time.monotonic() > deadline_s:
            message = f"nobody has made the topic {TOPIC} within {_TOPIC_S:g} s; see producer.log"
            raise ClusterError(message)
        time.sleep(0.5)


def _marked(topology: Topology, role: Role, node: str = "") -> dict[str, str]:
    """Return an environment by which `testbed down` finds the process, should this one be killed."""
    mark = Mark(cluster=str(state_directory(topology.name)), role=role, node=node)
    return {**processes.base_environment(), **mark.environment()}
