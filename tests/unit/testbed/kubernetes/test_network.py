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


def test_a_node_reaches_pods_of_the_others_through_their_nodes_and_its_own_by_its_bridge(
    three: Topology,
) -> None:
    routes = [command for command in commands_of(three, "a") if "route add 10.137" in command]
    assert routes == ["ip -n gesscale-three-a route add 10.137.3.0/24 via 10.137.0.3 dev pods0"]


def test_every_member_knows_the_underlying_address_of_every_other(three: Topology) -> None:
    members = {"hub": 1, "a": 2, "b": 3, "outside": 254}
    for member, own in members.items():
        known = [c.rpartition(" dst ")[2] for c in commands_of(three, member) if " fdb append " in c]
        assert sorted(known) == sorted(f"10.77.9.{host}" for host in members.values() if host != own)


def test_services_lead_to_the_control_plane_which_holds_their_two_addresses(three: Topology) -> None:
    assert "ip -n gesscale-three-b route add 10.96.0.0/16 via 10.137.0.1 dev pods0" in commands_of(three, "b")
    at_hub = commands_of(three, "hub")
    assert [c for c in at_hub if "10.96.0.0/16" in c] == []
    assert {c.split()[5] for c in at_hub if c.endswith("dev lo")} == {"10.96.0.1/32", "10.96.0.10/32"}
