"""What every node adds to its packets to every other, so that round trips become those of a map."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gesscale.common.text import enumerate_some
from latency_map.emulate import RATE_MBIT
from latency_map.emulate.hosts import Host, check_hosts
from latency_map.errors import LatencyMapError
from latency_map.matrix import LatencyMap

MAX_EMULATED = 500
"""Most nodes of one plan: the kernel looks through a node's filters one by one."""

MAX_EMULATED_RTT_MS = 60_000.0
"""Largest round trip of one: a minute. What is beyond is a mistaken unit, or outgrows tc's numbers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AddedDelay:
    """What a node adds to its packets to another.

    Attributes
    ----------
    to
        The other node.
    asked_ms
        The round trip of the map.
    own_ms
        What the real network has already; 0 where it is unknown.
    class_id
        The minor number of its class, from 1 up.
    """

    to: Host
    asked_ms: float
    own_ms: float
    class_id: int

    @property
    def one_way_us(self) -> int:
        """What is added in this direction, microseconds: half of what the round trip lacks."""
        return half_us(max(0.0, self.asked_ms - self.own_ms))


@dataclass(frozen=True, slots=True, kw_only=True)
class NodePlan:
    """What one node adds to its packets.

    Attributes
    ----------
    host
        The node.
    delays
        One for each other node with a round trip, in the order of the map.
    rate_mbit
        The rate of each class.
    """

    host: Host
    delays: tuple[AddedDelay, ...]
    rate_mbit: int = RATE_MBIT


@dataclass(frozen=True, slots=True, kw_only=True)
class TooFast:
    """A pair that is asked to be nearer than the real network has it; round trips."""

    first: str
    second: str
    asked_ms: float
    own_ms: float


@dataclass(frozen=True, slots=True, kw_only=True)
class EmulationPlan:
    """What all nodes add, and what it leaves out.

    Attributes
    ----------
    nodes
        In the order of the map.
    too_fast
        Pairs that cannot be met, as tc adds delay and takes none away.
    skipped
        Pairs without a round trip, which stay as they are.
    unused
        Nodes of the map without a host, and hosts that the map does not know.
    """

    nodes: tuple[NodePlan, ...]
    too_fast: tuple[TooFast, ...] = ()
    skipped: tuple[tuple[str, str], ...] = ()
    unused: tuple[str, ...] = ()


def half_us(rtt_ms: float) -> int:
    """Return half a round trip, microseconds."""
    return round(rtt_ms * 500)


def tc_plan(
    latencies: LatencyMap,
    hosts: Sequence[Host],
    *,
    own: LatencyMap | None = None,
    rate_mbit: int = RATE_MBIT,
    skip_missing: bool = False,
) -> EmulationPlan:
    """Plan the delays that give real nodes the round trips of a map.

    Parameters
    ----------
    latencies
        The round trips that are asked for.
    hosts
        The nodes in the network.
    own
        The round trips that the network has by itself, which are taken off; None where they are negligible.
    rate_mbit
        The rate of each class, megabits per second.
    skip_missing
        Leave out pairs without a round trip, and nodes that only one of map and hosts knows, instead of
        refusing them.

    Returns
    -------
    EmulationPlan
        Half of each round trip on either side.

    Raises
    ------
    LatencyMapError
        Map and hosts do not fit together, there are too many nodes, a round trip is above a minute, or the
        rate is none.
    MissingDelayError
        A pair has no round trip, in the map or in ``own``.
    """
    check_hosts(hosts)
    if rate_mbit < 1:
        message = f"expected a rate of at least 1 Mbit/s, got {rate_mbit}"
        raise LatencyMapError(message)
    members, unused = _members(latencies, hosts, skip_missing)
    names = [host.name for host in members]
    _check_round_trips(latencies, names)
    skipped = latencies.missing(names)
    if skipped and not skip_missing:
        latencies.nd_max_ms(names)  # says which are missing
    if own is not None:
        own.nd_max_ms(names)
    class_ids = {name: number for number, name in enumerate(names, start=1)}

    def delay(host: Host, other: Host) -> AddedDelay | None:
        asked_ms = latencies.delay_ms(host.name, other.name)
        if other == host or asked_ms is None:
            return None
        own_ms = (own.delay_ms(host.name, other.name) or 0.0) if own is not None else 0.0
        return AddedDelay(to=other, asked_ms=asked_ms, own_ms=own_ms, class_id=class_ids[other.name])

    nodes = tuple(
        NodePlan(
            host=host,
            delays=tuple(added for other in members if (added := delay(host, other)) is not None),
            rate_mbit=rate_mbit,
        )
        for host in members
    )
    return EmulationPlan(nodes=nodes, too_fast=_too_fast(nodes), skipped=skipped, unused=unused)


def _members(
    latencies: LatencyMap, hosts: Sequence[Host], skip_missing: bool
) -> tuple[list[Host], tuple[str, ...]]:
    known = {host.name: host for host in hosts}
    homeless = [name for name in latencies.names if name not in known]
    strangers = [name for name in known if name not in latencies]
    if not skip_missing:
        for what, names in (
            ("an address for every node of the map, got none for", homeless),
            ("only hosts that are nodes of the map, got also", strangers),
        ):
            if names:
                message = (
                    f"expected {what} {enumerate_some(names)}; repair the hosts, or skip what is missing"
                )
                raise LatencyMapError(message)
    members = [known[name] for name in latencies.names if name in known]
    if not 2 <= len(members) <= MAX_EMULATED:
        message = (
            f"expected 2 to {MAX_EMULATED} nodes that are in the map and have an address, got {len(members)}"
        )
        raise LatencyMapError(message)
    return members, (*homeless, *strangers)


def _check_round_trips(latencies: LatencyMap, names: Sequence[str]) -> None:
    rows = latencies.positions(names)
    rtt_ms = np.nan_to_num(latencies.rtt_ms[np.ix_(rows, rows)])
    if rtt_ms.max() <= MAX_EMULATED_RTT_MS:
        return
    a, b = divmod(int(rtt_ms.argmax()), len(names))
    message = (
        f"{names[a]} - {names[b]}: expected a round trip of at most {MAX_EMULATED_RTT_MS:g} ms, got"
        f" {rtt_ms[a, b]:g} ms; is the unit of the map right?"
    )
    raise LatencyMapError(message)


def _too_fast(nodes: Sequence[NodePlan]) -> tuple[TooFast, ...]:
    return tuple(
        TooFast(first=node.host.name, second=delay.to.name, asked_ms=delay.asked_ms, own_ms=delay.own_ms)
        for number, node in enumerate(nodes, start=1)
        for delay in node.delays
        if delay.class_id > number and delay.own_ms > delay.asked_ms
    )
