"""Properties of every plan and every file of hosts."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from latency_map import LatencyMap
from latency_map.emulate.hosts import Host
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
