"""Nodes that fail and links that slow down."""

import math
from dataclasses import replace

import pytest
from flink_scenes import PLAIN, alone, plant, seen

from testbed.simulator.scene import LinkSlowdown, NodeFailure

DETECTED = replace(PLAIN, failure_detection_s=50.0, restart_s=120.0)


def test_a_lost_node_stops_the_job_until_it_is_noticed_and_restarted() -> None:
    made = alone([150.0] * 20, ("n0", "n1"), failures=(NodeFailure(node="n1", from_s=300, until_s=900),))
    flink = plant(made, DETECTED)
    flink.advance(300.0)
    assert flink.state().placements["op"] == ("n0",)
    assert flink.state().nodes["n1"].problem
    flink.advance(470.0)
    assert flink.tally("op").processed_rows == 300 * 150
    assert flink.tally("op").serving_replicas == 1  # 300 + 50 + 120 s
    flink.advance(480.0)
    assert flink.batches("op")[-1].nodes == ("n0",)


def test_rows_after_the_last_checkpoint_are_repeated_but_counted_once() -> None:
    made = alone([90.0] * 20, ("n0", "n1"), failures=(NodeFailure(node="n1", from_s=350, until_s=9000),))
    physics = replace(DETECTED, checkpoint_interval_s=100.0, failure_detection_s=0.0)
    flink = plant(made, physics)
    flink.advance(350.0)
    before = flink.tally("op")
    assert before.processed_rows == 350 * 90
    # The last checkpoint was at 300 s: 50 x 90 rows are done again, at 100 rows/s, in 45 s from 470 s on.
    flink.advance(510.0)
    assert flink.tally("op").processed_rows == before.processed_rows
    assert flink.tally("op").work_s - before.work_s == pytest.approx(40.0)
    assert seen(flink, 510.0).saturated_share == 1.0
    flink.advance(520.0)
    assert flink.tally("op").processed_rows == pytest.approx(before.processed_rows + 500)
    assert sum(completion.rows for completion in flink.completions()) == flink.tally("op").processed_rows


def test_an_operator_that_lost_all_its_nodes_returns_with_one() -> None:
    made = alone([50.0] * 40, ("n1",), failures=(NodeFailure(node="n1", from_s=300, until_s=600),))
    flink = plant(made, DETECTED)
    flink.advance(500.0)
    assert "op" not in flink.state().placements
    assert (flink.tally("op").supply_replicas, flink.tally("op").serving_replicas) == (0, 0)
    flink.advance(600.0)
    assert flink.tally("op").supply_replicas == 1
    flink.advance(730.0)  # 600 + 120, and a tick
    assert flink.state().placements["op"] == ("n1",)
    assert flink.tally("op").processed_rows > 300 * 50
    flink.advance(2400.0)
    assert flink.tally("op").processed_rows == flink.tally("op").offered_rows


def test_a_slow_link_slows_the_work_but_not_the_true_mst() -> None:
    made = alone(
        [150.0] * 20, ("n1",), slowdowns=(LinkSlowdown(one="n0", other="n1", from_s=300, until_s=600, added_ms=300),)
    )
    flink = plant(made)
    rows = []
    for end_s in (300.0, 600.0, 900.0):
        flink.advance(end_s)
        rows.append(flink.batches("op")[-1].rows)
    # 10 credits of 10 ms against two round trips of 300 ms: 10 / 0.6 rows/s at most.
    assert rows[0] == rows[2] == 1000
    assert rows[1] == pytest.approx(10 / 0.6 * 10, rel=0.05)
    assert math.isclose(flink.mst_rows_per_s("op", ("n1",)), 100.0)
