"""The tc commands of a plan: htb at the root, a class for each other node, netem in it, filters by destination.

Packets that no filter matches pass htb by its direct queue, undelayed: logins, the control plane, the world.
"""

from collections.abc import Iterator
from typing import TypeAlias

from latency_map.emulate.plan import AddedDelay, NodePlan

Command: TypeAlias = tuple[str, ...]

ROOT = "6e5:"
"""Handle of our root discipline, which distinguishes it from others."""

RATE_MBIT = 10_000
"""Rate of each class: above that of any link between edge nodes, so that it shapes nothing."""

_FIRST_CHILD = 0x1000  # above the root's handle; below 0x8000, where the kernel numbers by itself
_PACKET_BITS = 1500 * 8
_LEAST_QUEUE = 1000
_QUANTUM_BYTES = 200_000  # the kernel's greatest, which a high rate gives with a warning
_DIRECT_PACKETS = 1000


def apply_commands(plan: NodePlan) -> tuple[Command, ...]:
    """Return what puts the delays of a node in place, where nothing of it is there.

    Parameters
    ----------
    plan
        The node's delays.

    Returns
    -------
    tuple of commands
        To be run in their order, each as its arguments.
    """
    return (
        root_command(plan),
        *(command for delay in plan.delays for command in delay_commands(plan, delay)),
    )


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
