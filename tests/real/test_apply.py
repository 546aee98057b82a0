"""A map on real links: the scripts in network namespaces, and ``testbed apply`` over real ssh.

A kernel without netem runs all of it but the delays: with round trips of 0 a plan has classes and filters and
no netem. The delays themselves are measured in tests/real/test_netem_kernel.py.
"""

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import yaml
from processes import TAKES_CTRL_C
from ssh_nodes import (
    CONTROL,
    NODES,
    SUBNET,
    SshNodes,
    address,
    execute,
    find_tool,
    namespace,
    network,
    ssh_nodes,
)

from latency_map import LatencyMap, Survey, write_survey
from latency_map.emulate.hosts import Host, number_hosts
from latency_map.emulate.plan import EmulationPlan, tc_plan
from latency_map.emulate.script import ScriptAction, render_script
from testbed.cluster.netem import has_netem
from testbed.cluster.privilege import is_privileged
from testbed.emulation.daemonset import render_daemonset

STILL, DELAYED = 0.0, 20.0

pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(not is_privileged(), reason="needs root to make network namespaces"),
]
needs_sshd = pytest.mark.skipif(
    not all(find_tool(tool) for tool in ("ssh", "ssh-keygen", "sshd", "ping")),
    reason="needs ssh, sshd and ping: apt-get install openssh-client, and openssh-server iputils-ping or setup.sh test",
)
without_netem = pytest.mark.skipif(
    is_privileged() and has_netem(), reason="this kernel has netem, and so the delays can be put in place"
)


def plan(rtt_ms: float, hosts: tuple[Host, ...] = ()) -> EmulationPlan:
    latencies = LatencyMap(names=NODES, rtt_ms=rtt_ms * (1 - np.eye(len(NODES))))
    return tc_plan(latencies, hosts or number_hosts(NODES, f"{SUBNET}.0/24"))


def write_map(folder: Path, rtt_ms: float) -> str:
    file = folder / f"map-{rtt_ms:g}.json"
    write_survey(Survey.of(LatencyMap(names=NODES, rtt_ms=rtt_ms * (1 - np.eye(len(NODES))))), file)
    return str(file)


def root_of(node: str) -> str:
    """The root discipline of a node's device, without what it counts."""
    return " ".join(execute(("tc", "qdisc", "show", "dev", "eth0", "root"), node=node).split()[:4])


OURS, KERNELS = "qdisc htb 6e5: root", "qdisc noqueue 0: root"


def run(script: str, node: str = "a") -> subprocess.CompletedProcess[str]:
    command = ("ip", "netns", "exec", namespace(node), "sh", "-s")
    return subprocess.run(command, input=script, capture_output=True, text=True, timeout=120, check=False)


def send(target: str, packets: int) -> None:
    family = "AF_INET6" if ":" in target else "AF_INET"
    execute(
        (
            *("python3", "-c"),
            f"import socket; s = socket.socket(socket.{family}, socket.SOCK_DGRAM)\n"
            f"for _ in range({packets}): s.sendto(b'x', ({target!r}, 9))",
        ),
        node="a",
    )


def packets_of_classes() -> dict[str, int]:
    shown = execute(("tc", "-s", "class", "show", "dev", "eth0"), node="a")
    return {
        match[1]: int(match[2])
        for match in re.finditer(r"class htb (\S+) .*\n Sent \d+ bytes (\d+) pkt", shown)
    }


@pytest.fixture
def nodes() -> Iterator[None]:
    with network():
        yield


@pytest.fixture
def machines(tmp_path: Path) -> Iterator[SshNodes]:
    tmp_path.chmod(0o755)
    with ssh_nodes(tmp_path) as running:
        yield running


@pytest.mark.usefixtures("nodes")
class TestScripts:
    """What a script does to the device of its node."""

    def test_only_packets_to_nodes_of_the_map_go_through_classes(self):
        assert run(render_script(plan(STILL).node("a"), ScriptAction.APPLY)).returncode == 0
        for target, packets in ((address("b"), 5), (address("c"), 3), (f"{SUBNET}.{CONTROL}", 7)):
            send(target, packets)
        assert packets_of_classes() == {"6e5:2": 5, "6e5:3": 3}

    def test_ipv6_packets_go_through_classes_too(self):
        hosts = tuple(Host(name=node, address=f"fd00:71::{number}") for number, node in enumerate(NODES, 1))
        for number, node in enumerate(NODES, 1):
            execute(("ip", "address", "add", f"fd00:71::{number}/64", "dev", "eth0", "nodad"), node=node)
        assert run(render_script(plan(STILL, hosts).node("a"), ScriptAction.APPLY)).returncode == 0
        send("fd00:71::2", 4)
        assert packets_of_classes() == {"6e5:2": 4, "6e5:3": 0}

    def test_running_it_again_changes_nothing_and_undoing_it_brings_back_what_was_there(self):
        apply, undo = (render_script(plan(STILL).node("a"), action) for action in ScriptAction)
        states = []
        for script in (apply, apply, undo, undo):
            done = run(script)
            assert done.returncode == 0, done.stderr
            shown = [
                execute(("tc", what, "show", "dev", "eth0"), node="a")
                for what in ("qdisc", "class", "filter")
            ]
            states.append([re.sub(r"direct_packets_stat \d+ ", "", text) for text in shown])
        assert states[0] == states[1]
        assert "6e5:3" in states[0][1]
        assert states[2] == states[3] == ["qdisc noqueue 0: root refcnt 2 \n", "", ""]

    def test_what_somebody_else_set_is_left_alone(self):
        execute(("tc", "qdisc", "add", "dev", "eth0", "root", "handle", "1:", "htb"), node="a")
        refused = run(render_script(plan(STILL).node("a"), ScriptAction.APPLY))
        assert refused.returncode == 1
        assert "nothing was changed" in refused.stderr
        assert run(render_script(plan(STILL).node("a"), ScriptAction.UNDO)).returncode == 0
        assert root_of("a") == "qdisc htb 1: root"

    @pytest.mark.parametrize("action", ScriptAction)
    def test_a_device_that_is_not_there_is_told(self, action):
        hosts = number_hosts(NODES, f"{SUBNET}.0/24", device="eth7")
        done = run(render_script(plan(STILL, hosts).node("a"), action))
        assert done.returncode == 1
        assert "cannot tell what is on eth7, see above" in done.stderr

    @without_netem
    def test_a_script_that_fails_half_way_leaves_nothing(self):
        failed = run(render_script(plan(DELAYED).node("a"), ScriptAction.APPLY, undo_after_s=60))
        assert failed.returncode != 0
        assert "lacks sch_netem" in failed.stderr
        assert root_of("a") == KERNELS
        assert not Path("/run/gesscale-delays-a-eth0.pid").exists()

    def test_a_node_ends_it_by_itself_and_the_next_run_calls_that_off(self):
        def apply_for(seconds: int) -> int:
            return run(
                render_script(plan(STILL).node("a"), ScriptAction.APPLY, undo_after_s=seconds)
            ).returncode

        assert apply_for(5) == 0
        assert root_of("a") == OURS
        await_root("a", KERNELS)
        assert apply_for(2) == 0
        assert run(render_script(plan(STILL).node("a"), ScriptAction.APPLY)).returncode == 0
        time.sleep(3)
        assert root_of("a") == OURS

    def test_a_timer_that_is_slow_to_start_is_called_off_too(self, tmp_path, monkeypatch):
        slow = tmp_path / "setsid"
        slow.write_text(f'#!/bin/sh\nsleep 1\nexec {shutil.which("setsid")} "$@"\n')
        slow.chmod(0o755)
        monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
        assert run(render_script(plan(STILL).node("a"), ScriptAction.APPLY, undo_after_s=2)).returncode == 0
        assert run(render_script(plan(STILL).node("a"), ScriptAction.APPLY)).returncode == 0
        time.sleep(5)  # it would have begun after 1 s and ended the delays 2 s later
        assert root_of("a") == OURS

    def test_a_timer_that_does_not_start_leaves_nothing(self, tmp_path, monkeypatch):
        broken = tmp_path / "setsid"
        broken.write_text("#!/bin/sh\necho no sessions today >&2\nexit 1\n")
        broken.chmod(0o755)
        monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
        failed = run(render_script(plan(STILL).node("a"), ScriptAction.APPLY, undo_after_s=60))
        assert failed.returncode == 1
        assert "the timer that ends the delays did not start: no sessions today" in failed.stderr
        assert root_of("a") == KERNELS


@pytest.mark.usefixtures("nodes")
class TestPod:
    """What the container of the DaemonSet runs."""

    @pytest.fixture
    def start(self, tmp_path: Path) -> Iterator[object]:
        pods: list[subprocess.Popen[str]] = []

        def start_pod(rtt_ms: float) -> subprocess.Popen[str]:
            for part in yaml.safe_load_all(render_daemonset(plan(rtt_ms))):
                for name, script in part.get("data", {}).items():
                    (tmp_path / name).write_text(script)
            inside = ("ip", "netns", "exec", namespace("a"), "sh", str(tmp_path / "run.sh"))
            environment = {**os.environ, "NODE_NAME": "a"}
            pod = subprocess.Popen(
                inside, env=environment, text=True, stderr=subprocess.PIPE, start_new_session=True
            )
            pods.append(pod)
            return pod

        yield start_pod
        for pod in pods:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(pod.pid, signal.SIGKILL)
            pod.communicate()

    def test_it_delays_its_node_until_it_is_ended(self, start):
        pod = start(STILL)
        await_root("a", OURS)
        pod.send_signal(signal.SIGTERM)
        _, said = pod.communicate(timeout=120)
        assert pod.returncode == 0
        assert "taken away" in said
        assert root_of("a") == KERNELS

    def test_one_that_starts_after_a_crash_takes_over_what_is_left(self, start):
        first = start(STILL)
        await_root("a", OURS)
        os.killpg(first.pid, signal.SIGKILL)
        assert root_of("a") == OURS
        pod = start(STILL)
        assert pod.stderr is not None
        assert "in place" in pod.stderr.readline()
        assert set(packets_of_classes()) == {"6e5:2", "6e5:3"}

    @without_netem
    def test_it_fails_where_the_kernel_lacks_netem(self, start):
        pod = start(DELAYED)
        _, said = pod.communicate(timeout=120)
        assert pod.returncode == 1
        assert "lacks sch_netem" in said
        assert root_of("a") == KERNELS


@needs_sshd
class TestSsh:
    """All nodes at once, over ssh."""

    def test_nodes_are_delayed_checked_and_undone(self, machines, tmp_path):
        file = write_map(tmp_path, STILL)
        for _ in range(2):
            done = machines.testbed("apply", file, "--ssh", "--output", "json")
            assert done.returncode == 0, done.stderr
            assert [root_of(node) for node in NODES] == [OURS] * 3
            document = json.loads(done.stdout)
            pairs = [(pair["from"], pair["to"], pair["lost"]) for pair in document["pairs"]]
            assert pairs == [("a", "b", 0), ("a", "c", 0), ("b", "c", 0)]
        undone = machines.testbed("apply", "--ssh", "--undo")
        assert undone.returncode == 0, undone.stderr
        assert [root_of(node) for node in NODES] == [KERNELS] * 3

    def test_a_pair_that_is_not_as_asked_ends_with_exit_code_3(self, machines, tmp_path):
        # given that the network has 20 ms itself, it adds nothing; it has next to none
        asked = write_map(tmp_path, DELAYED)
        done = machines.testbed("apply", asked, "--ssh", "--measured", asked, "--count", "2")
        assert done.returncode == 3, done.stderr
        assert "3 of 3 pairs are not as the map says" in done.stderr

    @without_netem
    def test_where_the_kernel_lacks_netem_every_node_says_so_and_none_is_changed(self, machines, tmp_path):
        done = machines.testbed("apply", write_map(tmp_path, DELAYED), "--ssh")
        assert done.returncode == 1
        assert all(f"{node}: no netem in its kernel" in done.stderr for node in NODES)
        assert [root_of(node) for node in NODES] == [KERNELS] * 3

    def test_one_node_in_the_way_keeps_all_as_they_are(self, machines, tmp_path):
        execute(("tc", "qdisc", "add", "dev", "eth0", "root", "handle", "1:", "htb"), node="b")
        execute(("ip", "address", "del", f"{address('c')}/24", "dev", "eth0"), node="c")
        execute(("ip", "address", "add", f"{address('c')}/24", "dev", "lo"), node="c")
        done = machines.testbed("apply", write_map(tmp_path, STILL), "--ssh")
        assert done.returncode == 1
        assert "b: another program set the queueing discipline of eth0: qdisc htb 1: root" in done.stderr
        assert "\n  c: " in done.stderr
        assert root_of("a") == KERNELS

    def test_a_login_without_rights_is_told(self, machines, tmp_path):
        file = write_map(tmp_path, STILL)
        done = machines.testbed("apply", file, "--ssh", "--user", "edge", "--no-sudo")
        assert done.returncode == 1
        assert "a: not root there" in done.stderr

    def test_it_ends_by_itself_after_the_time_that_was_asked(self, machines, tmp_path):
        options = ("--ssh", "--for", "2s", "--no-check")
        done = machines.testbed("apply", write_map(tmp_path, STILL), *options)
        assert done.returncode == 0, done.stderr
        for node in NODES:
            await_root(node, KERNELS)


@needs_sshd
def test_when_one_node_fails_in_the_middle_the_others_are_undone(tmp_path):
    tmp_path.chmod(0o755)
    with ssh_nodes(tmp_path, read_only="c") as machines:
        options = ("--ssh", "--for", "1h", "--no-check")
        done = machines.testbed("apply", write_map(tmp_path, STILL), *options)
        assert done.returncode == 1
        assert "not every node could be delayed:\n  c: " in done.stderr
        assert "Read-only file system" in done.stderr
        assert "no node is delayed" in done.stderr
        assert [root_of(node) for node in NODES] == [KERNELS] * 3


PUT_ON = """
from pathlib import Path
import numpy as np
from latency_map import LatencyMap
from latency_map.emulate.hosts_file import parse_hosts
from latency_map.emulate.plan import tc_plan
from testbed.emulation.apply import put_on
from testbed.emulation.remote import Login
folder = Path({folder!r})
hosts = parse_hosts((folder / "hosts.csv").read_text(), "hosts")
still = LatencyMap(names=tuple(host.name for host in hosts), rtt_ms=np.zeros((len(hosts), len(hosts))))
put_on(tc_plan(still, hosts), Login(config=folder / "ssh_config"))
"""


@needs_sshd
def test_an_interrupted_command_undoes_what_it_did_and_names_the_node_it_could_not_reach(machines):
    os.kill(machines.servers["c"], signal.SIGSTOP)
    inside = ("ip", "netns", "exec", namespace("control"))
    program = TAKES_CTRL_C + PUT_ON.format(folder=str(machines.folder))
    command = (*inside, sys.executable, "-c", program)
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as putting:
        await_root("a", OURS)
        await_root("b", OURS)
        putting.send_signal(signal.SIGINT)
        _, said = putting.communicate(timeout=300)
    assert "interrupted while nodes were changed: these nodes may still be delayed" in said
    assert "\n  c: " in said
    assert "\n  a: " not in said
    assert [root_of(node) for node in NODES] == [KERNELS] * 3


def await_root(node: str, wanted: str) -> None:
    deadline = time.monotonic() + 120
    while root_of(node) != wanted:
        assert time.monotonic() < deadline, f"{node}: expected {wanted!r}, got {root_of(node)!r}"
        time.sleep(0.1)
