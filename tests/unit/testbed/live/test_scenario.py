"""The settings of the loop and the options of the drivers match each other and the commands that take them."""

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
import typer
from refusals import refused

from testbed.cluster.topology import read_topology
from testbed.demo.taxi import TaxiJob
from testbed.live.kafka import KafkaFeed
from testbed.live.scenario import RIDES, WORKFLOW, Scenario, prepare_settings
from testbed.pipeline.cli import app as pipeline
from testbed.pipeline.kafka_broker import KafkaBroker

SCENARIO = replace(WORKFLOW, policy="thr-nlaware", day_s=120.0)
TOPOLOGY = read_topology(SCENARIO.topology)


def test_the_settings_describe_the_workflow_that_runs(tmp_path: Path) -> None:
    settings = prepare_settings(SCENARIO, TOPOLOGY, tmp_path)
    workflow = settings.workflow.build()
    assert workflow.upstream("nearest") == ("clean",)
    assert workflow.upstream("clean") == ()
    for before, after in pairwise(SCENARIO.operators):
        assert before.writes == after.reads
    # 1200 rows a batch whatever the replicas: Kafka's connector knows a fixed cap only
    assert [workflow.operators[name].batch_rows(3) for name in ("clean", "nearest")] == [1200, 1200]
    operators = settings.workflow.operators
    assert operators["clean"].metrics_url != operators["nearest"].metrics_url
    kafka = {name: each.kafka for name, each in operators.items()}
    assert {name: each.topic for name, each in kafka.items() if each} == {"clean": "rides", "nearest": "valid"}
    assert settings.analyze.policy == "thr-nlaware"
    assert settings.execute.mode == "act"
    assert settings.latency_map.file == tmp_path / "latency.csv"
    assert (tmp_path / "latency.csv").exists()


def test_kept_settings_serve_another_run(tmp_path: Path) -> None:
    (tmp_path / "first").mkdir()
    (tmp_path / "second").mkdir()
    first = prepare_settings(SCENARIO, TOPOLOGY, tmp_path / "first")
    kept = tmp_path / "first" / "gesscale.yaml"
    kept.write_text(kept.read_text().replace("period: 10s", "period: 12s"))
    second = prepare_settings(WORKFLOW, TOPOLOGY, tmp_path / "second", kept)
    assert (second.monitor.period_s, second.analyze.policy) == (12.0, first.analyze.policy)
    assert second.knowledge.file == tmp_path / "second" / "knowledge.sqlite"  # it begins to learn again
    kept.write_text(kept.read_text().replace("clean", "filter"))
    with refused("scenario-operators-differ", expected=["clean", "nearest"], got=["filter", "nearest"]):
        prepare_settings(SCENARIO, TOPOLOGY, tmp_path, kept)


def test_a_single_operator_has_a_cap_per_replica_and_short_times(tmp_path: Path) -> None:
    settings = prepare_settings(replace(RIDES, policy="ds2"), TOPOLOGY, tmp_path)
    assert settings.workflow.build().operators["nearest"].batch_rows(3) == 3600
    assert settings.workflow.operators["nearest"].kafka is None
    assert RIDES.stream_options(RIDES.operators[0], tmp_path)["cap-rows-per-replica"] == 1200
    assert settings.analyze.ds2.cooldown_s == 50.0  # five periods, as 300 s of 60 s


@pytest.mark.parametrize("scenario", [RIDES, WORKFLOW])
def test_drivers_know_all_their_options(scenario: Scenario, tmp_path: Path) -> None:
    stream = typer.main.get_command(pipeline).commands["stream"]  # type: ignore[attr-defined]
    known = {name for parameter in stream.params for name in parameter.opts}
    broker = KafkaBroker(bootstrap="10.77.0.1:9092", command=(), environment={}, log=tmp_path / "broker.log")
    feed = KafkaFeed(broker=broker, topology=TOPOLOGY, log=tmp_path / "log") if scenario.kafka else None
    job = TaxiJob(scenario=scenario, rides=tmp_path / "rides", start_at_s=0.0, feed=feed)
    for operator in scenario.operators:
        words = job.program(operator, tmp_path)
        assert words[:3] == ("-m", "testbed.pipeline", "stream")
        given = {word for word in words if word.startswith("--")}
        assert given <= known
        assert ("--rides" in given) != ("--topic" in given)
