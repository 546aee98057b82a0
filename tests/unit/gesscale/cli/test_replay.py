"""``gesscale replay`` as a user types it, over a record of a real run and over broken ones."""

import json
from pathlib import Path

import pytest
import yaml
from record_with_cpu import record_with_cpu
from refusals import codes

from gesscale.knowledge.sqlite import SqliteKnowledge
from gesscale.model.decision import Analysis, Decision, Outcome, OutcomeStatus, Plan, Reason, Verdict
from perfmodel import Reading

DAY = Path(__file__).parents[3] / "data" / "records" / "day_of_gesscale"


@pytest.fixture
def record(tmp_path: Path) -> Path:
    return record_with_cpu(DAY, tmp_path / "record")


def test_the_table_shows_what_is_wanted_and_where_they_differ(gesscale, record):
    code, out, err = gesscale("replay", record, "--policy", "thr-nlaware")
    assert code == 0
    # Eight live changes, and the wish of THR at 40 s.
    assert "(9 of 26 decisions)" in out
    assert "Where they differ" in out
    assert all(word in err for word in ("40 s", "nearest", "ModelUncalibrated", "Overloaded +edge2"))


def test_the_model_that_the_record_gives_is_shown(gesscale, record):
    _, out, _ = gesscale("replay", record)
    assert "eq1: alpha " in out
    _, out, _ = gesscale("replay", record, "--policy", "thr-nlaware")
    assert "held-out error" not in out


def test_json_has_every_step_with_both_decisions(gesscale, record):
    code, out, _ = gesscale("replay", record, "--policy", "thr-nlaware", "--output", "json")
    document = json.loads(out)
    assert code == 0
    assert (document["policy"], document["livePolicy"]) == ("thr-nlaware", "gesscale-2021")
    assert document["summary"]["compared"] == len(document["steps"]) == 26
    lines = (record / "decisions.jsonl").read_text().splitlines()
    assert [step["live"] for step in document["steps"]] == [json.loads(line) for line in lines]
    wish = document["steps"][4]
    assert (wish["agrees"], wish["same_reason"]) == (False, False)
    assert wish["decision"]["plan"]["change"] == {"add": ["edge2"], "remove": []}
    assert wish["decision"]["outcome"]["status"] == "NotAllowed"


def test_settings_of_the_record_can_be_overridden(gesscale, record):
    _, out, _ = gesscale("replay", record, "--set", "plan.exclude_nodes=[edge2]", "-o", "json")
    # The nearest to edge1 is edge2 with 4 ms, the next edge3 with 9 ms.
    proposals = [step["decision"]["plan"]["change"] for step in json.loads(out)["steps"]]
    assert next(wish for wish in proposals if wish) == {"add": ["edge3"], "remove": []}


def test_settings_can_come_from_elsewhere(gesscale, record):
    config = record.parent / "mine.yaml"
    settings = yaml.safe_load((record / "gesscale.yaml").read_text())
    settings["latency_map"]["file"] = str(record / "latency.csv")
    config.write_text(yaml.safe_dump({**settings, "analyze": {"policy": "static"}}))
    (record / "gesscale.yaml").unlink()
    _, out, _ = gesscale("replay", record, "--config", config, "-o", "json")
    assert json.loads(out)["summary"]["replayed_changes"] == 0


def test_torn_lines_are_counted_and_named(gesscale, record):
    with (record / "batches.jsonl").open("a") as file:
        file.write('{"batch_id": 90, "ended')
    (record / "decisions.jsonl").write_text("{}\n" * 4 + (record / "decisions.jsonl").read_text())
    code, out, err = gesscale("replay", record)
    assert code == 0
    assert "(9 of 26 decisions)" in out
    assert codes(err) == ["record-line-invalid"] * 3
    assert f"{record / 'batches.jsonl'}, line 91" in err
    assert f"{record / 'decisions.jsonl'}, line 1" in err
    assert "5" in err.splitlines()[-1]


def test_several_operators_are_replayed_each_by_its_own_record(gesscale, record):
    settings = yaml.safe_load((record / "gesscale.yaml").read_text())
    one = settings["workflow"]["operators"].pop("nearest")
    settings["workflow"]["operators"] = {"first": one, "second": {**one, "upstream": ["first"]}}
    (record / "gesscale.yaml").write_text(yaml.safe_dump(settings))
    for name in ("batches.jsonl", "decisions.jsonl"):
        lines = [json.loads(line) for line in (record / name).read_text().splitlines()]
        both = [{**line, "operator": operator} for line in lines for operator in ("first", "second")]
        (record / name).write_text("".join(json.dumps(line) + "\n" for line in both))
    code, out, _ = gesscale("replay", record, "-o", "json")
    document = json.loads(out)
    assert code == 0
    assert document["summary"]["compared"] == 52
    agreeing = {step["operator"] for step in document["steps"] if step["agrees"]}
    assert agreeing == {"first", "second"}
    # Both are saturated alike, so the first is held back by the second, which alone grows.
    wanting = {
        step["operator"]
        for step in document["steps"]
        if (change := step["decision"]["plan"]["change"]) and change["add"]
    }
    assert wanting == {"second"}


def test_what_was_known_before_the_run_is_known_in_the_replay(gesscale, record):
    # The knowledge file of a run before that measured 400 rows/s on one node: the model knows its MST from the start.
    began_s = json.loads((record / "decisions.jsonl").read_text().splitlines()[0])["at_s"]
    reading = Reading(replicas=1, nd_max_ms=0, rows_per_s=400, batch_rows=1200, at_s=began_s - 60)
    with SqliteKnowledge(record / "knowledge.sqlite", now_s=began_s) as knowledge:
        knowledge.remember(
            Decision(
                at_s=began_s - 60,
                operator="nearest",
                policy="gesscale",
                analysis=Analysis(
                    operator="nearest", verdict=Verdict.SAME, reason=Reason.WITHIN_TARGET, evidence=(reading,)
                ),
                plan=Plan(operator="nearest", reason=Reason.WITHIN_TARGET, before=("edge1",), placement=("edge1",)),
                outcome=Outcome(status=OutcomeStatus.NOTHING_TO_DO),
            )
        )
    _, out, _ = gesscale("replay", record, "-o", "json")
    second = json.loads(out)["steps"][1]
    assert second["live"]["reason"] == "ModelUncalibrated"
    assert second["decision"]["analysis"]["mst"]["mid"] == pytest.approx(400)


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("--policy", "nobody"), "policy-unknown"),
        (
            ("--set", "workflow.operators={other: {driver_node: edge1, metrics_url: 'http://h:1'}}"),
            "record-operator-missing",
        ),
        (("--set", "latency_map.file=nowhere.csv"), None),
        (("--set", "latency_map.source=agents", "--set", "latency_map.agents=['http://h:1']"), "replay-needs-map-file"),
    ],
    ids=["policy", "operator", "map", "agents"],
)
def test_what_does_not_fit_the_record_is_one_line_and_exit_2(gesscale, record, words, code):
    status, out, err = gesscale("replay", record, *words)
    assert (status, out) == (2, "")
    assert codes(err) == [code] or "nowhere.csv" in err
    assert err.count("\n") == 1


def test_a_missing_or_empty_record_is_one_line_and_exit_2(gesscale, record):
    code, _, err = gesscale("replay", record / "elsewhere")
    assert (code, err.count("\n")) == (2, 1)
    assert codes(err) == ["record-settings-missing"]
    (record / "batches.jsonl").write_text("")
    code, _, err = gesscale("replay", record)
    assert (code, err.count("\n")) == (2, 1)
    assert codes(err) == ["record-empty"]
