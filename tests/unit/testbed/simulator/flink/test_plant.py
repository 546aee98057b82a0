"""The plant tick by tick, and what Monitor makes of it."""

from dataclasses import replace
from itertools import pairwise

import pytest
from flink_scenes import PLAIN, alone, chain, plant, seen
from simulated_orders import order

from gesscale.errors import ClusterError, InputError
from gesscale.model.decision import OutcomeStatus
from gesscale.model.order import Order
from gesscale.plan.settling import settled
from testbed.simulator.flink.physics import read_physics
from testbed.simulator.flink.plant import FlinkPlant

NOISY = replace(PLAIN, noise=0.05, restart_spread=0.2, cold_share=0.5)


# One operator


def test_an_operator_at_its_limit_reads_saturated_and_its_warm_rate_is_its_mst() -> None:
    flink = plant(alone([150.0] * 5))
    flink.advance(240.0)
    reading = seen(flink, 240.0)
    assert reading.saturated_share == 1.0
    assert reading.busy_share == 1.0
    assert reading.warm_rows_per_s == pytest.approx(flink.mst_rows_per_s("op", ("n0",))) == 100.0
    assert reading.input_rows_per_s == pytest.approx(150.0)
    assert reading.backlog_rows == pytest.approx(240 * 50)  # 150 offered, 100 processed


def test_half_load_reads_half_busy_and_not_saturated() -> None:
    flink = plant(alone([50.0] * 5))
    flink.advance(240.0)
    reading = seen(flink, 240.0)
    assert reading.saturated_share == 0.0
    assert reading.busy_share == pytest.approx(0.5)
    assert reading.throughput_rows_per_s == reading.input_rows_per_s == pytest.approx(50.0)
    assert reading.backlog_rows == 0.0
    # Ticks that are not full tell the MST as well.
    assert reading.warm_rows_per_s == pytest.approx(100.0)


def test_an_idle_operator_goes_on_reporting() -> None:
    flink = plant(alone([50.0, 0.0, 0.0, 0.0, 50.0]))
    flink.advance(230.0)
    reading = seen(flink, 230.0)
    assert reading.throughput_rows_per_s == reading.input_rows_per_s == 0.0
    assert reading.busy_share < 0.001
    assert flink.last_progress_at_s("op", 230.0) == 230.0
    assert flink.last_progress_at_s("op", 225.0) == 220.0


def test_input_rate_is_right_while_the_busy_part_of_the_ticks_changes() -> None:
    flink = plant(alone([20.0, 90.0, 90.0]))
    flink.advance(180.0)
    assert seen(flink, 180.0).input_rows_per_s == pytest.approx(90.0, rel=0.01)


def test_waiting_for_the_network_is_not_work() -> None:
    # Alone and 300 ms away: what is not work is waiting, and a busy second has both.
    physics = replace(PLAIN, credit_round_trips=2.0)
    flink = plant(alone([1000.0] * 2, ("n1",), rtt_ms=300.0), physics)
    flink.advance(100.0)
    tally = flink.tally("op")
    assert tally.work_s == pytest.approx(tally.processed_rows * 0.01)
    assert tally.work_s + tally.waiting_s == pytest.approx(100.0)
    assert tally.waiting_s > 50.0  # 10 credits of 10 ms against 600 ms


def test_rows_come_through_evenly_and_with_their_latencies() -> None:
    flink = plant(alone([50.0] * 3))
    flink.advance(20.0)
    done = flink.completions()
    assert [completion.rows for completion in done] == [500.0, 500.0]
    # A row is there once it is whole: the first of each tick after 1 / 50 s.
    assert [c.offered_from_s for c in done] == pytest.approx([0.02, 10.02])
    assert [c.offered_until_s for c in done] == pytest.approx([10.0, 20.0])
    assert [(c.arrived_from_s, c.at_s) for c in done] == [(0.0, 10.0), (10.0, 20.0)]
    assert flink.completions() == []


# Restarts


def test_a_change_stops_the_job_for_the_restart_and_pays_for_it() -> None:
    flink = plant(alone([150.0] * 20))
    flink.advance(300.0)
    order(flink, "op", add=("n1",))
    assert flink.state().placements["op"] == ("n0", "n1")
    during = flink.tally("op")
    assert (during.supply_replicas, during.serving_replicas) == (2, 0)
    flink.advance(420.0)
    after = flink.tally("op")
    assert after.processed_rows == during.processed_rows == 300 * 100
    assert after.replica_seconds == pytest.approx(300 + 2 * 120)
    assert after.serving_replicas == 2
    flink.advance(480.0)
    assert flink.tally("op").processed_rows == 300 * 100 + 60 * 200


def test_the_downtime_that_the_loop_measures_is_about_the_restart() -> None:
    flink = plant(alone([150.0] * 20))
    flink.advance(300.0)
    order(flink, "op", add=("n1",))
    flink.advance(480.0)
    pending = Order(at_s=300.0, placement=("n0", "n1"))
    done = settled(pending, seen(flink, 480.0), 300.0)
    assert done is not None
    # From the last tick before to the end of the first one after: the restart and a tick.
    assert done.downtime_s == pytest.approx(130.0)


def test_the_first_ticks_after_a_restart_are_no_evidence_and_the_input_rate_is_right() -> None:
    flink = plant(alone([150.0] * 20))
    flink.advance(300.0)
    order(flink, "op", add=("n1",))
    flink.advance(440.0)
    assert seen(flink, 440.0).warm_batches == ()
    flink.advance(480.0)
    reading = seen(flink, 480.0)
    assert [batch.ended_at_s for batch in reading.warm_batches] == [450.0, 460.0, 470.0, 480.0]
    assert reading.input_rows_per_s == pytest.approx(150.0, rel=0.01)


def test_a_change_within_a_tick_takes_hold_at_its_end() -> None:
    flink = plant(alone([150.0] * 20))
    flink.advance(304.0)
    order(flink, "op", add=("n1",))
    assert flink.tally("op").serving_replicas == 1
    flink.advance(310.0)
    assert flink.tally("op").processed_rows == 31_000
    assert flink.tally("op").serving_replicas == 0
    assert flink.batches("op")[-1].nodes == ("n0",)
    flink.advance(440.0)
    assert flink.tally("op").processed_rows == 31_000 + 10 * 200
    assert flink.batches("op")[-1].nodes == ("n0", "n1")


def test_a_change_during_a_restart_begins_it_anew() -> None:
    flink = plant(alone([150.0] * 20))
    flink.advance(300.0)
    order(flink, "op", add=("n1",))
    flink.advance(360.0)
    order(flink, "op", add=("n2",), remove=("n0",))
    flink.advance(480.0)
    assert flink.tally("op").processed_rows == 30_000
    flink.advance(490.0)
    assert flink.batches("op")[-1].nodes == ("n1", "n2")


def test_a_cold_job_is_slow_and_becomes_warm() -> None:
    flink = plant(alone([500.0] * 20), replace(PLAIN, cold_share=0.5, warm_up_s=20.0))
    flink.advance(60.0)
    assert flink.batches("op")[-1].rows == 1000  # it was warm to begin with
    order(flink, "op", add=("n1",))
    flink.advance(190.0)
    # In the middle of the first tick after the restart, 5 s: 1 - 0.5 exp(-5 / 20) of 2000 rows.
    assert flink.batches("op")[-1].rows == pytest.approx(1221, abs=1)
    flink.advance(400.0)
    assert flink.batches("op")[-1].rows == pytest.approx(2000, abs=1)


def test_restarts_differ_within_their_spread_and_not_by_policy() -> None:
    ended = []
    for noise in (0.0, 0.05):  # other draws do not disturb them
        flink = plant(alone([150.0] * 60), replace(PLAIN, restart_spread=0.3, noise=noise), seed=5)
        order(flink, "op", add=("n1",))
        flink.advance(1200.0)
        first = flink.batches("op")[0].ended_at_s
        order(flink, "op", remove=("n1",))
        flink.advance(2400.0)
        ended.append((first, flink.batches("op")[0].ended_at_s))
    assert ended[0] == ended[1]


# Operators in a row


def test_a_slow_consumer_holds_its_producers_back_and_is_the_only_saturated_one() -> None:
    # b sustains 100 rows/s; a and c could do twice that.
    flink = plant(chain([150.0] * 10, [("n0", "n1"), ("n2",), ("n1", "n3")]))
    flink.advance(600.0)
    readings = {name: seen(flink, 600.0, name) for name in ("a", "b", "c")}
    assert {name: reading.saturated_share for name, reading in readings.items()} == {"a": 0, "b": 1, "c": 0}
    assert [reading.throughput_rows_per_s for reading in readings.values()] == pytest.approx(
        [100] * 3, rel=0.01
    )
    # Held back is not busy, and what it tells of itself is its own MST, not its consumer's.
    assert readings["a"].busy_share == pytest.approx(0.5, rel=0.01)
    assert readings["a"].warm_rows_per_s == pytest.approx(200.0)
    # Rows wait where there is room without bound: before the source.
    assert readings["a"].backlog_rows == pytest.approx(600 * 50, rel=0.01)


def test_buffers_between_operators_hold_no_more_than_they_can() -> None:
    flink = plant(chain([150.0] * 10, [("n0", "n1"), ("n2",)]))
    flink.advance(600.0)
    # One replica: 2 + 8 buffers of a row in its input, as many in the output before it.
    assert seen(flink, 600.0, "b").backlog_rows == pytest.approx(20.0)


def test_a_change_of_one_operator_stops_the_whole_job_unless_told_otherwise() -> None:
    for whole, idle in ((True, ("a", "b")), (False, ("b",))):
        flink = plant(chain([50.0] * 20, [("n0",), ("n1",)]), replace(PLAIN, restart_whole_job=whole))
        flink.advance(300.0)
        order(flink, "b", add=("n2",))
        serving = {name: flink.tally(name).serving_replicas for name in ("a", "b")}
        assert tuple(name for name, count in serving.items() if count == 0) == idle


def test_a_stopped_consumer_fills_its_buffer_and_then_stops_its_producer() -> None:
    flink = plant(chain([50.0] * 20, [("n0",), ("n1",)]), replace(PLAIN, restart_whole_job=False))
    flink.advance(300.0)
    order(flink, "b", add=("n2",))
    flink.advance(400.0)
    # A row a buffer: 2 x 10 in the inputs that 2 replicas will have, 2 x 2 + 8 in the output of a.
    assert flink.tally("a").processed_rows == pytest.approx(300 * 50 + 32)
    assert seen(flink, 400.0, "a").busy_share < 0.01


def test_what_an_operator_filters_out_does_not_reach_the_next() -> None:
    flink = plant(chain([50.0] * 5, [("n0",), ("n1",)], selectivity={"a": 0.2}))
    flink.advance(600.0)
    assert flink.tally("b").offered_rows == pytest.approx(0.2 * 50 * 300)
    assert sum(completion.rows for completion in flink.completions()) == pytest.approx(3000)


# What cannot be


@pytest.mark.parametrize(
    ("placement", "words"),
    [(("n0", "n9"), "no such node"), ((), "at least one node")],
)
def test_a_placement_that_cannot_be_is_refused_and_changes_nothing(
    placement: tuple[str, ...], words: str
) -> None:
    flink = plant(alone([50.0] * 5))
    with pytest.raises(ClusterError, match=words):
        flink.order("op", placement)
    assert flink.tally("op").serving_replicas == 1


def test_the_present_placement_changes_nothing() -> None:
    flink = plant(alone([50.0] * 5))
    assert flink.order("op", ("n0",)).status is OutcomeStatus.NOTHING_TO_DO
    assert flink.tally("op").serving_replicas == 1


def test_an_unknown_operator_is_refused() -> None:
    with pytest.raises(ClusterError, match="expected an operator of op"):
        order(plant(alone([50.0])), "other", add=("n1",))


def test_every_operator_needs_physics() -> None:
    with pytest.raises(InputError, match="none for op"):
        FlinkPlant(alone([50.0]), {}, seed=1)


def test_ticks_need_a_length() -> None:
    with pytest.raises(InputError, match="a tick above 0 s"):
        FlinkPlant(alone([50.0]), {"op": PLAIN}, seed=1, tick_s=0.0)


# Chance


def test_the_same_seed_is_the_same_run_and_another_is_not() -> None:
    def run(seed: int) -> list[int]:
        flink = plant(alone([150.0] * 30), NOISY, seed=seed)
        flink.advance(100.0)
        order(flink, "op", add=("n1",))
        flink.advance(1000.0)
        return [batch.rows for batch in flink.batches("op")]

    assert run(3) == run(3)
    assert run(3) != run(4)


def test_noise_is_correlated_in_time_and_leaves_the_mean_alone() -> None:
    physics = replace(PLAIN, noise=0.05, noise_memory_s=60.0)
    flink = plant(alone([500.0] * 2000), physics)
    rows = []
    for tick in range(1, 10_001):
        flink.advance(10.0 * tick)
        rows.append(flink.batches("op")[-1].rows / 1000)
    mean = sum(rows) / len(rows)
    variance = sum((value - mean) ** 2 for value in rows) / len(rows)
    lagged = sum((a - mean) * (b - mean) for a, b in pairwise(rows)) / len(rows)
    # 10,000 ticks with a memory of 6 are some 800 independent ones: the mean is known to 0.05 / 28.
    assert mean == pytest.approx(1.0, abs=0.006)
    assert variance**0.5 == pytest.approx(0.05, rel=0.1)
    assert lagged / variance == pytest.approx(0.846, abs=0.02)  # exp(-10 / 60)


def test_the_bundled_operator_reads_its_mst_within_its_noise() -> None:
    flink = plant(alone([150.0] * 20), read_physics("taxi-nearest"))
    flink.advance(600.0)
    reading = seen(flink, 600.0)
    # Noise of 3 % that lasts a minute: within 4 deviations.
    assert reading.warm_rows_per_s == pytest.approx(flink.mst_rows_per_s("op", ("n0",)), rel=0.12)
