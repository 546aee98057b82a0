"""Who sends rows from outside of the nodes: found by its cluster, and said where it fails."""

from pathlib import Path

import pytest

from gesscale.errors import ClusterError
from testbed.cluster import processes
from testbed.cluster.private import STATE_ROOT
from testbed.cluster.processes import Role
from testbed.cluster.state import state_directory
from testbed.cluster.topology import read_topology
from testbed.live.kafka import Producer, start_producer

TOPOLOGY = read_topology("edge8")


@pytest.fixture(autouse=True)
def own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(STATE_ROOT, str(tmp_path / "state"))


def ended(program: str, folder: Path) -> Producer:
    producer = start_producer(("-c", program), TOPOLOGY, folder / "producer.log")
    producer.process.wait(60)
    return producer


def test_one_that_has_sent_all_is_no_fault_and_one_that_failed_is_quoted(tmp_path: Path) -> None:
    ended("print('sent')", tmp_path).check()
    with pytest.raises(ClusterError, match="the producer has ended with code 4: no broker answers"):
        ended("print('no broker answers'); raise SystemExit(4)", tmp_path).check()


def test_one_that_runs_is_found_with_the_cluster_and_can_be_ended(tmp_path: Path) -> None:
    program = ("-c", "import time; time.sleep(600)")
    producer = start_producer(program, TOPOLOGY, tmp_path / "producer.log")
    try:
        producer.check()
        found = processes.find(str(state_directory(TOPOLOGY.name)))
        assert [(each.pid, each.mark.role) for each in found] == [(producer.process.pid, Role.PRODUCER)]
    finally:
        producer.stop()
    assert processes.find(str(state_directory(TOPOLOGY.name))) == ()
