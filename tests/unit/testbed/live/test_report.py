"""Checks of rows, figures of a run, and the summary."""

import io
import json
from dataclasses import replace
from pathlib import Path

import pytest
from model_summaries import both_laws
from page_world import growing
from recorded_steps import decided, overloaded
from rich.console import Console

from gesscale.model.decision import Decision
from gesscale.model.model_text import model_lines
from gesscale.model.observation import Batch, RowAge
from testbed.live.record import DayResult, Record
from testbed.live.report import check_row_age, check_rows, operator_figures, row_counts, write_report
from testbed.pipeline.sink import SinkCount

#: The summary at the end of a demo: the golden text of its wording.
SUMMARY = """\
kept    each row once in the output of clean: 100 sent, 10 invalid, 90 found, 0 duplicated, 0 missing
BROKEN  each row once in the sink: 100 sent, 10 invalid, 89 found, 0 duplicated, 1 missing
clean: 100 rows in 2 batches; replicas: mean 1.00, max 1; longest gap 2.0 s; max backlog 0 rows
nearest: 0 rows in 0 batches; replicas: mean 0.00, max 0; longest gap 0.0 s; max backlog 0 rows
{model}
report                 {folder}/summary.txt, decisions.jsonl, batches.jsonl
explain the decisions  gesscale explain
"""


def count(rows: int, distinct: int, *, expected: int = 90) -> SinkCount:
    return SinkCount(rows=rows, distinct=distinct, duplicated=rows - distinct, missing=expected - distinct)


def day(topic: SinkCount, sink: SinkCount) -> DayResult:
    return DayResult(records={}, produced=100, broken=10, handed_on={"clean": topic}, sink=sink)


@pytest.mark.parametrize(
    ("topic", "sink", "kept"),
    [
        (count(90, 90), count(90, 90), [True, True]),
        (count(91, 90), count(90, 90), [False, True]),  # written twice, and read once
        (count(89, 89), count(89, 89), [False, False]),
        (count(90, 90), count(90, 89), [True, False]),  # one lost and another duplicated
        (count(100, 100), count(100, 100), [False, False]),  # the broken ones went through
    ],
)
def test_each_output_has_every_valid_row_once(topic: SinkCount, sink: SinkCount, kept: list[bool]) -> None:
    checks = check_rows(day(topic, sink))
    assert [check.kept for check in checks] == kept


def batch(number: int, ended_at_s: float, nodes: tuple[str, ...], backlog_rows: float | None) -> Batch:
    return Batch(batch_id=number, ended_at_s=ended_at_s, rows=50, seconds=1.0, nodes=nodes, backlog_rows=backlog_rows)


def test_replicas_are_averaged_over_time() -> None:
    record = Record(began_at_s=1000.0)
    hub, both = ("hub",), ("hub", "near")
    record.add_batches((batch(0, 1000, hub, None), batch(1, 1002, hub, 8.0), batch(2, 1008, both, 30.0)))
    figures = operator_figures(record)
    # one replica for 2 s, two for 6 s: (2 + 12) / 8
    assert figures["replicas_mean"] == pytest.approx(1.75)
    assert figures["longest_gap_s"] == pytest.approx(6.0)
    assert (figures["rows"], figures["replicas_max"], figures["backlog_rows_max"]) == (150, 2, 30.0)


def test_a_run_without_batches_has_figures_and_a_picture(tmp_path: Path) -> None:
    seen, missing_readings = Record(began_at_s=1000.0), Record(began_at_s=1000.0)
    seen.add(
        (decided(999.0, seen=False, model=both_laws(fitted=False)), decided(1000.0, seen=False, model=both_laws()))
    )
    seen.add((decided(1001.0, seen=False),))  # a step without metrics has no model
    seen.add_batches((batch(0, 1000, ("hub",), 0.0), replace(batch(1, 1002, ("hub",), 0.0), offered_rows_total=9.0)))
    assert {value for value in operator_figures(missing_readings).values() if isinstance(value, int | float)} == {0}
    records = {"clean": seen, "nearest": missing_readings}
    result = DayResult(records=records, produced=100, broken=10, handed_on={"clean": count(90, 90)}, sink=count(89, 89))
    shown = io.StringIO()
    kept = write_report(
        result.records,
        row_counts(result),
        check_rows(result),
        tmp_path,
        Console(file=shown, width=200),
        more={"policy": "ds2", "error_ms": 0.25},
        hints={"explain the decisions": "gesscale explain"},
    )
    assert not kept
    model = "\n".join(f"model of clean: {line}" for line in model_lines(both_laws()))
    assert shown.getvalue() == SUMMARY.format(folder=tmp_path, model=model)
    text = (tmp_path / "summary.txt").read_text()
    assert "error_ms" in text
    # Law, whether it decides, its held-out error, and a parameter with its interval.
    assert "eq1 no 9 gamma 3 rows/s per ms (2.7 to 3.3)" in " ".join(text.replace("│", " ").split())
    summary = json.loads((tmp_path / "summary.json").read_text())
    assert [each["kept"] for each in summary["promises"]] == [True, False]
    assert summary["operators"].keys() == records.keys()
    assert summary["rows"]["produced"] == 100
    assert list(summary["operators"]) == ["clean", "nearest"]
    assert summary["operators"]["clean"]["model"]["law"] == "batch-time"
    assert summary["operators"]["nearest"]["model"] is None


def aged(row_age_s: float | None, late_s: float) -> Decision:
    return replace(decided(1000.0), row_age=RowAge(objective_s=20.0, seconds=row_age_s, late_s=late_s))


@pytest.mark.parametrize(
    ("decisions", "kept"),
    [
        ([aged(4.0, 0.0), aged(25.0, 9.0), aged(None, 9.0), aged(2.0, 10.0)], True),
        ([aged(45.0, 11.0), aged(2.0, 11.0)], False),  # late for too long
        ([aged(4.0, 0.0), aged(21.0, 1.0)], False),  # late at the end
        ([aged(None, 0.0)], False),  # nobody knows
        ([], False),
    ],
)
def test_rows_are_in_time_if_they_were_seldom_late(decisions: list[Decision], kept: bool) -> None:
    record = Record(began_at_s=1000.0)
    record.add(tuple(decisions))
    assert check_row_age(record, allowed_s=10.0).kept is kept


def test_the_changes_have_their_delay_and_reason_uncut(tmp_path: Path) -> None:
    record = Record(began_at_s=1000.0)
    record.add((overloaded(1010.0), growing(1020.0)))
    record.add_batches((batch(0, 1000, ("hub",), 0.0),))
    result = DayResult(records={"op": record}, produced=50, sink=count(50, 50, expected=50))
    write_report(result.records, row_counts(result), [], tmp_path, Console(file=io.StringIO()), more={})
    lines = [line.split("\u2502") for line in (tmp_path / "summary.txt").read_text().splitlines() if "+mid" in line]
    # NDmax of the new placement: unknown, then 50 ms
    assert [(cells[4].strip(), cells[-2].strip()) for cells in lines] == [("–", "Overloaded"), ("50", "Overloaded")]
