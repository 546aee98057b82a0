"""The settings of the loop and the options of the drivers fit each other and the commands that take them."""

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
import typer

from gesscale.errors import InputError
from testbed.cluster.topology import read_topology
from testbed.demo.taxi import Feed, KafkaFeed, ReplayFeed
from testbed.live.scenario import DEMO, WORKFLOW, Scenario, TopicInput, prepare_settings
from testbed.pipeline.cli import app as pipeline

SCENARIO = replace(WORKFLOW, policy="thr-nlaware", day_s=120.0)
TOPOLOGY = read_topology(SCENARIO.topology)


def test_the_settings_describe_the_workflow_that_runs(tmp_path: Path) -> None:
    settings = prepare_settings(SCENARIO, TOPOLOGY, tmp_path)
    workflow = settings.workflow.build()
    assert workflow.upstream("nearest") == ("clean",)
    assert workflow.upstream("clean") == ()
    # 1200 rows a batch whatever the replicas: Kafka's connector knows a fixed cap only
    assert [workflow.operators[name].batch_rows(3) for name in ("clean", "nearest")] == [1200, 1200]
    operators = settings.workflow.operators
    assert operators["clean"].metrics_url != operators["nearest"].metrics_url
    kafka = {name: each.kafka for name, each in operators.items()}
    assert {name: each.topic for name, each in kafka.items() if each} == {
        "clean": "rides",
        "nearest": "valid",
    }
    assert settings.analyze.policy == "thr-nlaware"
    assert settings.execute.mode == "act"
    assert settings.latency_map.file == tmp_path / "latency.csv"
    assert (tmp_path / "latency.csv").exists()


def test_a_policy_that_cools_down_does_so_within_the_day(tmp_path: Path) -> None:
    settings = prepare_settings(replace(WORKFLOW, policy="ds2", period_s=10.0), TOPOLOGY, tmp_path)
    assert settings.analyze.ds2.cooldown_s == 30.0


def test_kept_settings_serve_another_run(tmp_path: Path) -> None:
    (tmp_path / "first").mkdir()
    (tmp_path / "second").mkdir()
    first = prepare_settings(SCENARIO, TOPOLOGY, tmp_path / "first")
    kept = tmp_path / "first" / "gesscale.yaml"
    kept.write_text(kept.read_text().replace("period: 10s", "period: 12s"))
    second = prepare_settings(WORKFLOW, TOPOLOGY, tmp_path / "second", kept)
    assert (second.monitor.period_s, second.analyze.policy) == (12.0, first.analyze.policy)
    assert second.knowledge.file == tmp_path / "second" / "knowledge.sqlite"  # it begins to learn again


def test_settings_of_other_operators_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "other.yaml"
    file.write_text(SCENARIO.settings(TOPOLOGY).replace("clean", "filter"))
    with pytest.raises(
        InputError, match="expected settings of the operators clean, nearest, got filter, nearest"
    ):
        prepare_settings(SCENARIO, TOPOLOGY, tmp_path, file)


def test_each_operator_reads_what_the_one_before_it_writes(tmp_path: Path) -> None:
    for before, after in pairwise(SCENARIO.operators):
        assert before.writes == after.reads
        assert after.upstream == (before.name,)
    given = [SCENARIO.stream_options(operator, tmp_path) for operator in SCENARIO.operators]
    assert [options.get("output-topic") for options in given] == ["valid", None]
    assert [options.get("to") for options in given] == [None, tmp_path / "sink"]
    assert len({options["checkpoint"] for options in given}) == len(given)


def test_an_operator_alone_has_a_cap_that_grows_with_its_replicas(tmp_path: Path) -> None:
    settings = prepare_settings(DEMO, TOPOLOGY, tmp_path)
    assert settings.workflow.build().operators["nearest"].batch_rows(3) == 3600
    assert settings.workflow.operators["nearest"].kafka is None
    assert DEMO.stream_options(DEMO.operators[0], tmp_path)["cap-rows-per-replica"] == 1200


def test_drivers_are_told_nothing_that_they_do_not_know(tmp_path: Path) -> None:
    stream = typer.main.get_command(pipeline).commands["stream"]  # type: ignore[attr-defined]
    known = {name.removeprefix("--") for parameter in stream.params for name in parameter.opts}
    rides = tmp_path / "rides"
    feeds: dict[Scenario, Feed] = {DEMO: ReplayFeed(scenario=DEMO, rides=rides, start_at_s=0.0)}
    feeds[WORKFLOW] = KafkaFeed(
        scenario=WORKFLOW, kafka=TopicInput(), topology=TOPOLOGY, rides=rides, folder=tmp_path
    )
    for scenario, feed in feeds.items():
        for operator in scenario.operators:
            given = {**scenario.stream_options(operator, tmp_path), **feed.options(operator)}
            assert given.keys() <= known
            assert ("rides" in given) != ("topic" in given)
