import os
from pathlib import Path

import pytest
from refusals import refused

from testbed.cluster import state
from testbed.cluster.state import ClusterRecord
from testbed.cluster.topology import Topology

RECORD = ClusterRecord(delays="relay-c", complete=True)


def test_saved_state_is_independent_of_the_topology_file(
    state_root: Path, three: Topology, topology_file: Path
) -> None:
    before = os.umask(0)
    try:
        state.save(RECORD, three)
    finally:
        os.umask(before)
    topology_file.unlink()
    assert state.load("three") == (RECORD, three)
    assert state_root.stat().st_mode & 0o077 == 0
    state.forget("three")
    assert not state_root.exists()
    with refused("cluster-not-up", cluster="three"):
        state.load("three")


@pytest.mark.parametrize("content", ["{", "[]", '{"a": 1}'])
def test_a_corrupt_record_is_reported(state_root: Path, three: Topology, content: str) -> None:
    state.save(RECORD, three)
    (state_root / "three" / "state.json").write_text(content)
    with refused("cluster-state-unreadable", cluster="three"):
        state.load("three")


def test_the_only_cluster_needs_no_name(state_root: Path) -> None:
    with refused("cluster-missing"):
        state.only_cluster(None)
    state.private_root()
    (state_root / "one").mkdir()
    assert state.only_cluster(None) == "one"
    (state_root / "two").mkdir()
    with refused("cluster-ambiguous", clusters=("one", "two")):
        state.only_cluster(None)
    assert state.only_cluster("two") == "two"


def test_the_lock_is_exclusive_and_released(state_root: Path) -> None:
    with state.locked(), refused("cluster-locked"), state.locked(0.0):
        pass
    with state.locked(0.0):
        assert list(state_root.iterdir()) == []


@pytest.mark.parametrize("name", ["..", "", "a/b", "../three", "Three", "a" * 11, "a\n"])
def test_a_name_never_leads_out_of_the_state_directory(state_root: Path, name: str) -> None:
    assert state_root.name == "state"
    with refused("cluster-name-invalid", got=name):
        state.state_directory(name)
