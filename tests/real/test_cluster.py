"""A real cluster of network namespaces: its delays, and that nothing of it ever stays behind."""

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from refusals import codes, refused

from testbed.cluster import delays, lifecycle, namespaces, privilege, processes, state
from testbed.cluster.check import check_pairs, evaluate_pair
from testbed.cluster.delay_backend import DelayBackend
from testbed.cluster.processes import Role
from testbed.cluster.topology import Topology, read_topology

NAME = "realtest"
ASKED_MS = {("a", "b"): 3.0, ("a", "c"): 40.0, ("b", "c"): 90.0}
AS_NOBODY = (
    *("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--bounding-set=-all,+dac_read_search"),
    *("--inh-caps=-all,+dac_read_search", "--ambient-caps=-all,+dac_read_search"),
)
"""Nobody, who may only read what root's files would hide from them: the interpreter may be among these."""

WITHOUT_NETWORK_RIGHTS = (*("setpriv", "--bounding-set=-net_admin,-sys_admin", "--inh-caps=-net_admin,-sys_admin"),)


def can_build() -> bool:
    return privilege.is_privileged() and os.access(privilege.TUN, os.R_OK | os.W_OK)


pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(not can_build(), reason="needs root and /dev/net/tun to make network namespaces"),
]


@pytest.fixture
def topology_file(tmp_path: Path) -> Path:
    (tmp_path / "map.csv").write_text(",a,b,c\na,0,3,40\nb,3,0,90\nc,40,90,0\n")
    file = tmp_path / "topology.yaml"
    file.write_text(
        f"name: {NAME}\nlatency: {{file: map.csv, unit: ms, kind: rtt}}\ndriver_node: a\nsubnet: 10.77.211.0/24\n"
    )
    return file


@pytest.fixture
def topology(topology_file: Path) -> Topology:
    return read_topology(str(topology_file))


@pytest.fixture(autouse=True)
def clean(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv(state.STATE_ROOT, str(tmp_path / "state"))
    yield
    lifecycle.down(NAME)
    assert_nothing_left(tmp_path)


def assert_nothing_left(tmp_path: Path) -> None:
    assert namespaces.find_namespaces(NAME) == ()
    assert f"gs-{NAME}" not in subprocess.check_output(("ip", "link"), text=True)
    assert processes.find(str(state.state_directory(NAME))) == ()
    assert not (tmp_path / "state").exists()


def run_testbed(*arguments: str, before: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        (*before, sys.executable, "-m", "testbed", *arguments), capture_output=True, text=True, timeout=300, check=False
    )


LATE_MS = 1.0
LATE_SHARE = 0.1
"""Wake-ups that came late by more than 1 ms: a round trip waits for four, so at a tenth every third echo is late."""


@contextmanager
def late_share() -> Iterator[list[float]]:
    """Sleep in a second thread; then append the share of wake-ups that this machine, or its host, made late."""
    over, late, found = threading.Event(), [], []

    def sleep() -> None:
        while not over.is_set():
            before_s = time.monotonic()
            time.sleep(0.005)
            late.append((time.monotonic() - before_s - 0.005) * 1000 > LATE_MS)

    sleeper = threading.Thread(target=sleep)
    sleeper.start()
    try:
        yield found
    finally:
        over.set()
        sleeper.join()
    found.append(sum(late) / len(late))


def assert_medians(measure: Callable[[], bool]) -> None:
    """Have the medians as asked within five measurements; excused only by a machine that is seen to be late."""
    shares = []
    for _ in range(5):
        with late_share() as found:
            done = measure()
        if done:
            return
        shares += found
    assert max(shares) > LATE_SHARE, f"medians stay off on a machine that is on time: late wake-ups {shares}"


def check_by_command(before: tuple[str, ...] = ()) -> None:
    """Run ``testbed check``: it asks for what the map says, and the echoes are so."""

    def measure() -> bool:
        checked = run_testbed("check", NAME, "--output", "json", before=before)
        pairs = json.loads(checked.stdout)["pairs"]
        assert {(pair["from"], pair["to"]): pair["expected_ms"] for pair in pairs} == ASKED_MS
        for pair in pairs:  # whoever else is busy only adds, so the least echo has no excuse
            assert pair["min_ms"] == pytest.approx(pair["expected_ms"], abs=pair["tolerance_ms"]), checked
        assert checked.returncode == (0 if all(pair["ok"] for pair in pairs) else 3)
        return checked.returncode == 0

    assert_medians(measure)


def assert_felt(topology: Topology, felt_ms: dict[tuple[str, str], float]) -> None:
    def measure() -> bool:
        pairs = check_pairs(topology, count=25)
        assert [(pair.first, pair.second) for pair in pairs] == list(felt_ms)
        felt = [
            evaluate_pair(felt_ms[pair.first, pair.second], [pair.measured_ms], first=pair.first, second=pair.second)
            for pair in pairs
        ]
        for pair, median in zip(pairs, felt, strict=True):
            assert pair.min_ms == pytest.approx(median.expected_ms, abs=median.tolerance_ms), pair
            if median.expected_ms != pair.expected_ms:
                assert not pair.ok  # it is held against the map, which says something else
        return all(median.ok for median in felt)

    assert_medians(measure)


def relay_of(topology: Topology) -> processes.Process:
    running = lifecycle.status(topology.name).running
    return next(process for process in running if process.mark.role is Role.RELAY)


def test_up_check_status_down_each_twice(topology_file: Path, tmp_path: Path) -> None:
    assert run_testbed("up", str(topology_file)).returncode == 0
    again = run_testbed("up", str(topology_file), "--output", "json")
    assert again.stderr.strip()
    assert [node["name"] for node in json.loads(again.stdout)["nodes"]] == ["a", "b", "c"]

    check_by_command()

    assert run_testbed("status").returncode == 0
    down = run_testbed("down", "--output", "json")
    # one relay; three namespaces and the device outside
    assert json.loads(down.stdout) == {NAME: {"processes": 1, "network_parts": 4}}
    assert run_testbed("down", NAME).returncode == 0
    assert run_testbed("down").returncode == 0
    assert_nothing_left(tmp_path)


def test_a_delay_changes_while_everything_runs(topology: Topology) -> None:
    lifecycle.up(topology, delays_by=DelayBackend.RELAY_C)
    assert_felt(topology, ASKED_MS)
    delays.set_delay(NAME, topology.node("a"), topology.node("b"), rtt_ms=20)
    assert_felt(topology, {**ASKED_MS, ("a", "b"): 20.0})


def test_a_killed_relay_is_noticed_and_mended(topology: Topology) -> None:
    lifecycle.up(topology)
    killed = relay_of(topology)
    os.kill(killed.pid, signal.SIGKILL)
    deadline = time.monotonic() + 60
    while delays.relay_answers(NAME):
        assert time.monotonic() < deadline
    assert "relay" in lifecycle.status(NAME).problem
    assert run_testbed("status", NAME).returncode == 3
    assert lifecycle.up(topology) is True
    assert relay_of(topology).pid != killed.pid


def test_an_up_that_was_killed_is_cleaned_up(topology_file: Path) -> None:
    with subprocess.Popen((sys.executable, "-m", "testbed", "up", str(topology_file))) as up:
        deadline = time.monotonic() + 120
        while not namespaces.find_namespaces(NAME):
            assert time.monotonic() < deadline
            time.sleep(0.001)
        up.kill()
    assert lifecycle.down(NAME).network_parts > 0


def test_leftovers_are_found_without_any_record_of_them(topology: Topology) -> None:
    lifecycle.up(topology)
    shutil.rmtree(state.state_root())
    assert lifecycle.down(NAME) == lifecycle.Removed(processes=1, network_parts=4)


def test_a_subnet_in_use_is_refused_and_nothing_is_built(topology: Topology, topology_file: Path) -> None:
    lifecycle.up(topology)
    other = topology_file.with_name("other.yaml")
    other.write_text(topology_file.read_text().replace(NAME, "realother"))
    done = run_testbed("up", str(other))
    assert done.returncode == 1
    assert codes(done.stderr) == ["subnet-in-use"]
    assert f"gs-{NAME}" in done.stderr
    assert namespaces.find_namespaces("realother") == ()


def test_a_failing_up_leaves_nothing(topology: Topology, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    # a compiler whose program only complains; called as: cc -O2 -o PROGRAM SOURCE
    complaint = "#!/bin/sh\\necho cannot >&2; exit 1\\n"
    (tmp_path / "broken-cc").write_text(f"#!/bin/sh\nprintf '{complaint}' > $3; chmod +x $3\n")
    (tmp_path / "broken-cc").chmod(0o755)
    (tmp_path / "cc").symlink_to("broken-cc")
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with refused("relay-failed"):
        lifecycle.up(topology, delays_by=DelayBackend.RELAY_C)
    assert namespaces.find_namespaces(NAME) == ()


def test_without_rights_one_line_says_what_is_missing(tmp_path: Path) -> None:
    done = run_testbed("up", "edge8", before=(*AS_NOBODY, "env", f"HOME={tmp_path}"))
    if not {*codes(done.stderr)} & {"root-required", "delay-backend-missing"}:
        pytest.skip("this machine lets everybody make user namespaces and TUN devices")
    assert done.returncode == 1
    assert done.stdout == ""
    assert len(codes(done.stderr)) == done.stderr.count("\n") == 1


def test_without_network_rights_a_user_namespace_serves(topology_file: Path) -> None:
    done = run_testbed("up", str(topology_file), before=WITHOUT_NETWORK_RIGHTS)
    if codes(done.stderr) == ["root-required"]:
        pytest.skip("this kernel gives no user namespaces")
    assert done.returncode == 0, done.stderr
    assert namespaces.find_namespaces(NAME) == ()  # it is not in the machine's own network
    check_by_command(before=WITHOUT_NETWORK_RIGHTS)
    assert run_testbed("down", NAME, before=WITHOUT_NETWORK_RIGHTS).returncode == 0
    assert processes.find(str(state.state_root())) == ()  # its holder has gone too
