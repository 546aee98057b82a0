"""Properties of every plan and every file of hosts."""

from ipaddress import ip_address, ip_network

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from latency_map import LatencyMap, LatencyMapError
from latency_map.emulate.hosts import Host, check_hosts
from latency_map.emulate.plan import MAX_EMULATED_RTT_MS, plan_emulation

RTT_MS = st.floats(min_value=0, max_value=MAX_EMULATED_RTT_MS)


@st.composite
def maps(draw):
    size = draw(st.integers(2, 6))
    cells = draw(st.lists(RTT_MS, min_size=size * size, max_size=size * size))
    upper = np.triu(np.array(cells).reshape(size, size), 1)
    return LatencyMap(names=tuple(f"n{number}" for number in range(size)), rtt_ms=upper + upper.T)


def hosts_of(latencies):
    return tuple(Host(name=name, address=f"10.0.0.{number}") for number, name in enumerate(latencies.names, start=1))


@given(maps())
def test_both_sides_add_half_of_the_round_trip(latencies):
    plan = plan_emulation(latencies, hosts_of(latencies))
    added_us = {(node.host.name, d.to.name): d.one_way_us for node in plan.nodes for d in node.delays}
    for (a, b), there_us in added_us.items():
        assert there_us == added_us[b, a] >= 0
        # each half is rounded to a microsecond
        assert abs(2 * there_us / 1000 - latencies.delay_ms(a, b)) <= 0.001 + 1e-6


@st.composite
def some_networks(draw):
    """Networks among 64 addresses of one stack, so that many hold others."""
    bits = draw(st.integers(0, 6))
    first = draw(st.integers(0, 63)) >> bits << bits
    return draw(st.sampled_from([f"10.0.0.{first}/{32 - bits}", f"fd00::{first:x}/{128 - bits}"]))


@given(st.lists(st.lists(some_networks(), max_size=3), min_size=2, max_size=4))
def test_packets_match_one_node_or_the_hosts_are_refused(networks):
    hosts = [
        Host(name=f"n{number}", address=f"10.9.0.{number + 1}", networks=tuple(each))
        for number, each in enumerate(networks)
    ]
    space = [ip_address(f"10.0.0.{last}") for last in range(64)] + [ip_address(f"fd00::{last:x}") for last in range(64)]
    matched = [
        {host.name for host in hosts if any(address in ip_network(each) for each in host.networks)} for address in space
    ]
    if max(map(len, matched)) > 1:
        with pytest.raises(LatencyMapError) as caught:
            check_hosts(hosts)
        assert caught.value.code in ("host-networks-overlap", "host-address-duplicate")
    else:
        check_hosts(hosts)
