"""The pods' network: a VXLAN over the nodes' addresses, so that the delays between nodes apply to their pods.

Every node has a second address, in the pods' network, which is its address in Kubernetes: pods and nodes reach each
other by it, through the same tunnels. The outside is a member too, without delay and without pods.
"""

import ipaddress
from collections.abc import Iterator
from dataclasses import dataclass

from testbed.cluster.namespaces import DEVICE, MTU, control_device, namespace
from testbed.cluster.topology import CONTROL_HOST, Topology

TUNNEL_DEVICE = "pods0"
TUNNEL_MTU = MTU - 50
SERVICES = ipaddress.IPv4Network("10.96.0.0/16")
API_SERVICE = str(SERVICES[1])
NAMES_SERVICE = str(SERVICES[10])
_PORT = 4789


@dataclass(frozen=True, slots=True, kw_only=True)
class PodNetwork:
    """Addresses in the pods' network: ``10.P.0.HOST`` of nodes, ``10.P.HOST.0/24`` of their pods.

    P follows from the third byte of the topology's subnet, so clusters on different subnets do not overlap.
    """

    topology: Topology

    @property
    def second_byte(self) -> int:
        """P, 128 to 239."""
        return 128 + int(self.topology.subnet.network_address.packed[2]) % 112

    def address(self, host: int) -> str:
        """Return the address of a node, or of the outside, by its host byte."""
        return f"10.{self.second_byte}.0.{host}"

    def pods(self, host: int) -> str:
        """Return the network of a node's pods."""
        return f"10.{self.second_byte}.{host}.0/24"

    @property
    def identifier(self) -> int:
        """The VXLAN's number; unique by cluster, as the outside is a member of all of them."""
        return int.from_bytes(self.topology.subnet.network_address.packed[1:3])

    @property
    def whole(self) -> str:
        """The network that holds all of these."""
        return f"10.{self.second_byte}.0.0/16"


def outside_device(cluster: str) -> str:
    """Return the name of the tunnel's device outside the nodes; it is removed with the topology's device."""
    return f"gp-{cluster}"


def network_commands(topology: Topology, kubelets: tuple[str, ...]) -> tuple[tuple[str, ...], ...]:
    """Return the commands that join the nodes of a topology that is up, and the outside, into the pods' network."""
    network = PodNetwork(topology=topology)
    hosts = [topology.node(name).host for name in kubelets]
    commands: list[tuple[str, ...]] = []
    for node in topology.nodes:
        within = ("-n", namespace(topology.name, node.name))
        commands.extend(_member(network, within, (DEVICE, TUNNEL_DEVICE), node.host, hosts))
        if node.name != topology.driver_node:
            via = network.address(topology.driver.host)
            commands.append(("ip", *within, "route", "add", str(SERVICES), "via", via, "dev", TUNNEL_DEVICE))
    devices = control_device(topology.name), outside_device(topology.name)
    commands.extend(_member(network, (), devices, CONTROL_HOST, hosts))
    here = ("-n", namespace(topology.name, topology.driver_node))
    commands.extend(
        ("ip", *here, "address", "add", f"{address}/32", "dev", "lo") for address in (API_SERVICE, NAMES_SERVICE)
    )
    return tuple(commands)


def _member(
    network: PodNetwork, within: tuple[str, ...], devices: tuple[str, str], host: int, with_pods: list[int]
) -> Iterator[tuple[str, ...]]:
    topology = network.topology
    lower, device = devices
    yield (
        *("ip", *within, "link", "add", device, "address", _hardware(host), "mtu", str(TUNNEL_MTU)),
        *("type", "vxlan", "id", str(network.identifier), "dev", lower, "local", str(topology.subnet[host])),
        *("dstport", str(_PORT), "nolearning"),
    )
    yield ("ip", *within, "address", "add", f"{network.address(host)}/24", "dev", device)
    yield ("ip", *within, "link", "set", device, "up")
    for peer in (*(node.host for node in topology.nodes), CONTROL_HOST):
        if peer == host:
            continue
        far = str(topology.subnet[peer])
        yield ("bridge", *within, "fdb", "append", _hardware(peer), "dev", device, "dst", far)
        yield (
            *("ip", *within, "neighbour", "replace", network.address(peer), "lladdr", _hardware(peer)),
            *("dev", device, "nud", "permanent"),
        )
        if peer in with_pods:
            route = ("route", "add", network.pods(peer), "via", network.address(peer), "dev", device)
            yield ("ip", *within, *route)


def _hardware(host: int) -> str:
    return f"02:67:65:73:00:{host:02x}"
