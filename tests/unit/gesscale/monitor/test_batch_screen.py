"""Screening of batch records: which are valid, and which problems are reported."""

from dataclasses import replace

import pytest

from gesscale.model.observation import Batch
from gesscale.monitor.batch_screen import BatchScreen, ScreenedBatches, screen_batches

NOW_S = 1000.0


def batch(batch_id: int, ended_at_s: float, **changes: object) -> Batch:
    return replace(Batch(batch_id=batch_id, ended_at_s=ended_at_s, rows=10, seconds=1.0, nodes=("a",)), **changes)


@pytest.mark.parametrize(
    ("changes", "code", "fields"),
    [
        ({"rows": float("nan")}, "batch-figure-invalid", {"figure": "rows"}),
        ({"rows": -5}, "batch-figure-invalid", {"figure": "rows", "got": -5}),
        ({"seconds": float("inf")}, "batch-figure-invalid", {"figure": "seconds"}),
        ({"seconds": 0.0}, "batch-duration-invalid", {"got": 0.0}),
        ({"seconds": 1e300}, "batch-duration-invalid", {"got": 1e300}),
        ({"ended_at_s": float("nan")}, "batch-figure-invalid", {"figure": "ended_at_s"}),
        ({"ended_at_s": NOW_S + 60}, "batch-in-future", {"ahead_s": 60.0}),
        ({"ended_at_s": 989.0}, "batch-misordered", {"before": 1}),
        ({"batch_id": 1}, "batch-number-repeated", {}),
    ],
)
def test_invalid_batches_are_rejected(changes: dict[str, object], code: str, fields: dict[str, object]) -> None:
    first, last = batch(1, 990.0), batch(3, 994.0)
    kept, problems, newest = screen_batches((first, replace(batch(2, 992.0), **changes), last), NOW_S)
    assert kept == (first, last)
    assert [problem.code for problem in problems] == [code, "batches-not-seen"]
    assert fields.items() <= problems[0].fields.items()
    assert problems[1].fields == {"count": 1, "batch_id": 3}
    assert newest is None
    assert str(problems[0])


@pytest.mark.parametrize(
    "name", ["trigger_s", "cap_rows", "offered_rows_total", "backlog_rows", "state_rows", "state_bytes"]
)
@pytest.mark.parametrize("value", [-1, float("nan"), float("inf")])
def test_an_invalid_optional_figure_becomes_unknown(name: str, value: float) -> None:
    kept, problems, _ = screen_batches((batch(1, 990.0, **{name: value}),), NOW_S)
    assert getattr(kept[0], name) is None
    assert [(problem.code, problem.fields["figure"]) for problem in problems] == [("batch-figure-ignored", name)]


def test_a_lower_number_that_ends_later_is_a_restarted_query() -> None:
    again = (batch(7, 990.0), batch(0, 995.0))
    assert screen_batches(again, NOW_S) == ScreenedBatches(again)


def test_a_reused_screen_reports_the_same_as_a_new_one() -> None:
    record = [batch(number, 2.0 * number, backlog_rows=-1.0 if number % 7 == 0 else 5.0) for number in range(1, 300)]
    record[50] = replace(record[50], rows=-5)
    record[60] = replace(record[60], ended_at_s=record[59].ended_at_s)
    record[70] = replace(record[70], ended_at_s=record[70].ended_at_s + 600.0)  # in the future, and then it is not
    kept_screen = BatchScreen()
    for end in range(1, len(record) + 1):
        window, now_s = record[max(0, end - 18) : end], 2.0 * end
        assert kept_screen(window, now_s) == screen_batches(window, now_s)
