"""Retention of a source: rows that nobody read in time are dropped, and what the source emits is never older."""

from dataclasses import replace

import pytest
from flink_scenes import PLAIN, alone, plant
from simulated_orders import order

from testbed.simulator.scene import NodeFailure


def test_rows_that_wait_longer_than_the_retention_are_lost() -> None:
    # 100 rows/s, two replicas of 100 rows/s each; a change stops the job from 300 s to 420 s. At 420 s the rows offered
    # before 360 s are dropped: 60 s of 100 rows/s. Then three replicas read 300 rows/s, so nothing waits longer again.
    flink = plant(alone([100.0] * 20, ("n0", "n1"), retention_s={"op": 60.0}))
    flink.advance(300.0)
    order(flink, "op", add=("n2",))
    flink.advance(1300.0)
    tally = flink.tally("op")
    assert tally.lost_rows == 6000
    assert tally.processed_rows == tally.offered_rows - 6000 == 114_000
    lost = [completion for completion in flink.completions() if completion.lost]
    assert sum(completion.rows for completion in lost) == 6000
    assert (lost[0].offered_from_s, lost[-1].offered_until_s) == pytest.approx((300.0, 360.0), abs=0.02)
    assert sum(batch.output_rows or 0 for batch in flink.batches("op")) <= tally.processed_rows
    assert all((batch.backlog_rows or 0) >= 0 and batch.rows >= 0 for batch in flink.batches("op"))


def test_an_overloaded_source_emits_rows_of_the_age_of_its_retention() -> None:
    # 150 rows/s for 100 rows/s of capacity. The queue grows by 50 rows/s, so its oldest row is 60 s old once
    # 60 s of 150 rows/s wait, after 180 s; from then on 50 rows/s are lost: 220 s until 400 s, up to a tick of 10 s.
    flink = plant(alone([150.0] * 20, retention_s={"op": 60.0}))
    flink.advance(400.0)
    tally = flink.tally("op")
    assert tally.processed_rows == 400 * 100
    assert tally.lost_rows == pytest.approx(220 * 50, abs=10 * 150)
    # A tick begins with a row 60 s old and reads 1,000 rows; the last was offered 6.7 s later: 60 + 10 - 6.7.
    assert tally.emitted_lag_s == pytest.approx(60 + 10 - 1000 / 150, abs=0.1)


def test_rows_processed_before_a_failure_are_not_lost() -> None:
    # The only node fails at 345 s. The rows since the checkpoint of 340 s would be processed again, but are dropped by
    # then; they reached the sink. Lost are the 100 rows/s from 340 s (the end of the last tick, in which the node
    # failed) until 60 s before the job is up again: at 700 s, and 120 s later.
    failure = NodeFailure(node="n0", from_s=340.0, until_s=700.0)
    physics = replace(PLAIN, checkpoint_interval_s=100.0, failure_detection_s=0.0)
    flink = plant(alone([100.0] * 20, retention_s={"op": 60.0}, failures=(failure,)), physics)
    flink.advance(1300.0)
    tally = flink.tally("op")
    assert tally.lost_rows == (700 + 120 - 60 - 340) * 100
    reached = sum(completion.rows for completion in flink.completions() if not completion.lost)
    assert reached == tally.processed_rows == tally.offered_rows - tally.lost_rows


def test_a_stopped_or_idle_source_emits_nothing() -> None:
    flink = plant(alone([100.0, 100.0, 0.0, 100.0] + [100.0] * 6, ("n0", "n1")))
    ages = []
    for at_s in (60.0, 150.0, 240.0):
        flink.advance(at_s)
        ages.append(flink.tally("op").emitted_lag_s)
    assert ages == [pytest.approx(0.0, abs=0.02), None, pytest.approx(0.0, abs=0.02)]
    order(flink, "op", add=("n2",))
    flink.advance(300.0)
    assert flink.tally("op").emitted_lag_s is None
    # 120 s of 100 rows/s wait at 360 s. The first tick reads 3,000 rows, 30 s of them: those offered until 270 s.
    flink.advance(370.0)
    assert flink.tally("op").emitted_lag_s == pytest.approx(100.0, abs=0.02)
