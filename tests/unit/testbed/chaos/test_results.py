"""The verdict on records of changes."""

from dataclasses import replace
from pathlib import Path

import pytest
from recorded_steps import decided
from refusals import refused

from gesscale.model.decision import MapStatus
from testbed.chaos.controller import step_line, unsafe_removals
from testbed.chaos.plan import ChaosFault
from testbed.chaos.results import ChangeRecord, Tallies, judge, read_records, record_line, tables_of

GOOD = ChangeRecord(
    number=0,
    part=0,
    fault=ChaosFault.NONE,
    target="",
    before=("a", "b"),
    placement=("b", "c"),
    at_s=1.0,
    fault_s=2.0,
    converged_s=4.0,
    rows=100,
    rows_lost=0,
    rows_duplicated=0,
)


def test_rows_are_summed_by_part_and_failed_batches_are_allowed() -> None:
    failed = Tallies(failed_batches=1, lost_tasks=2)
    records = [GOOD, replace(GOOD, number=1, rows=250, tallies=failed), replace(GOOD, number=2, part=1, rows=30)]
    verdict = judge(records)
    assert verdict.kept
    # 250 of part 0, 30 of part 1; a leaves in each change
    assert (verdict.changes, verdict.rows, verdict.removals) == (3, 280, 3)
    assert verdict.tallies == failed


@pytest.mark.parametrize(
    "fault",
    [
        {"rows_lost": 1},  # though it is there again after the next change
        {"rows_duplicated": 1},
        {"converged_s": None},
        {"tallies": Tallies(unsafe_removals=1)},
        {"tallies": Tallies(controller_exits=1)},
    ],
)
def test_a_single_violation_breaks_the_verdict(fault: dict[str, object]) -> None:
    assert not judge([GOOD], ["process 7 (executor)"]).kept
    assert not judge([GOOD, replace(GOOD, number=1, **fault), replace(GOOD, number=2)]).kept  # type: ignore[arg-type]


def test_an_incomplete_last_record_is_ignored(tmp_path: Path) -> None:
    file = tmp_path / "changes.jsonl"
    assert read_records(file) == ()
    file.write_text(record_line(GOOD) + record_line(GOOD)[:20])
    assert read_records(file) == (GOOD,)
    file.write_text("{}\n")
    with refused("chaos-record-invalid", source=str(file)):
        read_records(file)


def test_the_table_has_a_row_for_each_fault() -> None:
    killed = replace(GOOD, fault=ChaosFault.EXECUTOR_KILLED, converged_s=8.0)
    records = [killed, replace(killed, converged_s=10.0), replace(GOOD, converged_s=None)]
    _, by_fault = tables_of("t", records, judge(records))
    none, executor_killed = by_fault.rows
    assert none[:3] == ("none", "1", "–")
    assert executor_killed == ("executor-killed", "2", "9.0", "10.0", "2", "0", "0")
    assert "| executor-killed | 2 | 9.0 |" in by_fault.markdown()


def test_only_removals_in_untrusted_steps_count() -> None:
    outcome = replace(decided().outcome, removed=("b", "c"))
    shrunk = replace(decided(), outcome=outcome)
    assert unsafe_removals(step_line(shrunk)) == 0
    lines = step_line(shrunk) + step_line(replace(shrunk, latency_map=MapStatus(stale="old")))
    assert unsafe_removals(lines + lines[:10]) == 2
