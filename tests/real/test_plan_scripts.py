"""The scripts of ``latency-map plan`` on the devices of network namespaces.

A kernel without netem runs all of it but the delays: with round trips of 0 a plan has classes and filters and
no netem. The delays themselves are measured in tests/real/test_netem_kernel.py.
"""

import re
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from latency_map import LatencyMap
from latency_map.emulate.hosts import Host
from latency_map.emulate.plan import EmulationPlan, plan_emulation
from latency_map.emulate.script import ScriptAction, render_script
from testbed.cluster.delays import has_netem
from testbed.cluster.privilege import is_privileged

NODES, SUBNET, CONTROL = ("a", "b", "c"), "10.93.71", 254
SETTLE_S = 150  # bound of a wait, not an expectation
STILL, DELAYED = 0.0, 20.0
OURS, KERNELS = "qdisc htb 6e5: root", "qdisc noqueue 0: root"

pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(not is_privileged(), reason="needs root to make network namespaces"),
    pytest.mark.usefixtures("network"),
]


def namespace(node: str) -> str:
    return f"gsplan-{node}"


def execute(*command: str, node: str = "control") -> str:
    inside = ("ip", "netns", "exec", namespace(node), *command)
    return subprocess.check_output(inside, text=True, timeout=SETTLE_S)


@pytest.fixture
def network() -> Iterator[None]:
    names = [namespace(each) for each in (*NODES, "control")]
    try:
        for name in names:
            subprocess.run(("ip", "netns", "add", name), check=True)
            subprocess.run(("ip", "-n", name, "link", "set", "lo", "up"), check=True)
        execute("ip", "link", "add", "bridge0", "type", "bridge")
        execute("ip", "address", "add", f"{SUBNET}.{CONTROL}/24", "dev", "bridge0")
        execute("ip", "link", "set", "bridge0", "up")
        for number, node in enumerate(NODES, 1):
            port, there = f"port-{node}", ("peer", "name", "eth0", "netns", namespace(node))
            execute("ip", "link", "add", port, "type", "veth", *there)
            execute("ip", "link", "set", port, "master", "bridge0", "up")
            execute("ip", "address", "add", f"{SUBNET}.{number}/24", "dev", "eth0", node=node)
            execute("ip", "address", "add", f"fd00:71::{number}/64", "dev", "eth0", "nodad", node=node)
            execute("ip", "link", "set", "eth0", "up", node=node)
        yield
    finally:
        for name in names:
            subprocess.run(("ip", "netns", "delete", name), check=False)


def plan(rtt_ms: float, hosts: tuple[Host, ...] = ()) -> EmulationPlan:
    latencies = LatencyMap(names=NODES, rtt_ms=rtt_ms * (1 - np.eye(len(NODES))))
    return plan_emulation(
        latencies, hosts or [Host(name=name, address=f"{SUBNET}.{number}") for number, name in enumerate(NODES, 1)]
    )


def run(
    planned: EmulationPlan, action: ScriptAction = ScriptAction.APPLY, undo_after_s: int | None = None
) -> subprocess.CompletedProcess[str]:
    script = render_script(planned.nodes[0], action, undo_after_s=undo_after_s)
    command = ("ip", "netns", "exec", namespace("a"), "sh", "-s")
    return subprocess.run(command, input=script, capture_output=True, text=True, timeout=120, check=False)


def root() -> str:
    """The root discipline of a's device, without what it counts."""
    return " ".join(execute("tc", "qdisc", "show", "dev", "eth0", "root", node="a").split()[:4])


def send(target: str, packets: int) -> None:
    family = "AF_INET6" if ":" in target else "AF_INET"
    program = (
        f"import socket; s = socket.socket(socket.{family}, socket.SOCK_DGRAM)\n"
        f"for _ in range({packets}): s.sendto(b'x', ({target!r}, 9))"
    )
    execute("python3", "-c", program, node="a")


def packets_of_classes() -> dict[str, int]:
    shown = execute("tc", "-s", "class", "show", "dev", "eth0", node="a")
    found = re.finditer(r"class htb (\S+) .*\n Sent \d+ bytes (\d+) pkt", shown)
    return {match[1]: int(match[2]) for match in found}


def await_root(wanted: str) -> None:
    deadline_s = time.monotonic() + SETTLE_S
    while root() != wanted:
        assert time.monotonic() < deadline_s, root()
        time.sleep(0.1)


def test_only_packets_to_nodes_of_the_map_go_through_classes():
    assert run(plan(STILL)).returncode == 0
    for target, packets in ((f"{SUBNET}.2", 5), (f"{SUBNET}.3", 3), (f"{SUBNET}.{CONTROL}", 7)):
        send(target, packets)
    assert packets_of_classes() == {"6e5:2": 5, "6e5:3": 3}


def test_ipv6_packets_go_through_classes_too():
    hosts = tuple(Host(name=node, address=f"fd00:71::{number}") for number, node in enumerate(NODES, 1))
    assert run(plan(STILL, hosts)).returncode == 0
    send("fd00:71::2", 4)
    assert packets_of_classes() == {"6e5:2": 4, "6e5:3": 0}


def test_running_it_again_changes_nothing_and_undoing_it_brings_back_what_was_there():
    states = []
    for action in (ScriptAction.APPLY, ScriptAction.APPLY, ScriptAction.UNDO, ScriptAction.UNDO):
        done = run(plan(STILL), action)
        assert done.returncode == 0, done.stderr
        shown = [execute("tc", what, "show", "dev", "eth0", node="a") for what in ("qdisc", "class", "filter")]
        states.append([re.sub(r"direct_packets_stat \d+ ", "", text) for text in shown])
    assert states[0] == states[1]
    assert "6e5:3" in states[0][1]
    assert states[2] == states[3] == ["qdisc noqueue 0: root refcnt 2 \n", "", ""]


def test_what_another_program_set_is_left_alone():
    execute("tc", "qdisc", "add", "dev", "eth0", "root", "handle", "1:", "htb", node="a")
    assert run(plan(STILL)).returncode == 1
    assert run(plan(STILL), ScriptAction.UNDO).returncode == 0
    assert root() == "qdisc htb 1: root"


@pytest.mark.skipif(is_privileged() and has_netem(), reason="this kernel has netem: nothing fails half way")
def test_a_script_that_fails_half_way_leaves_nothing():
    failed = run(plan(DELAYED), undo_after_s=60)
    assert failed.returncode != 0
    assert "lacks sch_netem" in failed.stderr
    assert root() == KERNELS
    assert not Path("/run/gesscale-delays-a-eth0.pid").exists()


def test_a_node_ends_it_by_itself_and_the_next_run_calls_that_off():
    assert run(plan(STILL), undo_after_s=2).returncode == 0
    assert root() == OURS
    await_root(KERNELS)
    assert run(plan(STILL), undo_after_s=2).returncode == 0
    assert run(plan(STILL)).returncode == 0
    time.sleep(3)
    assert root() == OURS
