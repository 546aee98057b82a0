import numpy as np
import pytest
from spark_scenes import QUIET, Notes, equal_delays, one_operator, physics_of, play, steady

from gesscale.observation import OperatorReading
from gesscale.options import PolicyOptions
from testbed.simulator.monitor import CpuTrail, FixedLatencies, SimulatedMetrics
from testbed.simulator.plant import Tally
from testbed.simulator.scene import CpuAccount, MetricTraits, Scene
from testbed.simulator.spark.plant import SparkPlant

NEVER = PolicyOptions(cpu_low_share=0.0, cpu_high_share=1.0)
"""THR that changes nothing."""


def scene(**traits: object) -> Scene:
    """Return 100 rows/s for 30 minutes on a replica 100 ms from the driver: 1000 rows in 2.7 s every 10 s."""
    return one_operator(
        steady(100, 1800),
        delays=equal_delays(2, 100),
        initial={"op": ("n1",)},
        metrics=MetricTraits(**traits),  # type: ignore[arg-type] # its fields
    )


def readings(notes: Notes) -> list[OperatorReading]:
    return [each.analysis.reading for each in notes.decisions if each.analysis.reading is not None]


def test_a_reading_is_what_monitor_makes_of_the_batches_of_its_window() -> None:
    reading = readings(play(scene(), "thr-nlaware", physics=QUIET, rules=NEVER))[4]
    assert reading.at_s == 300
    assert reading.placement == ("n1",)
    assert reading.input_rows_per_s == pytest.approx(100)
    assert reading.throughput_rows_per_s == pytest.approx(100)
    assert reading.busy_share == pytest.approx(0.27)
    assert len(reading.warm_batches) == 6
    assert reading.batches[0].ended_at_s == pytest.approx(122.7), "180 s of history"


@pytest.mark.parametrize(
    ("account", "share"),
    [
        (CpuAccount.WORK, 0.21),  # 0.1 + 2.0 s of 10 s
        (CpuAccount.WORK_AND_WAITING, 0.25),  # and 4 x 0.1 s of round trips
        (CpuAccount.NOT_MEASURED, None),
    ],
)
def test_cpu_use_is_what_the_scene_says_it_is(account: CpuAccount, share: float | None) -> None:
    seen = readings(play(scene(cpu=account), "thr-nlaware", physics=QUIET, rules=NEVER))
    assert seen[4].cpu_share == (None if share is None else pytest.approx(share))


def test_late_metrics_know_nothing_of_the_newest_batches_and_of_the_newest_cpu_use() -> None:
    plain, late = (
        readings(play(scene(delay_s=delay_s), "thr-nlaware", physics=QUIET, rules=NEVER))[4]
        for delay_s in (0.0, 25.0)
    )
    assert plain.batches[-1].ended_at_s == pytest.approx(292.7)
    assert late.batches[-1].ended_at_s == pytest.approx(272.7)
    assert late.cpu_share == pytest.approx(0.21, abs=0.03)


def test_figures_that_are_later_than_is_allowed_are_stale() -> None:
    decided = play(scene(delay_s=200.0, history_s=600.0), "thr-nlaware", physics=QUIET, rules=NEVER).decisions
    assert {each.plan.reason.value for each in decided[4:29]} == {"MetricsStale"}


def test_gaps_come_as_often_as_the_scene_says_and_are_told_as_such() -> None:
    metrics = SimulatedMetrics(
        SparkPlant(scene(), physics_of(scene(), QUIET), seed=1),
        ["op"],
        MetricTraits(gap_share=0.3),
        np.random.default_rng(1),
    )
    unseen = [metrics.observe(60.0 * step).unseen["op"].detail for step in range(1000)]
    missed = sum("no answer" in detail for detail in unseen)
    assert 250 < missed < 350
    assert {detail for detail in unseen if "no answer" not in detail} == {"no batch has ended yet"}


def tally(work_s: float, replica_seconds: float, waiting_s: float = 0.0) -> Tally:
    return Tally(
        offered_rows=0,
        processed_rows=0,
        work_s=work_s,
        waiting_s=waiting_s,
        replica_seconds=replica_seconds,
        supply_replicas=1,
        serving_replicas=1,
    )


def test_a_trail_compares_the_window_with_what_was_noted_right_before_it() -> None:
    trail = CpuTrail(CpuAccount.WORK, reach_s=90)
    for at_s, work_s in ((0, 0), (30, 3), (60, 18), (90, 27), (120, 30)):
        trail.note(at_s, tally(work_s, replica_seconds=2 * at_s))
    assert trail.share(120, 60) == pytest.approx((30 - 18) / 120)
    assert trail.share(95, 60) == pytest.approx((27 - 3) / 120)
    assert trail.share(20, 60) is None, "older than it reaches"


def test_a_trail_is_never_above_one_and_forgets_what_it_need_not_know() -> None:
    trail = CpuTrail(CpuAccount.WORK_AND_WAITING, reach_s=60)
    for step in range(1000):
        trail.note(10.0 * step, tally(9.0 * step, 10.0 * step, waiting_s=8.0 * step))
    assert trail.share(9990, 60) == 1.0
    assert len(trail._notes) <= 8


def test_without_replicas_there_is_no_cpu_use() -> None:
    trail = CpuTrail(CpuAccount.WORK, reach_s=60)
    trail.note(0, tally(0, 0))
    trail.note(60, tally(0, 0))
    assert trail.share(60, 60) is None


def test_the_latency_map_is_always_at_hand_and_never_stale() -> None:
    latencies = FixedLatencies(equal_delays(2, 5)).current(1e9)
    assert latencies.map == equal_delays(2, 5)
    assert not latencies.standing.stale
