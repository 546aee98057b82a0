"""What can be played together, and the driver program of it on both clusters."""

from pathlib import Path

import pytest

from gesscale.errors import InputError
from testbed.chaos.plan import KUBERNETES_FAULTS, LOCAL_FAULTS, ChaosFault
from testbed.chaos.rows import driver_of
from testbed.chaos.settings import ChaosSettings
from testbed.cluster.topology import read_topology
from testbed.live.kafka import KafkaFeed
from testbed.pipeline.kafka_broker import KafkaBroker


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"query": "q7"}, "got 'q7'"),
        ({"kafka": True}, "does not read Kafka"),
        ({"faults": ()}, "a fault at least"),
        ({"rows_per_s": 455}, "at most 454 rows/s"),  # 1000 ms / 2.2 ms a row
        ({"rows_per_s": 501, "query": "q5"}, "at most 500 rows/s"),  # 1000 ms / 2 ms an event
        ({"faults": (ChaosFault.BROKER_KILLED,)}, "--kafka"),
        ({"faults": (ChaosFault.KUBELET_KILLED,)}, "kubelet-killed"),
        ({"kubernetes": True}, "cannot strike here"),
        ({"kubernetes": True, "faults": KUBERNETES_FAULTS, "query": "q5", "kafka": True}, "--kafka"),
    ],
)
def test_what_does_not_go_together_is_refused(given: dict[str, object], said: str) -> None:
    with pytest.raises(InputError, match=said):
        ChaosSettings(seed=1, **given)  # type: ignore[arg-type] # fields of the setting


MODULES = {"rides": "testbed.pipeline", "q5": "testbed.nexmark"}


@pytest.mark.parametrize("query", MODULES)
def test_only_on_kubernetes_a_driver_follows_an_autoscaler(query: str, tmp_path: Path) -> None:
    here = ChaosSettings(seed=1, query=query, part_s=10, faults=LOCAL_FAULTS)
    there = ChaosSettings(seed=1, query=query, part_s=10, faults=KUBERNETES_FAULTS, kubernetes=True)
    drivers = [driver_of(setting, tmp_path, topic=None) for setting in (here, there)]
    programs = [driver.program for driver in drivers]
    assert all(program[:3] == ("-m", MODULES[query], "stream") for program in programs)
    assert "--autoscaler" not in programs[0]
    name = "nearest" if query == "rides" else query
    assert programs[1][programs[1].index("--autoscaler") + 1] == name
    where = ("--checkpoint", tmp_path / "checkpoint-nearest") if query == "rides" else ("--folder", tmp_path)
    assert programs[0][programs[0].index(where[0]) + 1] == str(where[1])
    assert drivers[0].checkpoint.parent == tmp_path
    assert drivers[0].rows.count().rows == 0


def test_a_driver_that_reads_a_topic_has_a_fixed_cap_and_no_emulated_work(tmp_path: Path) -> None:
    broker = KafkaBroker(bootstrap="10.77.0.1:9092", command=(), environment={}, log=tmp_path / "broker.log")
    feed = KafkaFeed(broker=broker, topology=read_topology("edge8"), log=tmp_path / "producer.log")
    faults = (ChaosFault.BROKER_KILLED, ChaosFault.NONE)
    program = driver_of(ChaosSettings(seed=1, query="q5", kafka=True, faults=faults), tmp_path, feed).program
    given = dict(zip(program[4:-1:2], program[5:-1:2], strict=True))
    assert (given["--kafka"], given["--topic"], given["--cap-rows"]) == ("10.77.0.1:9092", "nexmark", "600")
    assert float(given["--service-ms-per-row"]) == 0
    assert "--cap-rows-per-replica" not in given
