from dataclasses import replace

import numpy as np
import pytest
from faulty_ports import Fault, Faults, FaultWindow, LyingReports
from spark_scenes import QUIET, Notes, equal_delays, one_operator, physics_of, play, steady

from gesscale.model.observation import NodeReading, OperatorReading
from gesscale.options import PolicyOptions
from testbed.simulator.monitor import CpuTrail, FixedLatencies, SimulatedMetrics
from testbed.simulator.plant import Tally
from testbed.simulator.scene import CpuAccount, MetricTraits, Scene, SimulatedNode
from testbed.simulator.spark.plant import SparkPlant
from testbed.workloads.workload import Workload

NEVER = PolicyOptions(cpu_low_pct=0, cpu_high_pct=100)
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


def test_a_batch_that_says_it_ends_in_the_future_is_told_so_that_the_figures_are_doubted() -> None:
    plant = SparkPlant(scene(), physics_of(scene(), QUIET), seed=1)
    plant.advance(53.0)
    # Batches end 2.7 s after each tenth second. That of 52.7 s is number 4, and 4 modulo 3 is 1: it ends in a day.
    reports = LyingReports(plant, Faults([FaultWindow(Fault.METRICS_LYING, 50.0, 60.0)]))
    metrics = SimulatedMetrics(reports, ["op"], MetricTraits(), np.random.default_rng(1))
    reading = metrics.observe(53.0).readings["op"]
    assert reading.batches[-1].batch_id == 3
    assert reading.doubt.startswith("batch 4 is dropped: it ends")


def test_gaps_come_as_often_as_the_scene_says_and_are_told_as_such() -> None:
    metrics = SimulatedMetrics(
        SparkPlant(scene(), physics_of(scene(), QUIET), seed=1),
        ["op"],
        MetricTraits(gap_share=0.3),
        np.random.default_rng(1),
    )
    missing_readings = [metrics.observe(60.0 * step).missing_readings["op"].detail for step in range(1000)]
    missed = sum("no answer" in detail for detail in missing_readings)
    assert 250 < missed < 350
    assert {detail for detail in missing_readings if "no answer" not in detail} == {"no batch has ended yet"}


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


# Each replica on its own


SLOW = {"n0": SimulatedNode(name="n0"), "n1": SimulatedNode(name="n1", weight=0.5)}


def uneven(**traits: object) -> Scene:
    """Return 100 rows/s on a fast and a slow node: 500 rows each every 10 s, in 0.1 + 1.0 s and in twice that."""
    return one_operator(
        steady(100, 1800),
        delays=equal_delays(2, 100),
        nodes=SLOW,
        initial={"op": ("n0", "n1")},
        metrics=MetricTraits(**traits),  # type: ignore[arg-type] # its fields
    )


def by_node(scene: Scene, step: int = 4) -> dict[str, tuple[float, float]]:
    reading = readings(play(scene, "thr-nlaware", physics=QUIET, rules=NEVER))[step]
    return {node: (each.throughput_rows_per_s, each.cpu_share) for node, each in reading.by_node.items()}


@pytest.mark.parametrize(
    ("account", "shares"),
    [
        (CpuAccount.WORK, (0.11, 0.22)),
        (CpuAccount.WORK_AND_WAITING, (0.15, 0.26)),  # and 4 x 0.1 s of round trips in 10 s
    ],
)
def test_each_replica_has_its_rows_and_its_cpu_use(account: CpuAccount, shares: tuple[float, float]) -> None:
    seen = by_node(uneven(cpu=account))
    assert seen == {"n0": pytest.approx((50, shares[0])), "n1": pytest.approx((50, shares[1]))}


def test_where_cpu_use_is_not_measured_single_replicas_are_not_either() -> None:
    assert by_node(uneven(cpu=CpuAccount.NOT_MEASURED)) == {}


@pytest.mark.parametrize("delay_s", [0.0, 25.0])
def test_single_replicas_add_up_to_the_operator(delay_s: float) -> None:
    for reading in readings(play(uneven(delay_s=delay_s), "thr-nlaware", physics=QUIET, rules=NEVER))[2:]:
        assert reading.by_node.keys() == set(reading.placement)
        rates = [each.throughput_rows_per_s for each in reading.by_node.values()]
        assert sum(rates) == pytest.approx(reading.throughput_rows_per_s)
        shares = [each.cpu_share for each in reading.by_node.values()]
        assert sum(shares) / 2 == pytest.approx(reading.cpu_share, abs=0.03)


def test_a_replica_that_joined_is_told_with_what_it_did_and_before_that_with_nothing() -> None:
    # n1 is ordered at 60 s, the first step, and serves from the batch that begins at 70 s.
    grows = one_operator(steady(400, 600), delays=equal_delays(2, 0))
    eager = PolicyOptions(cpu_low_pct=0, cpu_high_pct=50)
    seen = readings(play(grows, "thr-nlaware", physics=QUIET, rules=eager))
    joined = next(reading for reading in seen if reading.replicas == 2)
    assert 0 < joined.by_node["n1"].throughput_rows_per_s < joined.by_node["n0"].throughput_rows_per_s
    later = seen[seen.index(joined) + 1]
    assert later.by_node["n1"] == later.by_node["n0"]


def test_figures_of_replicas_can_be_looked_at_later_and_read_like_any_mapping() -> None:
    at_once, later = (
        readings(play(uneven(), "thr-nlaware", physics=QUIET, rules=NEVER))[4].by_node for _ in range(2)
    )
    assert repr(at_once) == repr(dict(at_once))
    assert at_once == later == dict(later)
    assert len(later) == 2
    assert "n7" not in later


def test_an_idle_operator_has_idle_replicas_and_hands_nothing_on() -> None:
    load = Workload.of_rates("pause", 300.0, [100.0, 0.0, 100.0])
    scene = one_operator(load, delays=equal_delays(1, 0))
    idle = readings(play(scene, "thr-nlaware", physics=QUIET, rules=NEVER))[7]
    assert idle.at_s == 480
    assert (idle.throughput_rows_per_s, idle.output_rows_per_s) == (0.0, 0.0)
    assert dict(idle.by_node) == {"n0": NodeReading(throughput_rows_per_s=0.0, cpu_share=0.0)}


def test_output_is_input_times_selectivity() -> None:
    scene = replace(uneven(), selectivity={"op": 0.25})
    reading = readings(play(scene, "thr-nlaware", physics=QUIET, rules=NEVER))[4]
    assert reading.output_rows_per_s == pytest.approx(25.0)
