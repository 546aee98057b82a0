"""What is believed of batch records and what is not."""

from dataclasses import replace

import pytest

from gesscale.model.observation import Batch
from gesscale.monitor.screen import Screen, Screened, screen

NOW_S = 1000.0


def batch(batch_id: int, ended_at_s: float, **changes: object) -> Batch:
    return replace(Batch(batch_id=batch_id, ended_at_s=ended_at_s, rows=10, seconds=1.0, nodes=("a",)), **changes)


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"rows": float("nan")}, "rows is nan"),
        ({"rows": -5}, "rows is -5"),
        ({"seconds": float("inf")}, "seconds is inf"),
        ({"seconds": 0.0}, "took 0 s"),
        ({"seconds": 1e300}, "took 1e+300 s"),
        ({"ended_at_s": float("nan")}, "ended_at_s is nan"),
        ({"ended_at_s": NOW_S + 60}, "60.0 s in the future"),
        ({"ended_at_s": 989.0}, "does not end after batch 1"),
        ({"batch_id": 1}, "came twice"),
    ],
)
def test_a_nonsensical_batch_is_dropped_and_said(changes: dict[str, object], complaint: str) -> None:
    first, last = batch(1, 990.0), batch(3, 994.0)
    kept, faults, _ = screen((first, replace(batch(2, 992.0), **changes), last), NOW_S)
    assert kept == (first, last)
    assert complaint in faults[0]
    assert faults[1] == "1 batches before batch 3 were not seen"


@pytest.mark.parametrize(
    "name", ["trigger_s", "cap_rows", "offered_rows_total", "backlog_rows", "state_rows", "state_bytes"]
)
@pytest.mark.parametrize("value", [-1, float("nan"), float("inf")])
def test_an_optional_figure_that_cannot_be_becomes_unknown(name: str, value: float) -> None:
    kept, faults, _ = screen((batch(1, 990.0, **{name: value}),), NOW_S)
    assert getattr(kept[0], name) is None
    assert faults == (f"batch 1: {name} is {value} and counts as unknown",)


def test_a_lower_number_that_ends_later_is_a_query_that_began_again() -> None:
    again = (batch(7, 990.0), batch(0, 995.0))
    assert screen(again, NOW_S) == Screened(again)


def test_a_screen_that_is_kept_says_in_each_step_what_a_new_one_says() -> None:
    record = [batch(number, 2.0 * number, backlog_rows=-1.0 if number % 7 == 0 else 5.0) for number in range(1, 300)]
    record[50] = replace(record[50], rows=-5)
    record[60] = replace(record[60], ended_at_s=record[59].ended_at_s)
    record[70] = replace(record[70], ended_at_s=record[70].ended_at_s + 600.0)  # in the future, and then it is not
    kept_screen = Screen()
    for end in range(1, len(record) + 1):
        window, now_s = record[max(0, end - 18) : end], 2.0 * end
        assert kept_screen(window, now_s) == screen(window, now_s)
