"""Throughput of replicas, computed from the physics."""

from dataclasses import replace

import pytest

from testbed.simulator.flink.physics import FlinkPhysics, capacity, read_physics

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


def test_checkpoints_take_their_share_of_the_time() -> None:
    # Each 10 s, 0.1 + 2 x 0.05 + 1 x 0.3 = 0.5 s: 10 / 10.5 of 200 rows/s, credits hiding the delay itself.
    physics = replace(
        PLAIN, floating_buffers=10_000, checkpoint_s=0.1, checkpoint_s_per_replica=0.05, checkpoint_round_trips=1.0
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


def test_the_published_scaling_is_predicted() -> None:
    physics = read_physics("nexmark-mapper")
    errors = [
        abs(capacity(physics, [1.0] * n, [0.0] * n).rows_per_s / rows_per_s - 1)
        for n, rows_per_s in NEXMARK_Q1_MAPPER.items()
    ]
    assert max(errors) < 0.035
    assert sum(errors) / len(errors) < 0.02
