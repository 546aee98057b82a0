"""Network namespaces: one per node, each with one device, and one device outside that reaches them all.

Their names contain the cluster: ``gesscale-CLUSTER-NODE`` for namespaces, ``gs-CLUSTER`` for the outside device.
"""

import socket
from collections.abc import Iterable, Sequence
from pathlib import Path

from testbed.cluster.commands import run
from testbed.cluster.topology import EdgeNode, Topology

DEVICE = "edge0"
MTU = 9000
NAMED = Path("/run/netns")


def namespace(cluster: str, node: str) -> str:
    """Return the name of a node's network namespace."""
    return f"gesscale-{cluster}-{node}"


def control_device(cluster: str) -> str:
    """Return the name of the device outside the nodes."""
    return f"gs-{cluster}"


def inside(cluster: str, node: str, command: Sequence[str]) -> tuple[str, ...]:
    """Return the command line that runs a command in a node's namespace, in the same process."""
    return ("nsenter", f"--net={NAMED / namespace(cluster, node)}", "--", *command)


def find_namespaces(cluster: str) -> tuple[str, ...]:
    """Return the existing namespaces of a cluster."""
    return tuple(sorted(path.name for path in NAMED.glob(f"gesscale-{cluster}-*")))


def intact(topology: Topology) -> bool:
    """Return whether all namespaces and the outside device exist."""
    expected = {namespace(topology.name, node.name) for node in topology.nodes}
    return expected <= set(find_namespaces(topology.name)) and _has_device(control_device(topology.name))


def _has_device(name: str) -> bool:
    return name in (device for _, device in socket.if_nameindex())


def tun_commands(topology: Topology) -> tuple[tuple[str, ...], ...]:
    """Return the commands that create the namespaces, and TUN devices for each node and outside.

    The devices persist: they outlive a relay that crashes, and the next one finds them configured.
    """
    outside = _device_commands((), control_device(topology.name), topology.control_address)
    nodes = (command for node in topology.nodes for command in _node_commands(topology.name, node))
    return (*nodes, *outside)


def _node_commands(cluster: str, node: EdgeNode) -> Iterable[tuple[str, ...]]:
    name = namespace(cluster, node.name)
    yield ("ip", "netns", "add", name)
    yield ("ip", "-n", name, "link", "set", "lo", "up")
    yield from _device_commands(("-n", name), DEVICE, node.address)


def _device_commands(where: tuple[str, ...], device: str, address: str) -> tuple[tuple[str, ...], ...]:
    return (
        ("ip", *where, "tuntap", "add", "dev", device, "mode", "tun"),
        ("ip", *where, "address", "add", f"{address}/24", "dev", device),
        ("ip", *where, "link", "set", device, "mtu", str(MTU), "txqueuelen", "5000", "up"),
    )


def delete(cluster: str) -> int:
    """Delete every namespace and device of a cluster, and return their number.

    Raises
    ------
    ClusterError
        If one cannot be deleted.
    """
    found = find_namespaces(cluster)
    for name in found:
        run(("ip", "netns", "delete", name))
    device = control_device(cluster)
    if not _has_device(device):
        return len(found)
    run(("ip", "link", "delete", device))
    return len(found) + 1
