"""The driver program of chaos, on both clusters."""

from pathlib import Path

import pytest

from testbed.chaos.plan import KUBERNETES_FAULTS, LOCAL_FAULTS
from testbed.chaos.rows import driver_of
from testbed.chaos.setting import ChaosSetting
from testbed.cluster.topology import read_topology
from testbed.nexmark.day import EventFeed
from testbed.pipeline.kafka_broker import KafkaBroker

MODULES = {"rides": "testbed.pipeline", "q1": "testbed.nexmark", "q5": "testbed.nexmark"}


@pytest.mark.parametrize("query", MODULES)
def test_only_on_kubernetes_a_driver_follows_an_autoscaler(query: str, tmp_path: Path) -> None:
    here = ChaosSetting(seed=1, query=query, part_s=10, faults=LOCAL_FAULTS)
    there = ChaosSetting(seed=1, query=query, part_s=10, faults=KUBERNETES_FAULTS, kubernetes=True)
    programs = [driver_of(setting, tmp_path, topic=None).program for setting in (here, there)]
    assert all(program[:3] == ("-m", MODULES[query], "stream") for program in programs)
    assert "--autoscaler" not in programs[0]
    name = "nearest" if query == "rides" else query
    assert programs[1][programs[1].index("--autoscaler") + 1] == name


def test_queries_count_their_rows_where_their_driver_writes_them(tmp_path: Path) -> None:
    setting = ChaosSetting(seed=1, query="q5", part_s=10, faults=KUBERNETES_FAULTS, kubernetes=True)
    driver = driver_of(setting, tmp_path, topic=None)
    assert driver.checkpoint == tmp_path / "checkpoint"
    assert driver.program[driver.program.index("--folder") + 1] == str(tmp_path.resolve())
    assert driver.rows.count().rows == 0


def test_a_driver_that_reads_a_topic_has_a_fixed_cap_and_no_emulated_work(tmp_path: Path) -> None:
    broker = KafkaBroker(bootstrap="10.77.0.1:9092", command=(), environment={}, log=tmp_path / "broker.log")
    feed = EventFeed(
        broker=broker, topology=read_topology("edge8"), partitions=4, log=tmp_path / "producer.log"
    )
    program = driver_of(ChaosSetting(seed=1, query="q5", kafka=True), tmp_path, topic=feed).program
    given = dict(zip(program[4:-1:2], program[5:-1:2], strict=True))
    assert (given["--kafka"], given["--topic"], given["--cap-rows"]) == ("10.77.0.1:9092", "nexmark", "600")
    assert not given.keys() & {"--cap-rows-per-replica", "--service-ms-per-row", "--start-at"}
