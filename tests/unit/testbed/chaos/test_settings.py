"""Valid combinations of settings, and the driver program on both clusters."""

from pathlib import Path

import pytest
from refusals import refused

from testbed.chaos.plan import KUBERNETES_FAULTS, LOCAL_FAULTS, ChaosFault
from testbed.chaos.rows import driver_of
from testbed.chaos.settings import ChaosSettings
from testbed.cluster.topology import read_topology
from testbed.live.kafka import KafkaFeed
from testbed.pipeline.kafka_broker import KafkaBroker


@pytest.mark.parametrize(
    ("given", "code", "fields"),
    [
        ({"query": "q7"}, "query-unknown", {"got": "q7"}),
        ({"kafka": True}, "chaos-kafka-unsupported", {}),
        ({"faults": ()}, "chaos-faults-empty", {}),
        ({"rows_per_s": 455}, "chaos-load-excessive", {"max": 454}),  # 1000 ms / 2.2 ms a row
        ({"rows_per_s": 501, "query": "q5"}, "chaos-load-excessive", {"max": 500}),  # 1000 ms / 2 ms an event
        ({"faults": (ChaosFault.BROKER_KILLED,)}, "chaos-fault-impossible", {"fault": "broker-killed"}),
        ({"faults": (ChaosFault.KUBELET_KILLED,)}, "chaos-fault-impossible", {"fault": "kubelet-killed"}),
        ({"kubernetes": True}, "chaos-fault-impossible", {"fault": "executor-killed"}),
        (
            {"kubernetes": True, "faults": KUBERNETES_FAULTS, "query": "q5", "kafka": True},
            "chaos-kafka-unsupported",
            {},
        ),
    ],
)
def test_contradicting_settings_are_refused(given: dict[str, object], code: str, fields: dict[str, object]) -> None:
    with refused(code, **fields):
        ChaosSettings(seed=1, **given)  # type: ignore[arg-type] # fields of the settings


MODULES = {"rides": "testbed.pipeline", "q5": "testbed.nexmark"}


@pytest.mark.parametrize("query", MODULES)
def test_only_on_kubernetes_a_driver_follows_an_autoscaler(query: str, tmp_path: Path) -> None:
    here = ChaosSettings(seed=1, query=query, part_s=10, faults=LOCAL_FAULTS)
    there = ChaosSettings(seed=1, query=query, part_s=10, faults=KUBERNETES_FAULTS, kubernetes=True)
    drivers = [driver_of(settings, tmp_path, topic=None) for settings in (here, there)]
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
