"""The plant tick by tick, and the readings of Monitor."""

from dataclasses import replace
from itertools import pairwise

import pytest
from flink_scenes import PLAIN, alone, chain, plant, seen
from simulated_orders import order

NOISY = replace(PLAIN, noise=0.05, restart_spread=0.2, cold_share=0.5)


# One operator


def test_an_operator_at_its_limit_is_saturated_at_its_mst() -> None:
    flink = plant(alone([150.0] * 5))
    flink.advance(240.0)
    reading = seen(flink, 240.0)
    assert reading.saturated_share == 1.0
    assert reading.busy_share == 1.0
    assert reading.warm_rows_per_s == pytest.approx(flink.mst_rows_per_s("op", ("n0",))) == 100.0
    assert reading.input_rows_per_s == pytest.approx(150.0)
    assert reading.backlog_rows == pytest.approx(240 * 50)  # 150 offered, 100 processed


def test_waiting_for_the_network_is_not_work() -> None:
    # Alone and 300 ms away: busy time consists of work and waiting.
    physics = replace(PLAIN, credit_round_trips=2.0)
    flink = plant(alone([1000.0] * 2, ("n1",), rtt_ms=300.0), physics)
    flink.advance(100.0)
    tally = flink.tally("op")
    assert tally.work_s == pytest.approx(tally.processed_rows * 0.01)
    assert tally.work_s + tally.waiting_s == pytest.approx(100.0)
    assert tally.waiting_s > 50.0  # 10 credits of 10 ms against 600 ms


# Restarts


def test_a_change_stops_the_job_and_its_replicas_cost() -> None:
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


def test_a_change_during_a_restart_starts_it_again() -> None:
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
    assert flink.batches("op")[-1].rows == 1000  # it was warm at the start
    order(flink, "op", add=("n1",))
    flink.advance(190.0)
    # In the middle of the first tick after the restart, 5 s: 1 - 0.5 exp(-5 / 20) of 2000 rows.
    assert flink.batches("op")[-1].rows == pytest.approx(1221, abs=1)
    flink.advance(400.0)
    assert flink.batches("op")[-1].rows == pytest.approx(2000, abs=1)


# Operators in a row


def test_a_slow_consumer_limits_its_producers_and_alone_is_saturated() -> None:
    # b sustains 100 rows/s; a and c could do twice that.
    flink = plant(chain([150.0] * 10, [("n0", "n1"), ("n2",), ("n1", "n3")]))
    flink.advance(600.0)
    readings = {name: seen(flink, 600.0, name) for name in ("a", "b", "c")}
    assert {name: reading.saturated_share for name, reading in readings.items()} == {"a": 0, "b": 1, "c": 0}
    assert [reading.throughput_rows_per_s for reading in readings.values()] == pytest.approx([100] * 3, rel=0.01)
    # Backpressured is not busy, and it reports its MST, not its consumer's.
    assert readings["a"].busy_share == pytest.approx(0.5, rel=0.01)
    assert readings["a"].warm_rows_per_s == pytest.approx(200.0)
    # Rows wait in the unbounded topic before the source.
    assert readings["a"].backlog_rows == pytest.approx(600 * 50, rel=0.01)


def test_a_change_of_one_operator_stops_the_job_by_default() -> None:
    for whole, idle in ((True, ("a", "b")), (False, ("b",))):
        flink = plant(chain([50.0] * 20, [("n0",), ("n1",)]), replace(PLAIN, restart_whole_job=whole))
        flink.advance(300.0)
        order(flink, "b", add=("n2",))
        serving = {name: flink.tally(name).serving_replicas for name in ("a", "b")}
        assert tuple(name for name, count in serving.items() if count == 0) == idle


# Invalid input


# Noise


def test_runs_depend_on_the_seed() -> None:
    def run(seed: int) -> list[int]:
        flink = plant(alone([150.0] * 30), NOISY, seed=seed)
        flink.advance(100.0)
        order(flink, "op", add=("n1",))
        flink.advance(1000.0)
        return [batch.rows for batch in flink.batches("op")]

    assert run(3) == run(3)
    assert run(3) != run(4)


def test_noise_is_correlated_in_time_and_keeps_the_mean() -> None:
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
