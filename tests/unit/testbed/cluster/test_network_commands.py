"""What is run to make the network where the kernel delays; tests/real builds the other one."""

from testbed.cluster.delays import netem_commands
from testbed.cluster.topology import Topology


def lines(commands: tuple[tuple[str, ...], ...]) -> list[str]:
    return [" ".join(command) for command in commands]


def test_netem_delays_each_direction_by_half_the_round_trip(three: Topology) -> None:
    commands = lines(netem_commands(three))
    assert not [command for command in commands if "10.77.9.254" in command and command.startswith("tc")]
    assert "ip link set gs-three-3 mtu 9000 master gs-three up" in commands
    added = [command.split()[3] for command in commands if command.startswith("ip link add")]
    assert all(len(device) <= 15 for device in added)  # as the kernel wants it
    b = [command for command in commands if command.startswith("tc -n gesscale-three-b ")]
    assert b == [
        "tc -n gesscale-three-b qdisc add dev edge0 root handle 6e5: htb direct_qlen 1000",
        "tc -n gesscale-three-b class add dev edge0 parent 6e5: classid 6e5:1 htb rate 10000mbit quantum 200000",
        "tc -n gesscale-three-b qdisc add dev edge0 parent 6e5:1 handle 1001: netem limit 8334 delay 5000us",
        "tc -n gesscale-three-b filter add dev edge0 parent 6e5: protocol ip prio 1"
        " u32 match ip dst 10.77.9.1/32 flowid 6e5:1",
        "tc -n gesscale-three-b class add dev edge0 parent 6e5: classid 6e5:3 htb rate 10000mbit quantum 200000",
        "tc -n gesscale-three-b qdisc add dev edge0 parent 6e5:3 handle 1003: netem limit 250000 delay 150000us",
        "tc -n gesscale-three-b filter add dev edge0 parent 6e5: protocol ip prio 1"
        " u32 match ip dst 10.77.9.3/32 flowid 6e5:3",
    ]
