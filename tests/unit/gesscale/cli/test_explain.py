import json
from dataclasses import replace
from pathlib import Path

import pytest
import typer
from model_summaries import eq1_summary
from typer.testing import CliRunner, Result

from gesscale.cli.explain import explain
from gesscale.errors import InputError
from gesscale.knowledge.sqlite import SqliteKnowledge
from gesscale.model.decision import Analysis, Decision, Outcome, OutcomeStatus, Plan, Reason, Rejection, Verdict
from gesscale.model.observation import NodeReading, OperatorReading
from perfmodel import Estimate

MODEL = eq1_summary(alpha=1900, beta=0.9, gamma=3, readings=7)


def decision(at_s: float, operator: str = "nearest") -> Decision:
    reading = OperatorReading(
        operator=operator,
        at_s=at_s,
        placement=("edge1",),
        throughput_rows_per_s=1905.0,
        saturated_share=1.0,
        busy_share=1.0,
        input_rows_per_s=2500.0,
        backlog_rows=30_000.0,
        by_node={
            "edge1": NodeReading(throughput_rows_per_s=1905.0, busy_share=1.0, state_partitions=6),
            "edge3": NodeReading(throughput_rows_per_s=0.0, busy_share=0.0, state_partitions=0),
        },
    )
    return Decision(
        at_s=at_s,
        operator=operator,
        policy="gesscale",
        analysis=Analysis(
            operator=operator,
            verdict=Verdict.MORE,
            reason=Reason.OVERLOADED,
            detail="saturated in 3 of 3 batches",
            reading=reading,
            model=MODEL,
            mst=Estimate(low=1800, mid=1900, high=2000),
            nd_max_ms=0.0,
        ),
        plan=Plan(
            operator=operator,
            reason=Reason.OVERLOADED,
            detail="one replica more on the nearest node",
            before=("edge1",),
            placement=("edge1", "edge2"),
            mst=Estimate(low=0, mid=3800, high=9000, reason="extrapolated"),
            nd_max_ms=40.0,
            rejections=(Rejection(node="edge7", reason=Reason.FARTHER, detail="120 ms [edge1, edge7]"),),
        ),
        outcome=Outcome(status=OutcomeStatus.APPLIED, added=("edge2",), seconds=6.2),
    )


def run(*arguments: object) -> Result:
    app = typer.Typer()
    app.command()(explain)
    return CliRunner(env={"COLUMNS": "150"}).invoke(app, [str(argument) for argument in arguments])


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "k.sqlite"
    with SqliteKnowledge(path, now_s=0) as store:
        for at_s in (1_000_000_000.0, 1_000_000_060.0):  # 2001-09-09 01:46:40 UTC and a minute later
            store.remember(decision(at_s))
            store.remember(decision(at_s, "clean"))
    return path


def test_a_decision_is_explained_with_its_numbers_model_and_losers(path: Path) -> None:
    result = run("nearest", "--knowledge", path, "--limit", 1)
    assert result.exit_code == 0
    for words in (
        "2001-09-09 01:47:40 UTC  nearest: replicas 1 -> 2 (Overloaded, +edge2): one replica more",
        "2500 rows/s",
        "30000 rows",
        "100 % of the batches saturated",
        "edge1 6, edge3 0 (added, holds none yet)",
        "1900 rows/s (1800 to 2000)",
        "extrapolated",
        "eq1 decides; held-out error 4.0 % over 3 placements; fitted",
        "alpha 1900 rows/s (1710 to 2090)",
        "readings: 7",
        "Farther: 120 ms [edge1, edge7]",
        "6.2 s",
    ):
        assert words in result.stdout


def test_candidates_that_are_only_counted_are_shown(tmp_path: Path) -> None:
    made = decision(1_000_000_000.0)
    lost = (
        Rejection(node="edge7", reason=Reason.FARTHER, detail="120 ms", others=983),
        Rejection(node="edge8", reason=Reason.CORDONED, others=2, other_nodes=("edge9", "edge10")),
    )
    with SqliteKnowledge(tmp_path / "k.sqlite", now_s=0) as store:
        ineligible = (Rejection(node="edge11", reason=Reason.NOT_READY, detail="silent", others=3), lost[1])
        store.remember(replace(made, plan=replace(made.plan, rejections=lost), ineligible=ineligible))
    printed = run("--knowledge", tmp_path / "k.sqlite").stdout
    assert "983 others" in printed
    assert "edge9, edge10" in printed
    assert "ineligible edge11" in printed
    assert "NotReady: silent" in printed
    assert "ineligible edge8" not in printed  # it is among the candidates that lost
    document = json.loads(run("--knowledge", tmp_path / "k.sqlite", "--output", "json").stdout)
    kept = document["decisions"][0]["plan"]["rejections"]
    assert [each.get("others") for each in kept] == [983, 2]
    assert [each.get("other_nodes") for each in kept] == [None, ["edge9", "edge10"]]


def test_json_holds_the_decisions_newest_first_and_the_models(path: Path) -> None:
    result = run("--knowledge", path, "--output", "json", "--limit", 3)
    document = json.loads(result.stdout)
    assert [(item["at_s"], item["operator"]) for item in document["decisions"]] == [
        (1_000_000_060, "clean"),
        (1_000_000_060, "nearest"),
        (1_000_000_000, "clean"),
    ]
    assert document["decisions"][0]["plan"]["rejections"][0]["node"] == "edge7"
    # The same model twice is one version, of each of the two operators.
    assert [item["operator"] for item in document["models"]] == ["clean", "nearest"]
    assert document["models"][0]["laws"][0]["law"] == "eq1"


def test_an_unknown_operator_is_rejected(path: Path) -> None:
    result = run("unknown", "--knowledge", path, "--output", "json")
    assert isinstance(result.exception, InputError)
    assert result.exception.code == "explain-operator-unknown"
    assert result.exception.fields["got"] == "unknown"


def test_a_missing_file_is_an_error_and_stays_missing(tmp_path: Path) -> None:
    result = run("--knowledge", tmp_path / "none.sqlite")
    assert isinstance(result.exception, InputError)
    assert result.exception.code == "knowledge-file-missing"
    assert list(tmp_path.iterdir()) == []
    result = run("--knowledge", tmp_path)
    assert isinstance(result.exception, InputError)
    assert result.exception.code == "knowledge-file-is-directory"
