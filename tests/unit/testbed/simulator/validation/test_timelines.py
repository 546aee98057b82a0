"""Distances between trajectories made by hand."""

from dataclasses import replace

import pytest
from made_runs import OPERATOR, batch, run_of

from gesscale.model.decision import Change
from gesscale.model.observation import Batch
from testbed.simulator.validation.comparison import between_runs, timeline_errors, timeline_of
from testbed.simulator.validation.recorded_run import RecordedOrder, starts

STEADY = [batch(number, 2.0 * number, backlog_rows=1000.0) for number in range(1, 121)]
"""Until 240 s: 100 rows every 2 s, each batch takes 1 s, 1000 rows wait."""


def moved(by_s: float) -> list[Batch]:
    return [replace(each, ended_at_s=each.ended_at_s + by_s) for each in STEADY]


def test_a_late_run_delays_every_row_at_the_same_rate() -> None:
    errors = timeline_errors(STEADY, moved(by_s=0.75))
    assert errors.row_delay_s == pytest.approx(0.75)
    assert errors.throughput_pct == pytest.approx(0.0, abs=1e-9)
    assert errors.backlog_pct == 0.0


def test_ten_per_cent_more_rows_are_ten_per_cent_more_throughput() -> None:
    more = [replace(each, rows=110) for each in STEADY]
    errors = timeline_errors(STEADY, more)
    assert errors.throughput_pct == pytest.approx(10.0)
    assert errors.throughput_minute_pct == pytest.approx(10.0)


def test_totals_exclude_the_start_up() -> None:
    timeline = timeline_of(STEADY, [], OPERATOR)
    # The seconds 30 to 239: 209 s of 50 rows/s.
    assert timeline.processed_rows == pytest.approx(209 * 50)
    assert (timeline.batch_time_s, timeline.backlog_rows, timeline.backlog_peak_rows) == (1.0, 1000.0, 1000.0)
    assert timeline.serving_s is None


def test_a_replica_that_joins_during_a_batch_serves_from_the_next() -> None:
    batches = [
        batch(1, 10.0),
        batch(2, 13.0, nodes=("n0", "n1")),  # with the cap of one replica
        batch(3, 19.0, nodes=("n0", "n1"), cap_rows=2000),
    ]
    (start,) = starts(batches, [RecordedOrder(at_s=11.5, change=Change(add=("n1",)))], OPERATOR)
    assert (start.named.batch_id, start.served.batch_id, start.serving_s) == (2, 3, 7.5)


def test_runs_are_compared_in_pairs_with_aligned_loads() -> None:
    # b equals a, half a minute later, including its load: no difference. Batches of c begin at the same times as those
    # of a, with the same rows offered, and take 1 s longer.
    longer = [replace(each, ended_at_s=each.ended_at_s + 1.0, seconds=2.0) for each in STEADY]
    named = {"a": STEADY, "b": moved(30.0), "c": longer}
    apart = between_runs([replace(run_of(batches), name=name) for name, batches in named.items()])
    assert {pair: round(each.row_delay_s, 6) for pair, each in apart.items()} == {"a, b": 0.0, "a, c": 1.0, "b, c": 1.0}
