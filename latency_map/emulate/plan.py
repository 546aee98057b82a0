"""Delays that each node adds to its packets to the others, so that round trips match a map, and the tc commands.

The commands set up htb at the root, a class with netem for each other node, and filters by destination. Packets that
no filter matches pass through the direct queue of htb without a delay: logins, the control plane, other hosts.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from latency_map.emulate.hosts import Host, check_hosts
from latency_map.errors import LatencyMapError, MissingDelayError
from latency_map.matrix import LatencyMap

Command: TypeAlias = tuple[str, ...]

#: Handle of the root qdisc, which distinguishes it from those of other programs.
ROOT = "6e5:"

#: Rate of each class, above that of any link between edge nodes, so that it limits nothing.
RATE_MBIT = 10_000

_FIRST_CHILD = 0x1000  # above the handle of the root, and below 0x8000, from which the kernel assigns handles
_PACKET_BITS = 1500 * 8
_MIN_QUEUE_PACKETS = 1000
_QUANTUM_BYTES = 200_000  # the largest of the kernel, which it otherwise derives from a high rate with a warning
_DIRECT_PACKETS = 1000

#: Largest number of nodes of a plan: the kernel searches the filters of a node linearly.
MAX_EMULATED = 500

#: Largest round trip of a plan, a minute: a larger one is a mistaken unit, or exceeds the range of tc.
MAX_EMULATED_RTT_MS = 60_000.0


@dataclass(frozen=True, slots=True, kw_only=True)
class AddedDelay:
    """Delay that a node adds to its packets to another one."""

    #: The other node.
    to: Host
    #: The round trip in the map.
    rtt_ms: float
    #: The minor number of its class, from 1 up.
    class_id: int

    @property
    def one_way_us(self) -> int:
        """The delay in this direction in microseconds: half of the round trip."""
        return half_us(self.rtt_ms)


@dataclass(frozen=True, slots=True, kw_only=True)
class NodePlan:
    """Delays that one node adds to its packets."""

    #: The node.
    host: Host
    #: One for each other node with a round trip, in the order of the map.
    delays: tuple[AddedDelay, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class EmulationPlan:
    """Delays of all nodes, with the pairs and nodes that it omits."""

    #: In the order of the map.
    nodes: tuple[NodePlan, ...]
    #: Pairs without a round trip, which get no delay.
    skipped: tuple[tuple[str, str], ...] = ()
    #: Nodes of the map without a host, and hosts that are not in the map.
    unused: tuple[str, ...] = ()


def half_us(rtt_ms: float) -> int:
    """Return half a round trip in microseconds."""
    return round(rtt_ms * 500)


def plan_emulation(latencies: LatencyMap, hosts: Sequence[Host], *, skip_missing: bool = False) -> EmulationPlan:
    """Plan the delays that give real nodes the round trips of a map.

    Raises
    ------
    LatencyMapError
        Map and hosts have different nodes, there are too many nodes, or a round trip is above a minute.
    MissingDelayError
        A pair has no round trip.
    """
    check_hosts(hosts)
    members, unused = _members(latencies, hosts, skip_missing)
    names = [host.name for host in members]
    _check_round_trips(latencies, names)
    skipped = latencies.missing(names)
    if skipped and not skip_missing:
        raise MissingDelayError(skipped)
    class_ids = {name: number for number, name in enumerate(names, start=1)}

    def delay(host: Host, other: Host) -> AddedDelay | None:
        rtt_ms = latencies.delay_ms(host.name, other.name)
        if other == host or rtt_ms is None:
            return None
        return AddedDelay(to=other, rtt_ms=rtt_ms, class_id=class_ids[other.name])

    nodes = tuple(
        NodePlan(host=host, delays=tuple(added for other in members if (added := delay(host, other)) is not None))
        for host in members
    )
    return EmulationPlan(nodes=nodes, skipped=skipped, unused=unused)


def _members(latencies: LatencyMap, hosts: Sequence[Host], skip_missing: bool) -> tuple[list[Host], tuple[str, ...]]:
    known = {host.name: host for host in hosts}
    without_host = [name for name in latencies.names if name not in known]
    not_in_map = [name for name in known if name not in latencies]
    if not skip_missing:
        for code, names in (("hosts-incomplete", without_host), ("hosts-unknown", not_in_map)):
            if names:
                raise LatencyMapError(code, nodes=names)
    members = [known[name] for name in latencies.names if name in known]
    if not 2 <= len(members) <= MAX_EMULATED:
        raise LatencyMapError("emulation-nodes-invalid", limit=MAX_EMULATED, got=len(members))
    return members, (*without_host, *not_in_map)


def _check_round_trips(latencies: LatencyMap, names: Sequence[str]) -> None:
    rows = latencies.positions(names)
    rtt_ms = np.nan_to_num(latencies.rtt_ms[np.ix_(rows, rows)])
    if rtt_ms.max() <= MAX_EMULATED_RTT_MS:
        return
    a, b = divmod(int(rtt_ms.argmax()), len(names))
    raise LatencyMapError(
        "emulation-delay-excessive", first=names[a], second=names[b], limit_ms=MAX_EMULATED_RTT_MS, rtt_ms=rtt_ms[a, b]
    )


def apply_commands(plan: NodePlan) -> tuple[Command, ...]:
    """Return the commands that set up the delays of a node without any."""
    return (root_command(plan), *(command for delay in plan.delays for command in delay_commands(plan, delay)))


def undo_commands(plan: NodePlan) -> tuple[Command, ...]:
    """Return the commands that remove all delays; the kernel then restores its default qdisc."""
    return (("tc", "qdisc", "del", "dev", plan.host.device, "root", "handle", ROOT, "htb"),)


def root_command(plan: NodePlan) -> Command:
    """Return the command that creates the root qdisc, without a default class."""
    return (
        *("tc", "qdisc", "add", "dev", plan.host.device, "root", "handle", ROOT),
        *("htb", "direct_qlen", str(_DIRECT_PACKETS)),
    )


def delay_commands(plan: NodePlan, delay: AddedDelay) -> Iterator[Command]:
    """Yield the commands of one class: the class, its delay unless that is 0, its filters."""
    device = ("dev", plan.host.device)
    class_id = f"{ROOT}{delay.class_id:x}"
    yield (
        *("tc", "class", "add", *device, "parent", ROOT, "classid", class_id),
        *("htb", "rate", f"{RATE_MBIT}mbit", "quantum", str(_QUANTUM_BYTES)),
    )
    if delay.one_way_us:
        handle = f"{_FIRST_CHILD + delay.class_id:x}:"
        yield (
            *("tc", "qdisc", "add", *device, "parent", class_id, "handle", handle),
            *("netem", "limit", str(queue_packets(RATE_MBIT, delay.one_way_us))),
            *("delay", f"{delay.one_way_us}us"),
        )
    for destination in delay.to.destinations:
        protocol, prio, family = ("ipv6", "2", "ip6") if ":" in destination else ("ip", "1", "ip")
        yield (
            *("tc", "filter", "add", *device, "parent", ROOT, "protocol", protocol, "prio", prio),
            *("u32", "match", family, "dst", destination, "flowid", class_id),
        )


def queue_packets(rate_mbit: int, one_way_us: int) -> int:
    """Return the queue length of netem: twice the number of full packets in transit at full rate."""
    return max(_MIN_QUEUE_PACKETS, -(-2 * rate_mbit * one_way_us // _PACKET_BITS))
