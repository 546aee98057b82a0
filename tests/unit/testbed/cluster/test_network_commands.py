"""What is run to make the network, for both ways of delaying."""

from testbed.cluster.delays import netem_commands
from testbed.cluster.namespaces import tun_commands
from testbed.cluster.topology import Topology


def lines(commands: tuple[tuple[str, ...], ...]) -> list[str]:
    return [" ".join(command) for command in commands]


def test_every_node_has_a_namespace_with_one_device(three: Topology) -> None:
    commands = lines(tun_commands(three))
    assert commands[:5] == [
        "ip netns add gesscale-three-a",
        "ip -n gesscale-three-a link set lo up",
        "ip -n gesscale-three-a tuntap add dev edge0 mode tun",
        "ip -n gesscale-three-a address add 10.77.9.1/24 dev edge0",
        "ip -n gesscale-three-a link set edge0 mtu 9000 txqueuelen 5000 up",
    ]
    assert commands[-3:] == [
        "ip tuntap add dev gs-three mode tun",
        "ip address add 10.77.9.254/24 dev gs-three",
        "ip link set gs-three mtu 9000 txqueuelen 5000 up",
    ]
    assert len(commands) == 3 * 5 + 3


def test_netem_delays_each_direction_by_half_the_round_trip(three: Topology) -> None:
    commands = lines(netem_commands(three))
    assert not [command for command in commands if "10.77.9.254" in command and command.startswith("tc")]
    assert "ip link set gs-three-3 mtu 9000 master gs-three up" in commands
    added = [command.split()[3] for command in commands if command.startswith("ip link add")]
    assert all(len(device) <= 15 for device in added)  # as the kernel wants it
    b = [command for command in commands if command.startswith("tc -n gesscale-three-b ")]
    assert b == [
        "tc -n gesscale-three-b qdisc add dev edge0 root handle 6e5: htb direct_qlen 1000",
        "tc -n gesscale-three-b class add dev edge0 parent 6e5: classid 6e5:1"
        " htb rate 10000mbit quantum 200000",
        "tc -n gesscale-three-b qdisc add dev edge0 parent 6e5:1 handle 1001: netem limit 8334 delay 5000us",
        "tc -n gesscale-three-b filter add dev edge0 parent 6e5: protocol ip prio 1"
        " u32 match ip dst 10.77.9.1/32 flowid 6e5:1",
        "tc -n gesscale-three-b class add dev edge0 parent 6e5: classid 6e5:3"
        " htb rate 10000mbit quantum 200000",
        "tc -n gesscale-three-b qdisc add dev edge0 parent 6e5:3 handle 1003: netem limit 250000 delay 150000us",
        "tc -n gesscale-three-b filter add dev edge0 parent 6e5: protocol ip prio 1"
        " u32 match ip dst 10.77.9.3/32 flowid 6e5:3",
    ]
