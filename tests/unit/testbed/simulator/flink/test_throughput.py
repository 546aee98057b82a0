"""The rate of replicas, from the physics alone."""

from dataclasses import replace

import pytest

from testbed.simulator.flink.physics import (
    FlinkPhysics,
    capacity,
    circling_rate,
    key_shares,
    read_physics,
    round_trips_ms,
)

PLAIN = FlinkPhysics(service_s=0.01, row_bytes=16_384)
"""Two rows a buffer."""

NEXMARK_Q1_MAPPER = {
    1: 529573.2,
    2: 966817.4,
    4: 1829695.6,
    6: 2535502.8,
    7: 2936888.6,
    8: 3118477.9,
    10: 3721099.2,
    15: 4967828.3,
    20: 6350677.0,
    21: 6465249.8,
    25: 7089387.3,
    26: 7476391.8,
}
"""Instances and their rows per second: github.com/ljqcodelove/ContTune, README.md, commit 19ee63b."""


def test_one_token_pays_service_and_delay_in_turn() -> None:
    # 0.1 s at the station, 0.3 s on the way: 1 / 0.4 s.
    assert circling_rate(1, 0.1, 0.3) == pytest.approx(2.5)


def test_two_tokens_follow_mean_value_analysis() -> None:
    # One token: 0.1 + 0.3 s, rate 2.5, on average 0.25 tokens at the station. The second finds those:
    # 0.1 x 1.25 = 0.125 s, rate 2 / 0.425.
    assert circling_rate(2, 0.1, 0.3) == pytest.approx(2 / 0.425)


def test_credits_hide_a_short_round_trip_and_starve_at_a_long_one() -> None:
    # 10 credits of 20 ms last 200 ms; two round trips of 5 ms are hidden, of 2 s they are not: 10 / 4 s at most.
    assert circling_rate(10, 0.02, 0.01) == pytest.approx(50, rel=1e-3)
    assert circling_rate(10, 0.02, 4.0) == pytest.approx(10 / 4.02, rel=0.02)


def test_replicas_without_any_friction_add_up() -> None:
    assert capacity(PLAIN, [1, 1, 1], [0, 0, 0]).rows_per_s == pytest.approx(300)


def test_no_replica_carries_nothing() -> None:
    assert capacity(PLAIN, [], []).rows_per_s == 0


def test_the_slowest_replica_bounds_all() -> None:
    # Dealt in turn, both get as many rows as the one of weight 0.5 takes: 2 x 50.
    assert capacity(PLAIN, [1, 0.5], [0, 0]).rows_per_s == pytest.approx(100)


def test_one_far_replica_slows_down_the_near_ones() -> None:
    near = capacity(PLAIN, [1, 1], [0, 0]).rows_per_s
    one_far = capacity(PLAIN, [1, 1], [0, 300]).rows_per_s
    all_far = capacity(PLAIN, [1, 1], [300, 300]).rows_per_s
    assert one_far == pytest.approx(all_far)
    assert one_far < 0.5 * near  # 10 credits of 20 ms are 0.2 s of the 0.6 s that two round trips take


def test_a_replica_has_a_channel_for_each_sender() -> None:
    spread = replace(PLAIN, sources_beside_replicas=True)
    assert [PLAIN.credits(n) for n in (1, 4)] == [2 + 8, 2 + 8]
    assert [spread.credits(n) for n in (1, 4)] == [2 + 8, 4 * 2 + 8]
    # Two rows in each of 4 x 10 buffers of the inputs and 4 x 2 + 8 of the output; with four sources: four outputs.
    assert PLAIN.buffered_rows(4) == 2 * (40 + 16)
    assert spread.buffered_rows(4) == 2 * (4 * 16 + 4 * 16)


def test_the_bytes_under_way_bound_the_rate_so_that_only_fast_operators_feel_delay() -> None:
    taxi = read_physics("taxi-nearest")
    fast = replace(taxi, service_s=taxi.service_s / 1000, checkpoint_round_trips=0.0)
    slow = replace(taxi, checkpoint_round_trips=0.0)
    # 10 buffers of 32,768 / 150 rows in two round trips of 300 ms: 3641 rows/s at most, of 71,429 and of 71.
    near, far = (capacity(fast, [1], [rtt_ms]).rows_per_s for rtt_ms in (0, 300))
    assert far == pytest.approx(3641 / 71_429 * near, rel=0.02)
    near, far = (capacity(slow, [1], [rtt_ms]).rows_per_s for rtt_ms in (0, 300))
    assert far == pytest.approx(near, rel=1e-6)


def test_rows_that_are_larger_take_the_delay_in_smaller_numbers() -> None:
    # Of 1 MB, each takes 32 buffers: 10 of them in 0.6 s are 0.52 rows/s at most.
    large = replace(PLAIN, row_bytes=2**20)
    assert capacity(large, [1], [300]).rows_per_s == pytest.approx(10 / 32 / 0.6, rel=0.01)


def test_rows_come_from_the_driver_or_from_every_replica() -> None:
    rtt_ms = {frozenset("ab"): 10.0, frozenset("ac"): 20.0, frozenset("bc"): 90.0}

    def between(one: str, other: str) -> float:
        return rtt_ms.get(frozenset((one, other)), 0.0)

    assert round_trips_ms(PLAIN, "a", ("b", "c"), between) == [10.0, 20.0]
    spread = replace(PLAIN, sources_beside_replicas=True)
    assert round_trips_ms(spread, "a", ("b", "c"), between) == [90.0, 90.0]
    assert round_trips_ms(spread, "a", ("a",), between) == [0.0]


def test_checkpoints_take_their_share_of_the_time() -> None:
    # Each 10 s, 0.1 + 2 x 0.05 + 1 x 0.3 = 0.5 s: 10 / 10.5 of 200 rows/s, credits hiding the delay itself.
    physics = replace(
        PLAIN,
        floating_buffers=10_000,
        checkpoint_s=0.1,
        checkpoint_s_per_replica=0.05,
        checkpoint_round_trips=1.0,
    )
    assert capacity(physics, [1, 1], [0, 300]).rows_per_s == pytest.approx(200 * 10 / 10.5, rel=1e-3)


def test_a_channel_for_each_replica_costs_work_and_straggling_costs_waiting() -> None:
    busy = capacity(replace(PLAIN, channel_cost=0.1), [1, 1], [0, 0])
    # 0.011 s a row: 2 / 0.011 rows/s, during which both replicas work all the time.
    assert busy.rows_per_s == pytest.approx(2 / 0.011)
    assert busy.rows_per_s * busy.work_s_per_row == pytest.approx(2.0)
    waits = capacity(replace(PLAIN, straggle=0.1), [1, 1], [0, 0])
    # Blom: the larger of two normal draws is at the quantile 1.625 / 2.25, 0.589 deviations: 200 / 1.0589.
    assert waits.rows_per_s == pytest.approx(200 / 1.0589, rel=1e-4)
    assert waits.rows_per_s * waits.work_s_per_row == pytest.approx(2 / 1.0589, rel=1e-4)


def test_keys_are_dealt_completely_and_unevenly() -> None:
    shares = key_shares(100, 12)
    assert sum(shares) == pytest.approx(1)
    assert max(shares) > 1 / 12
    # At full load the mean CPU is even share over largest share; Daedalus (ICPE 2024, 3.1) saw 0.8.
    assert 1 / 12 / max(shares) == pytest.approx(0.8, abs=0.1)


def test_replicas_beyond_the_keys_do_not_help() -> None:
    keyed = replace(PLAIN, keys=1)
    assert capacity(keyed, [1] * 4, [0] * 4).rows_per_s == pytest.approx(100)


def test_the_published_scaling_table_is_met() -> None:
    physics = read_physics("nexmark-mapper")
    errors = [
        abs(capacity(physics, [1.0] * n, [0.0] * n).rows_per_s / rows_per_s - 1)
        for n, rows_per_s in NEXMARK_Q1_MAPPER.items()
    ]
    assert max(errors) < 0.035
    assert sum(errors) / len(errors) < 0.02
