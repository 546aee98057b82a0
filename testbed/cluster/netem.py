"""Delays by the kernel: a bridge, a veth pair per node, and in each node the delays of `latency_map.emulate`.

Used where the kernel has the netem queueing discipline. The commands are plain values, so they can be tested
where it has not.
"""

from collections.abc import Iterator

from gesscale.errors import ClusterError
from latency_map.emulate.hosts import Host
from latency_map.emulate.plan import half_us, tc_plan
from latency_map.emulate.tc import apply_commands
from testbed.cluster.commands import run
from testbed.cluster.namespaces import DEVICE, MTU, control_device, namespace
from testbed.cluster.topology import EdgeNode, Topology


def has_netem(*, as_user: bool = False) -> bool:
    """Whether the kernel has netem and htb; tried in a throw-away network namespace.

    Parameters
    ----------
    as_user
        Try it in a throw-away user namespace too, which needs no privilege.
    """
    unshare = ("unshare", "--user", "--map-root-user", "--net") if as_user else ("unshare", "--net")
    return all(
        _works((*unshare, "tc", "qdisc", "add", "dev", "lo", "root", *discipline))
        for discipline in (("netem", "delay", "1ms"), ("htb",))
    )


def _works(command: tuple[str, ...]) -> bool:
    try:
        run(command)
    except ClusterError:
        return False
    return True


def netem_commands(topology: Topology) -> tuple[tuple[str, ...], ...]:
    """Return the commands that make the namespaces, the links and the delays.

    A packet is delayed by half the round trip where it leaves its node, unless it goes outside.
    """
    bridge = control_device(topology.name)
    head = (
        ("ip", "link", "add", bridge, "mtu", str(MTU), "type", "bridge"),
        ("ip", "address", "add", f"{topology.control_address}/24", "dev", bridge),
        ("ip", "link", "set", bridge, "up"),
    )
    links = (command for node in topology.nodes for command in _link(topology.name, bridge, node))
    delays = _delays(topology) if len(topology.nodes) > 1 else ()
    return (*head, *links, *delays)


def _link(cluster: str, bridge: str, node: EdgeNode) -> Iterator[tuple[str, ...]]:
    name, port = namespace(cluster, node.name), f"{bridge[:11]}-{node.host}"
    yield ("ip", "netns", "add", name)
    yield ("ip", "-n", name, "link", "set", "lo", "up")
    yield ("ip", "link", "add", port, "mtu", str(MTU), "type", "veth", "peer", "name", DEVICE, "netns", name)
    yield ("ip", "link", "set", port, "mtu", str(MTU), "master", bridge, "up")
    yield ("ip", "-n", name, "address", "add", f"{node.address}/24", "dev", DEVICE)
    yield ("ip", "-n", name, "link", "set", DEVICE, "mtu", str(MTU), "up")


def _delays(topology: Topology) -> Iterator[tuple[str, ...]]:
    hosts = [Host(name=node.name, address=node.address, device=DEVICE) for node in topology.nodes]
    for node in tc_plan(topology.map, hosts).nodes:
        for tc, *arguments in apply_commands(node):
            yield (tc, "-n", namespace(topology.name, node.host.name), *arguments)


def one_way_us(topology: Topology, first: EdgeNode, second: EdgeNode) -> int:
    """Return the delay of one direction between two nodes, microseconds: half the round trip."""
    return half_us(topology.rtt_ms(first.name, second.name))
