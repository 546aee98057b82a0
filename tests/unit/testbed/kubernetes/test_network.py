from testbed.cluster.topology import Topology
from testbed.kubernetes.network import PodNetwork, network_commands


def commands_of(topology: Topology, where: str) -> list[str]:
    """Return the commands of one member: a node, or ``outside``."""
    named = [" ".join(command) for command in network_commands(topology, ("a", "b"))]
    if where == "outside":
        return [command for command in named if " -n " not in command]
    return [command for command in named if f" -n gesscale-three-{where} " in command]


def test_addresses_follow_from_the_subnet_and_the_host(three: Topology) -> None:
    network = PodNetwork(topology=three)
    # third byte 9: P = 128 + 9; node b is the map's third
    assert network.address(three.node("b").host) == "10.137.0.3"
    assert network.pods(three.node("b").host) == "10.137.3.0/24"
    assert network.whole == "10.137.0.0/16"


def test_routes_to_pods_of_other_nodes(three: Topology) -> None:
    routes = [command for command in commands_of(three, "a") if "route add 10.137" in command]
    assert routes == ["ip -n gesscale-three-a route add 10.137.3.0/24 via 10.137.0.3 dev pods0"]
