"""How the relay is configured and compiled; tests/real measures it."""

import shutil
from pathlib import Path

import pytest
from refusals import refused

from testbed.cluster import delays
from testbed.cluster.topology import Topology


def test_each_direction_has_half_the_round_trip(three: Topology) -> None:
    lines = delays.relay_config(three).splitlines()
    assert lines[0] == "node 1 /run/netns/gesscale-three-a edge0"
    assert lines[3] == "node 254 - gs-three"
    # a-b 10 ms, a-c 25 ms, b-c 300 ms round trip
    assert sorted(lines[4:]) == [
        "delay 1 2 5000",
        "delay 1 3 12500",
        "delay 2 1 5000",
        "delay 2 3 150000",
        "delay 3 1 12500",
        "delay 3 2 150000",
    ]


def test_a_missing_compiler_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    with refused("relay-compiler-missing"):
        delays.compiled_relay()


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler here")
def test_the_relay_is_compiled_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    program = delays.compiled_relay()
    monkeypatch.setenv("PATH", str(tmp_path))  # what is there needs no compiler
    assert delays.compiled_relay() == program
    assert [path.name for path in program.parent.iterdir()] == [program.name]


def test_a_missing_relay_does_not_answer(state_root: Path) -> None:
    assert state_root.name == "state"
    assert not delays.relay_answers("three")
