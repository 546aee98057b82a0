"""What ping prints, read."""

import subprocess

import numpy as np

from latency_map import LatencyMap
from latency_map.emulate.hosts import number_hosts
from latency_map.emulate.plan import tc_plan
from testbed.emulation.pairs import render_pings


def test_a_node_waits_for_twice_the_round_trip_and_more():
    latencies = LatencyMap(names=("a", "b"), rtt_ms=1200.0 * (1 - np.eye(2)))
    delays = tc_plan(latencies, number_hosts(["a", "b"], "10.0.0.0/24")).node("a").delays
    script = render_pings(delays, count=7)
    # 2 s, and 2.4 s for twice the round trip rounded up
    assert "ping -n -c 7 -i 0.2 -W 5 10.0.0.2 || :" in script
    assert subprocess.run(("sh", "-n"), input=script, text=True, check=False).returncode == 0
