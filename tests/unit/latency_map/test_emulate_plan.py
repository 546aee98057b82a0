"""Delays of a plan, and their tc commands."""

import numpy as np
import pytest
from refusals import refused

from gesscale.common.shell import command_line
from latency_map import DelayKind, DelayUnit, LatencyMap, LatencyMapError, MissingDelayError
from latency_map.emulate.hosts import Host
from latency_map.emulate.plan import apply_commands, plan_emulation, queue_packets

NAMES = ("a", "b", "c")


def rtt(ab=10.0, ac=25.0, bc=300.0, names=NAMES):
    values = [[0, ab, ac], [ab, 0, bc], [ac, bc, 0]]
    return LatencyMap.from_delays(names, values, unit=DelayUnit.MS, kind=DelayKind.RTT)


HOSTS = tuple(Host(name=name, address=f"10.9.0.{number}") for number, name in enumerate(NAMES, 1))


def lines(commands):
    return [command_line(command) for command in commands]


def test_each_side_has_a_class_with_half_of_the_round_trip():
    assert lines(apply_commands(plan_emulation(rtt(), HOSTS).nodes[1])) == [
        "tc qdisc add dev eth0 root handle 6e5: htb direct_qlen 1000",
        "tc class add dev eth0 parent 6e5: classid 6e5:1 htb rate 10000mbit quantum 200000",
        # 10 Gbit/s for 5 ms are 4167 packets of 1500 bytes; twice that, rounded up
        "tc qdisc add dev eth0 parent 6e5:1 handle 1001: netem limit 8334 delay 5000us",
        "tc filter add dev eth0 parent 6e5: protocol ip prio 1 u32 match ip dst 10.9.0.1/32 flowid 6e5:1",
        "tc class add dev eth0 parent 6e5: classid 6e5:3 htb rate 10000mbit quantum 200000",
        "tc qdisc add dev eth0 parent 6e5:3 handle 1003: netem limit 250000 delay 150000us",
        "tc filter add dev eth0 parent 6e5: protocol ip prio 1 u32 match ip dst 10.9.0.3/32 flowid 6e5:3",
    ]


def test_a_pair_at_no_distance_has_a_class_and_no_delay():
    commands = lines(apply_commands(plan_emulation(rtt(ab=0), HOSTS).nodes[0]))
    assert [line for line in commands if "6e5:2" in line and "netem" in line] == []
    assert [line for line in commands if "classid 6e5:2" in line]


def test_ipv6_and_networks_of_a_host_have_filters():
    hosts = (
        Host(name="a", address="fd00::1", device="wlan0"),
        Host(name="b", address="FD00:0:0::2", networks=("10.42.2.0/24", "fd42:2::/64")),
    )
    pair = LatencyMap.from_delays(["a", "b"], [[0, 8], [8, 0]], unit=DelayUnit.MS, kind=DelayKind.RTT)
    filters = [line for line in lines(apply_commands(plan_emulation(pair, hosts).nodes[0])) if "filter" in line]
    assert filters == [
        "tc filter add dev wlan0 parent 6e5: protocol ipv6 prio 2 u32 match ip6 dst fd00::2/128 flowid 6e5:2",
        "tc filter add dev wlan0 parent 6e5: protocol ip prio 1 u32 match ip dst 10.42.2.0/24 flowid 6e5:2",
        "tc filter add dev wlan0 parent 6e5: protocol ipv6 prio 2 u32 match ip6 dst fd42:2::/64 flowid 6e5:2",
    ]


def test_missing_pairs_are_refused_or_skipped():
    with pytest.raises(MissingDelayError, match="a - c"):
        plan_emulation(rtt(ac=np.nan), HOSTS)
    plan = plan_emulation(rtt(ac=np.nan), HOSTS, skip_missing=True)
    assert plan.skipped == (("a", "c"),)
    assert [delay.to.name for delay in plan.nodes[0].delays] == ["b"]


def test_nodes_without_hosts_are_refused_or_skipped():
    with refused("hosts-incomplete", LatencyMapError, nodes=["c"]):
        plan_emulation(rtt(), HOSTS[:2])
    with_unknown = (*HOSTS, Host(name="d", address="10.9.0.4"))
    with refused("hosts-unknown", LatencyMapError, nodes=["d"]):
        plan_emulation(rtt(), with_unknown)
    plan = plan_emulation(rtt(), (*HOSTS[:2], with_unknown[3]), skip_missing=True)
    assert [node.host.name for node in plan.nodes] == ["a", "b"]
    assert plan.unused == ("c", "d")


@pytest.mark.parametrize(
    ("hosts", "options", "code"),
    [
        ((HOSTS[0], HOSTS[0]), {}, "host-name-duplicate"),
        ((HOSTS[0], Host(name="b", address="10.9.0.1")), {}, "host-address-duplicate"),
        (HOSTS[:1], {"skip_missing": True}, "emulation-nodes-invalid"),
    ],
)
def test_an_impossible_plan_is_refused(hosts, options, code):
    with refused(code, LatencyMapError):
        plan_emulation(rtt(), hosts, **options)


@pytest.mark.parametrize(
    ("rate_mbit", "one_way_us", "packets"),
    [
        (10_000, 0, 1000),  # netem's own default is the least
        (100, 50_000, 1000),  # 5 Mbit on the way: 417 packets, twice 834
        (1000, 150_000, 25_000),  # 150 Mbit on the way: 12 500 packets
    ],
)
def test_the_queue_holds_twice_what_is_on_its_way(rate_mbit, one_way_us, packets):
    assert queue_packets(rate_mbit, one_way_us) == packets


def test_handles_of_the_largest_plan_are_apart_and_fit_16_bits():
    names = [f"n{number}" for number in range(500)]
    values = np.ones((500, 500)) - np.eye(500)
    latencies = LatencyMap.from_delays(names, values, unit=DelayUnit.MS, kind=DelayKind.RTT)
    hosts = [Host(name=name, address=f"10.0.{number // 250}.{number % 250}") for number, name in enumerate(names)]
    node = plan_emulation(latencies, hosts).nodes[0]
    majors = [command[command.index("handle") + 1] for command in apply_commands(node) if "handle" in command]
    assert len(set(majors)) == 500  # the root's and 499 children's
    assert max(int(major.rstrip(":"), 16) for major in majors) < 0x8000
