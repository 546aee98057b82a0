"""The lines that a demo prints while it runs."""

import io
from dataclasses import replace

import pytest
from edge import reading
from rich.console import Console

from gesscale.model.decision import Analysis, Decision, Outcome, OutcomeStatus, Plan, Reason, Verdict
from testbed.live.steps import WIDTH, StepPrinter, step_line

T0_S = 1000.0
#: 07:33 on a day of 240 s from midnight.
AT_S = T0_S + (7 * 60 + 33) / 1440 * 240


def decision(at_s=AT_S, *, before=("hub",), after=("hub",), status=OutcomeStatus.ORDERED, detail="", rate=620.0):
    added, removed = tuple(sorted({*after} - {*before})), tuple(sorted({*before} - {*after}))
    acted = status is OutcomeStatus.ORDERED
    return Decision(
        at_s=at_s,
        operator="nearest",
        policy="gesscale",
        analysis=Analysis(
            operator="nearest",
            verdict=Verdict.MORE,
            reason=Reason.OVERLOADED,
            reading=replace(reading(before), batches=(), input_rows_per_s=rate, backlog_rows=0.0),
        ),
        plan=Plan(operator="nearest", reason=Reason.OVERLOADED, before=before, placement=after, detail=detail),
        outcome=Outcome(
            status=status, added=added if acted else (), removed=removed if acted else (), detail="no such node"
        ),
    )


def test_a_change_is_one_line():
    line = step_line(
        decision(after=("edge2", "edge3", "hub"), detail="874 expected; 1 carries 386; 900 wait"), "07:33  "
    )
    assert line == "07:33    620 rows/s  1 -> 3 replicas (+edge2 +edge3)  874 expected; 1 carries 386"


@pytest.mark.parametrize("before", [("hub",), tuple(f"edge{number}" for number in range(8))])
def test_no_line_is_too_long(before):
    made = decision(before=before, after=("hub", "near"), detail="many words " * 30)
    assert len(step_line(made, "07:33  nearest   ")) <= WIDTH
    failed = decision(before=before, after=("hub", "near"), status=OutcomeStatus.FAILED)
    assert len(step_line(failed, "07:33  ")) <= WIDTH


def test_a_long_line_loses_its_noun_before_its_end():
    after = ("edge2", "edge3", "edge4", "hub")
    line = step_line(decision(after=after, detail="1313 rows/s expected; 1 replica carries 386"), "08:01  ")
    assert line == "08:01    620 rows/s  1 -> 4 (+edge2 +edge3 +edge4)  1313 rows/s expected; 1 replica carries 386"


def test_only_a_backlog_of_more_than_a_second_is_printed():
    steady = decision(status=OutcomeStatus.NOTHING_TO_DO, rate=620.0)
    late = replace(steady.analysis, reading=replace(steady.analysis.reading, backlog_rows=700.0))
    assert "700" not in step_line(steady, "")
    assert "700" in step_line(replace(steady, analysis=late), "")


def printed(*decisions, verbose=False):
    out = io.StringIO()
    printer = StepPrinter(Console(file=out, soft_wrap=True), T0_S, 240.0, 0.0, verbose=verbose)
    for each in decisions:
        printer.print(each)
    return out.getvalue().splitlines()


def test_steps_without_a_change_get_a_line_an_hour():
    steady = [decision(T0_S + 3 * step, status=OutcomeStatus.NOTHING_TO_DO) for step in range(10)]  # 30 s: three hours
    changed = decision(T0_S + 5, after=("hub", "near"))
    lines = printed(*steady[:2], changed, *steady[2:])
    assert [line[:5] for line in lines] == ["00:00", "00:30", "01:30", "02:42"]
    assert len(printed(*steady, verbose=True)) == len(steady)
    assert "+near" in lines[1]


def test_a_failed_order_is_printed():
    failed = decision(T0_S + 1, after=("hub", "near"), status=OutcomeStatus.FAILED)
    (_, line) = printed(decision(T0_S), failed)
    assert "no such node" in line
