"""Reading a record: valid, truncated, corrupt, of several operators, of another operator, or missing."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from refusals import refused

from gesscale.errors import InputError
from gesscale.model.document import json_of
from gesscale.model.observation import NodeReading, OperatorReading
from gesscale.monitor.record_files import read_recording

DAY = Path(__file__).parents[3] / "data" / "records" / "day_of_gesscale"
BATCH = {
    "batch_id": 7,
    "ended_at_s": 100.0,
    "rows": 50,
    "seconds": 2.5,
    "nodes": ["near", "hub"],
    "trigger_s": 2.0,
    "cap_rows": 200,
    "offered_rows_total": 900.0,
    "backlog_rows": 3.0,
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(tmp_path, BATCH)
    return tmp_path


def write(folder: Path, *lines: object, file: str = "batches.jsonl") -> None:
    texts = [line if isinstance(line, str) else json.dumps(line) for line in lines]
    (folder / file).write_text("\n".join(texts) + "\n")


def overloaded() -> dict:
    """The decision by which the second replica was added, as it was recorded: the sixth line."""
    return json.loads((DAY / "decisions.jsonl").read_text().splitlines()[5])


def test_a_complete_record_is_read() -> None:
    recording = read_recording(DAY, ["nearest"])
    assert recording.problems == ()
    # Lines of the two files.
    assert (len(recording.batches["nearest"]), len(recording.decisions)) == (90, 26)
    first, sixth = (recording.decisions[index].decision for index in (0, 5))
    assert (first.analysis.reading, first.analysis.detail) == (None, "no batch has ended yet")  # as recorded
    assert isinstance(sixth.analysis.reading, OperatorReading)
    assert (sixth.plan.before, sixth.plan.placement) == (("edge1",), ("edge1", "edge2"))
    assert (sixth.acted, recording.decisions[5].batches_read) == (True, 17)
    assert recording.instants_s(10.0) == tuple(each.decision.at_s for each in recording.decisions)


def test_a_decision_is_read_back_except_its_batches(folder: Path) -> None:
    decision = read_recording(DAY, ["nearest"]).decisions[5].decision
    at_work = {"edge1": NodeReading(throughput_rows_per_s=310.5, busy_share=0.93)}
    reading = replace(decision.analysis.reading, output_rows_per_s=155.25, by_node=at_work)
    decision = replace(decision, analysis=replace(decision.analysis, reading=reading))
    write(folder, json_of(decision), file="decisions.jsonl")
    assert read_recording(folder, ["nearest"]).decisions[0].decision == decision


def test_batches_are_sorted_by_their_ends(folder: Path) -> None:
    write(folder, BATCH, "", {**BATCH, "batch_id": 6, "ended_at_s": 98.0, "backlog_rows": float("nan")})
    recording = read_recording(folder, ["op"])
    batches = recording.batches["op"]
    assert [batch.batch_id for batch in batches] == [6, 7]
    assert (batches[0].nodes, batches[0].backlog_rows) == (("hub", "near"), None)
    assert recording.problems == ()


@pytest.mark.parametrize(
    "line",
    [
        '{"batch_id": 8, "ended_at',
        "not JSON",
        "[1, 2]",
        {key: value for key, value in BATCH.items() if key != "nodes"},
        *({**BATCH, "rows": value} for value in (-3, 10**400)),
        *({**BATCH, "ended_at_s": value} for value in (1e308, 4.2e9, -1.0, "soon", float("inf"))),
        *({**BATCH, "seconds": value} for value in (None, 86400.0 * 32, float("inf"))),
        *({**BATCH, "trigger_s": value} for value in (5e-324, 86400.0 * 32)),
        *({**BATCH, "offered_rows_total": value} for value in (1e19, float("inf"))),
    ],
    ids=str,
)
def test_an_invalid_line_is_skipped_and_reported(folder: Path, line: object) -> None:
    write(folder, BATCH, line, {**BATCH, "batch_id": 9, "ended_at_s": 104.0})
    recording = read_recording(folder, ["op"])
    assert [batch.batch_id for batch in recording.batches["op"]] == [7, 9]
    (problem,) = recording.problems
    assert (problem.code, problem.fields["source"]) == ("record-line-invalid", str(folder / "batches.jsonl"))
    assert problem.fields["place"] == "line 2"
    assert len(str(problem)) < 400


@pytest.mark.parametrize(
    "spoil",
    [
        lambda decision: decision.pop("plan"),
        lambda decision: decision.update(at_s="soon"),
        lambda decision: decision.update(at_s=1e308),
        lambda decision: decision["plan"].update(reason="Unheard"),
        lambda decision: decision["analysis"]["reading"].update(throughput_rows_per_s=None),
        lambda decision: decision["analysis"]["reading"].update(throughput_rows_per_s=1e300),
        lambda decision: decision["analysis"]["reading"].update(trigger_s=1e-300),
        lambda decision: decision["analysis"]["reading"].update(batches=[1]),
    ],
)
def test_an_invalid_decision_is_skipped_and_reported(folder: Path, spoil) -> None:
    bad = overloaded()
    spoil(bad)
    write(folder, bad, {**overloaded(), "operator": "op"}, file="decisions.jsonl")
    recording = read_recording(folder, ["op"])
    assert len(recording.decisions) == 1
    (problem,) = recording.problems
    assert (problem.fields["source"], problem.fields["place"]) == (str(folder / "decisions.jsonl"), "line 1")


@pytest.mark.parametrize(
    ("content", "operators", "code"),
    [
        (None, ["op"], "record-unreadable"),
        ("", ["op"], "record-empty"),
        ("nonsense\n", ["op"], "record-without-batches"),
        (json.dumps(BATCH), ["clean", "sink"], "record-operator-missing"),
        (json.dumps({**BATCH, "operator": "nearest"}), ["op"], "record-operator-unknown"),
        (f"{json.dumps(BATCH)}\n{json.dumps({**BATCH, 'ended_at_s': 101.0 + 31 * 86400})}", ["op"], "record-too-long"),
        ("x\n" * 1001 + json.dumps(BATCH), ["op"], "record-corrupt"),
        ("[" * (5 << 20), ["op"], "record-too-large"),
    ],
    ids=["no file", "empty", "corrupt", "unnamed", "of another", "over a month", "in pieces", "endless line"],
)
def test_invalid_records_are_rejected(folder: Path, content: str | None, operators, code) -> None:
    (folder / "batches.jsonl").unlink()
    if content is not None:
        (folder / "batches.jsonl").write_text(content)
    with refused(code, InputError) as raised:
        read_recording(folder, operators)
    assert folder.name in str(raised.value)


def test_without_decisions_there_is_a_step_per_period(folder: Path) -> None:
    write(folder, *({**BATCH, "batch_id": index, "ended_at_s": 100.0 + 5 * index} for index in range(8)))
    # Batches end from 100 to 135 s.
    assert read_recording(folder, ["op"]).instants_s(10.0) == (100.0, 110.0, 120.0, 130.0)
    write(folder, BATCH, {**BATCH, "batch_id": 8, "ended_at_s": 100.0 + 30 * 86400})
    with refused("record-periods-exceeded", InputError, max_periods=100_000):
        read_recording(folder, ["op"]).instants_s(1.0)  # 30 days have 2,592,000
