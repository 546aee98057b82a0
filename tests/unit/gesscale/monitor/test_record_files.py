"""Reading a record: whole, torn, corrupt, of several operators, of another operator, or none at all."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from gesscale.errors import InputError
from gesscale.model.document import as_document
from gesscale.model.observation import MissingReading, NodeReading, OperatorReading
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


def test_a_recorded_run_is_read_whole() -> None:
    recording = read_recording(DAY, ["nearest"])
    assert recording.faults == ()
    # Lines of the two files.
    assert (len(recording.batches["nearest"]), len(recording.decisions)) == (90, 26)
    figures = {(batch.state_rows, batch.state_bytes) for batch in recording.batches["nearest"]}
    assert figures == {(None, None)}, "recorded before there were such figures"
    first, sixth = recording.decisions[0], recording.decisions[5]
    assert first.seen == MissingReading(operator="nearest", detail="no batch has ended yet")
    assert isinstance(sixth.seen, OperatorReading)
    assert (sixth.reason, sixth.placement, sixth.planned) == ("Overloaded", ("edge1",), ("edge1", "edge2"))
    assert (sixth.change.add, sixth.acted, sixth.batches_seen) == (("edge2",), True, 17)


def test_the_placement_before_a_removal_has_what_was_removed() -> None:
    removal = read_recording(DAY, ["nearest"]).decisions[19]
    assert removal.change.remove == ("edge5",)
    assert removal.placement == ("edge1", "edge2", "edge3", "edge4", "edge5")


def test_batches_come_in_the_order_of_their_ends_with_sorted_nodes(folder: Path) -> None:
    write(folder, BATCH, {**BATCH, "batch_id": 6, "ended_at_s": 98.0})
    batches = read_recording(folder, ["op"]).batches["op"]
    assert [batch.batch_id for batch in batches] == [6, 7]
    assert batches[0].nodes == ("hub", "near")


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ('{"batch_id": 8, "ended_at', "EOF while parsing"),
        ("not JSON", "expected"),
        ("[1, 2]", "expected a mapping, got [1, 2]"),
        ({**BATCH, "seconds": None}, "seconds: "),
        ({key: value for key, value in BATCH.items() if key != "nodes"}, "nodes: "),
        ({**BATCH, "rows": -3}, "rows: "),
    ],
    ids=["torn", "text", "list", "null", "no nodes", "negative"],
)
def test_a_corrupt_line_is_left_out_and_named(folder: Path, line: object, complaint: str) -> None:
    write(folder, BATCH, line, {**BATCH, "batch_id": 9, "ended_at_s": 104.0})
    recording = read_recording(folder, ["op"])
    assert [batch.batch_id for batch in recording.batches["op"]] == [7, 9]
    (said,) = recording.faults
    assert said.startswith(f"{folder / 'batches.jsonl'}, line 2: ")
    assert complaint in said


def test_bytes_that_are_no_text_are_a_corrupt_line(folder: Path) -> None:
    (folder / "batches.jsonl").write_bytes(b"\xff\xfe\x00\n" + json.dumps(BATCH).encode())
    (said,) = read_recording(folder, ["op"]).faults
    assert "line 1: " in said


@pytest.mark.parametrize(
    "spoil",
    [
        lambda decision: decision.pop("plan"),
        lambda decision: decision.update(at_s="soon"),
        lambda decision: decision["plan"].update(change={"add": [], "remove": []}),
        lambda decision: decision["analysis"]["reading"].update(throughput_rows_per_s=None),
    ],
    ids=["no plan", "no time", "empty change", "no throughput"],
)
def test_a_corrupt_decision_is_left_out_and_named(folder: Path, spoil) -> None:
    bad = overloaded()
    spoil(bad)
    write(folder, bad, {**overloaded(), "operator": "op"}, file="decisions.jsonl")
    recording = read_recording(folder, ["op"])
    assert len(recording.decisions) == 1
    assert [said.partition(": ")[0] for said in recording.faults] == [f"{folder / 'decisions.jsonl'}, line 1"]


def test_blank_lines_are_no_fault(folder: Path) -> None:
    write(folder, BATCH, "", "  ")
    assert read_recording(folder, ["op"]).faults == ()


def test_batches_of_several_operators_are_told_apart(folder: Path) -> None:
    write(folder, {**BATCH, "operator": "clean"}, {**BATCH, "operator": "sink", "rows": 9})
    batches = read_recording(folder, ["clean", "sink"]).batches
    assert [batch.rows for batch in batches["clean"]] == [50]
    assert [batch.rows for batch in batches["sink"]] == [9]


def test_with_several_operators_each_batch_must_name_its_own(folder: Path) -> None:
    with pytest.raises(InputError, match=r"several operators \(clean, sink\).* one has none"):
        read_recording(folder, ["clean", "sink"])


def test_a_record_of_another_operator_does_not_fit() -> None:
    with pytest.raises(
        InputError, match=r"is of operator 'nearest', but the settings describe op; .*--config"
    ):
        read_recording(DAY, ["op"])


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", ": expected a batch a line, got none"),
        ("nonsense\n", ", line 1: expected .*; no line holds a batch"),
    ],
    ids=["empty", "corrupt"],
)
def test_a_record_without_a_batch_is_refused(folder: Path, content: str, said: str) -> None:
    (folder / "batches.jsonl").write_text(content)
    with pytest.raises(InputError, match=rf"batches\.jsonl{said}"):
        read_recording(folder, ["op"])


def test_a_folder_without_batches_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"batches\.jsonl: No such file or directory; a record is a folder"):
        read_recording(tmp_path, ["op"])


def test_steps_are_at_the_recorded_decisions() -> None:
    recording = read_recording(DAY, ["nearest"])
    assert recording.instants_s(10.0) == tuple(decision.at_s for decision in recording.decisions)


def test_without_decisions_there_is_a_step_every_period(folder: Path) -> None:
    write(folder, *({**BATCH, "batch_id": index, "ended_at_s": 100.0 + 5 * index} for index in range(8)))
    # Batches end from 100 to 135 s.
    assert read_recording(folder, ["op"]).instants_s(10.0) == (100.0, 110.0, 120.0, 130.0)


def test_what_was_handed_on_and_what_single_replicas_did_is_read_back_as_it_was_written(folder: Path) -> None:
    line = overloaded()
    at_work = {"edge1": NodeReading(throughput_rows_per_s=310.5, cpu_share=0.93)}
    line["analysis"]["reading"] |= as_document({"output_rows_per_s": 155.25, "by_node": at_work})
    write(folder, {**BATCH, "output_rows": 20}, BATCH | {"ended_at_s": 102.0})
    write(folder, line, overloaded(), file="decisions.jsonl")
    recording = read_recording(folder, ["nearest"])
    assert recording.faults == ()
    assert [batch.output_rows for batch in recording.batches["nearest"]] == [20, None]
    newer, older = (each.seen for each in recording.decisions)
    assert isinstance(newer, OperatorReading)
    assert isinstance(older, OperatorReading)
    assert (newer.output_rows_per_s, newer.by_node) == (155.25, at_work)
    assert (older.output_rows_per_s, older.by_node) == (None, {}), (
        "a record of before there were such figures"
    )


def test_a_reading_is_written_and_read_back_without_loss(folder: Path) -> None:
    at_work = {"edge1": NodeReading(throughput_rows_per_s=310.5, cpu_share=0.93)}
    reading = replace(
        read_recording(DAY, ["nearest"]).decisions[5].seen, output_rows_per_s=155.25, by_node=at_work
    )
    line = overloaded()
    line["analysis"]["reading"] = {**as_document(reading), "batches": 3}
    write(folder, line, file="decisions.jsonl")
    assert read_recording(folder, ["nearest"]).decisions[0].seen == reading


@pytest.mark.parametrize(
    "change",
    [
        *({"ended_at_s": value} for value in (1e308, 4.2e9, -1.0, "soon", float("inf"), 10**400)),
        *({"seconds": value} for value in (1e308, 86400.0 * 32, float("inf"), None)),
        *({"trigger_s": value} for value in (5e-324, 1e-300, 86400.0 * 32, float("inf"))),
        *({"offered_rows_total": value} for value in (1e19, 1e308, float("inf"))),
        *({"backlog_rows": value} for value in (1e19, 1e308, float("inf"))),
        {"rows": 10**400},
    ],
    ids=str,
)
def test_a_batch_of_impossible_times_or_figures_is_left_out_and_named(folder: Path, change: dict) -> None:
    write(folder, BATCH, {**BATCH, "batch_id": 8, "ended_at_s": 102.0, **change})
    recording = read_recording(folder, ["op"])
    assert [batch.batch_id for batch in recording.batches["op"]] == [7]
    (said,) = recording.faults
    assert f"line 2: {next(iter(change))}: " in said
    assert len(said) < 400


def test_what_is_not_told_may_be_nan(folder: Path) -> None:
    write(
        folder, {**BATCH, "trigger_s": float("nan"), "backlog_rows": float("nan"), "offered_rows_total": None}
    )
    (batch,) = read_recording(folder, ["op"]).batches["op"]
    assert (batch.trigger_s, batch.backlog_rows, batch.offered_rows_total) == (None, None, None)


def test_a_run_of_more_than_a_month_is_refused_in_one_line(folder: Path) -> None:
    write(folder, BATCH, {**BATCH, "batch_id": 8, "ended_at_s": 100.0 + 31 * 86400})
    assert len(read_recording(folder, ["op"]).batches["op"]) == 2
    write(folder, BATCH, {**BATCH, "batch_id": 8, "ended_at_s": 101.0 + 31 * 86400})
    with pytest.raises(
        InputError, match=r"batches\.jsonl: expected a run of at most 31d, got 100\.0 to 2678501\.0 s"
    ):
        read_recording(folder, ["op"])
    write(folder, BATCH)
    late = {**overloaded(), "operator": "op"}
    write(folder, late, {**late, "at_s": 5.0}, file="decisions.jsonl")
    with pytest.raises(InputError, match=r"decisions\.jsonl: expected a run of at most 31d, got 5\.0 to "):
        read_recording(folder, ["op"])


@pytest.mark.parametrize(
    "spoil",
    [
        lambda decision: decision.update(at_s=1e308),
        lambda decision: decision.update(at_s=-5.0),
        lambda decision: decision["analysis"]["reading"].update(throughput_rows_per_s=1e300),
        lambda decision: decision["analysis"]["reading"].update(trigger_s=1e-300),
        lambda decision: decision["analysis"]["reading"].update(backlog_rows=10**400),
    ],
    ids=["late", "early", "fast", "no trigger", "long"],
)
def test_a_decision_of_impossible_times_or_figures_is_left_out(folder: Path, spoil) -> None:
    bad = overloaded()
    spoil(bad)
    write(folder, bad, {**overloaded(), "operator": "op"}, file="decisions.jsonl")
    recording = read_recording(folder, ["op"])
    assert (len(recording.decisions), len(recording.faults)) == (1, 1)


def test_a_record_in_a_thousand_pieces_is_refused(folder: Path) -> None:
    write(folder, BATCH, *["x"] * 1001)
    with pytest.raises(
        InputError, match=r"batches\.jsonl: expected a record, got more than 1000 lines that are none"
    ):
        read_recording(folder, ["op"])


def test_a_line_without_end_is_not_read_to_its_end(folder: Path) -> None:
    write(folder, BATCH, "[" * (5 << 20))
    with pytest.raises(InputError, match=r"line 2: expected at most 500000 lines of at most 4194304 bytes"):
        read_recording(folder, ["op"])


def test_too_many_steps_for_one_replay_are_refused(folder: Path) -> None:
    # A second each: 30 days have 2,592,000 of them.
    write(folder, BATCH, {**BATCH, "batch_id": 8, "ended_at_s": 100.0 + 30 * 86400})
    recording = read_recording(folder, ["op"])
    assert len(recording.instants_s(60.0)) == 43_201
    with pytest.raises(
        InputError, match=r"expected a record of at most 100000 periods of 1s, got 2592000; choose"
    ):
        recording.instants_s(1.0)
