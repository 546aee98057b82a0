"""The producer of rows outside of the nodes: its failures are reported, and it is found with its cluster."""

from pathlib import Path

import pytest
from refusals import refused

from testbed.cluster import processes
from testbed.cluster.processes import Role
from testbed.cluster.state import STATE_ROOT, state_directory
from testbed.cluster.topology import read_topology
from testbed.live.kafka import KafkaFeed
from testbed.pipeline.kafka_broker import KafkaBroker

TOPOLOGY = read_topology("edge8")


@pytest.fixture
def feed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> KafkaFeed:
    monkeypatch.setenv(STATE_ROOT, str(tmp_path / "state"))
    broker = KafkaBroker(bootstrap="10.77.0.1:9092", command=(), environment={}, log=tmp_path / "broker.log")
    return KafkaFeed(broker=broker, topology=TOPOLOGY, log=tmp_path / "producer.log")


def test_the_output_of_a_failed_producer_is_quoted(feed: KafkaFeed) -> None:
    feed.send(("-c", "print('no broker here'); raise SystemExit(4)"))
    assert feed.producer is not None
    feed.producer.wait(60)
    with refused("producer-exited", status=4, output="no broker here"):
        feed.check()


def test_a_running_producer_is_found_with_its_cluster_and_stopped(feed: KafkaFeed) -> None:
    feed.send(("-c", "import time; time.sleep(600)"))
    try:
        feed.check()
        (found,) = processes.find(str(state_directory(TOPOLOGY.name)))
        assert found.mark.role is Role.PRODUCER
    finally:
        feed.stop()
    assert processes.find(str(state_directory(TOPOLOGY.name))) == ()
