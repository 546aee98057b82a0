"""What every node adds to its packets to every other, so that round trips become those of a map, and its tc commands.

These are htb at the root, a class for each other node, netem in it, filters by destination. Packets that no filter
matches pass htb by its direct queue, undelayed: logins, the control plane, the world.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from gesscale.common.text import format_list
from latency_map.emulate.hosts import Host, check_hosts
from latency_map.errors import LatencyMapError
from latency_map.matrix import LatencyMap

Command: TypeAlias = tuple[str, ...]

#: Handle of our root discipline, which distinguishes it from others.
ROOT = "6e5:"

#: Rate of each class: above that of any link between edge nodes, so that it shapes nothing.
RATE_MBIT = 10_000

_FIRST_CHILD = 0x1000  # above the root's handle; below 0x8000, where the kernel numbers by itself
_PACKET_BITS = 1500 * 8
_LEAST_QUEUE = 1000
_QUANTUM_BYTES = 200_000  # the kernel's greatest, which a high rate gives with a warning
_DIRECT_PACKETS = 1000

#: Most nodes of one plan: the kernel looks through a node's filters one by one.
MAX_EMULATED = 500

#: Largest round trip of one: a minute. What is beyond is a mistaken unit, or outgrows tc's numbers.
MAX_EMULATED_RTT_MS = 60_000.0


@dataclass(frozen=True, slots=True, kw_only=True)
class AddedDelay:
    """What a node adds to its packets to another."""

    #: The other node.
    to: Host
    #: The round trip of the map.
    rtt_ms: float
    #: The minor number of its class, from 1 up.
    class_id: int

    @property
    def one_way_us(self) -> int:
        """What is added in this direction, microseconds: half of the round trip."""
        return half_us(self.rtt_ms)


@dataclass(frozen=True, slots=True, kw_only=True)
class NodePlan:
    """What one node adds to its packets."""

    #: The node.
    host: Host
    #: One for each other node with a round trip, in the order of the map.
    delays: tuple[AddedDelay, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class EmulationPlan:
    """What all nodes add, and what it leaves out."""

    #: In the order of the map.
    nodes: tuple[NodePlan, ...]
    #: Pairs without a round trip, which stay as they are.
    skipped: tuple[tuple[str, str], ...] = ()
    #: Nodes of the map without a host, and hosts that the map does not know.
    unused: tuple[str, ...] = ()


def half_us(rtt_ms: float) -> int:
    """Return half a round trip, microseconds."""
    return round(rtt_ms * 500)


def plan_emulation(latencies: LatencyMap, hosts: Sequence[Host], *, skip_missing: bool = False) -> EmulationPlan:
    """Plan the delays that give real nodes the round trips of a map.

    Raises
    ------
    LatencyMapError
        Map and hosts do not fit together, there are too many nodes, or a round trip is above a minute.
    MissingDelayError
        A pair has no round trip.
    """
    check_hosts(hosts)
    members, unused = _members(latencies, hosts, skip_missing)
    names = [host.name for host in members]
    _check_round_trips(latencies, names)
    skipped = latencies.missing(names)
    if skipped and not skip_missing:
        latencies.nd_max_ms(names)  # says which are missing
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
    homeless = [name for name in latencies.names if name not in known]
    strangers = [name for name in known if name not in latencies]
    if not skip_missing:
        for what, names in (
            ("an address for every node of the map, got none for", homeless),
            ("only hosts that are nodes of the map, got also", strangers),
        ):
            if names:
                raise LatencyMapError(
                    f"expected {what} {format_list(names)}; repair the hosts, or skip what is missing"
                )
    members = [known[name] for name in latencies.names if name in known]
    if not 2 <= len(members) <= MAX_EMULATED:
        raise LatencyMapError(
            f"expected 2 to {MAX_EMULATED} nodes that are in the map and have an address, got {len(members)}"
        )
    return members, (*homeless, *strangers)


def _check_round_trips(latencies: LatencyMap, names: Sequence[str]) -> None:
    rows = latencies.positions(names)
    rtt_ms = np.nan_to_num(latencies.rtt_ms[np.ix_(rows, rows)])
    if rtt_ms.max() <= MAX_EMULATED_RTT_MS:
        return
    a, b = divmod(int(rtt_ms.argmax()), len(names))
    raise LatencyMapError(
        f"{names[a]} - {names[b]}: expected a round trip of at most {MAX_EMULATED_RTT_MS:g} ms, got"
        f" {rtt_ms[a, b]:g} ms; is the unit of the map right?"
    )


def apply_commands(plan: NodePlan) -> tuple[Command, ...]:
    """Return what puts the delays of a node in place, where nothing of it is there."""
    return (root_command(plan), *(command for delay in plan.delays for command in delay_commands(plan, delay)))


def undo_commands(plan: NodePlan) -> tuple[Command, ...]:
    """Return what takes all of it away again; the kernel then puts back what it had there by itself."""
    return (("tc", "qdisc", "del", "dev", plan.host.device, "root", "handle", ROOT, "htb"),)


def root_command(plan: NodePlan) -> Command:
    """Return the command that makes the root discipline, without a default class."""
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
    """Return the packets that netem must hold: twice what is on its way at full rate in full packets."""
    return max(_LEAST_QUEUE, -(-2 * rate_mbit * one_way_us // _PACKET_BITS))
