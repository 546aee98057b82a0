"""Carrying out a fault: each strikes, lasts, and is taken back."""

import time
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING

from testbed.chaos.changing import wait_s
from testbed.chaos.plan import Fault, PlannedChange
from testbed.chaos.proxy import Behaviour
from testbed.chaos.setting import MAP_MAX_AGE_S, write_map
from testbed.cluster.commands import run
from testbed.cluster.namespaces import DEVICE, namespace
from testbed.cluster.relay_link import set_delay
from testbed.cluster.topology import Topology
from testbed.pipeline.kafka_broker import KafkaBroker

if TYPE_CHECKING:
    from testbed.chaos.stream import ChaosStream

SLOWER = 10
_PAGES: Mapping[Fault, Behaviour] = {
    Fault.METRICS_HANG: Behaviour.HANGING,
    Fault.METRICS_LIE: Behaviour.LYING,
    Fault.METRICS_GONE: Behaviour.GONE,
}


def strike(change: PlannedChange, before: tuple[str, ...], stream: "ChaosStream") -> str:
    """Carry a fault out and take it back.

    Parameters
    ----------
    change
        Which one, and how long it lasts.
    before
        Where the replicas were when the change was ordered.
    stream
        What it strikes.

    Returns
    -------
    str
        What was struck: a node or a part; empty where there was nothing to strike.
    """
    match change.fault:
        case Fault.NONE:
            return ""
        case Fault.EXECUTOR_KILLED | Fault.DRIVER_KILLED | Fault.CONTROLLER_KILLED:
            return _kill(change, stream)
    target, lasting = _lasting(change, before, stream)
    # Spark looks for silent executors once in a timeout, so it gives one up after two of them at the latest.
    beyond_s = 2 * stream.network_timeout_s if change.fault is Fault.NODE_CUT_OFF_LONG else 0.0
    with lasting:
        wait_s(beyond_s + change.lasts_s)
    return target


def _kill(change: PlannedChange, stream: "ChaosStream") -> str:
    if change.fault is Fault.DRIVER_KILLED:
        stream.kill_driver()
        return "driver"
    if change.fault is Fault.CONTROLLER_KILLED:
        stream.kill_controller()
        return "controller"
    victim = change.victim(stream.nodes())
    if victim is not None:
        stream.kill_executor(victim)
    return victim or ""


def _lasting(
    change: PlannedChange, before: tuple[str, ...], stream: "ChaosStream"
) -> tuple[str, AbstractContextManager[None]]:
    topology = stream.spark.topology
    if change.fault is Fault.MAP_STALE:
        return "map", _stale(topology, stream)
    if change.fault in _PAGES:
        return "page", stream.page.behaving(_PAGES[change.fault])
    if change.fault is Fault.BROKER_KILLED and stream.topic is not None:
        return "broker", _gone(stream.topic.broker)
    held = sorted({*before, *change.placement} - {topology.driver_node})
    victim = change.victim(held or [each.name for each in topology.nodes if each is not topology.driver])
    if victim is None:
        return "", nullcontext()
    of_link = _slowed if change.fault is Fault.LINK_SLOWED else _cut_off
    return victim, of_link(topology, victim)


@contextmanager
def _stale(topology: Topology, stream: "ChaosStream") -> Iterator[None]:
    write_map(topology, time.time() - 2 * MAP_MAX_AGE_S, stream.folder)
    try:
        yield
    finally:
        write_map(topology, time.time(), stream.folder)


@contextmanager
def _gone(broker: KafkaBroker) -> Iterator[None]:
    broker.kill()
    try:
        yield
    finally:
        broker.start()


@contextmanager
def _cut_off(topology: Topology, node: str) -> Iterator[None]:
    device = ("ip", "-n", namespace(topology.name, node), "link", "set", DEVICE)
    run((*device, "down"))
    try:
        yield
    finally:
        run((*device, "up"))


@contextmanager
def _slowed(topology: Topology, node: str) -> Iterator[None]:
    ends = topology.node(node), topology.driver
    rtt_ms = topology.rtt_ms(node, topology.driver_node)
    set_delay(topology.name, *ends, rtt_ms=SLOWER * rtt_ms)
    try:
        yield
    finally:
        set_delay(topology.name, *ends, rtt_ms=rtt_ms)
