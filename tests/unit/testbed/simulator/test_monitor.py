from dataclasses import replace

import numpy as np
import pytest
from faulty_ports import Fault, Faults, FaultWindow, LyingReports
from spark_scenes import QUIET, Notes, equal_delays, one_operator, physics_of, run_scene, steady

from gesscale.model.observation import OperatorReading
from gesscale.options import PolicyOptions
from testbed.simulator.monitor import MeasuredLatencies, SimulatedMetrics
from testbed.simulator.scene import CpuAccount, LinkSlowdown, MetricTraits, Scene, SimulatedNode
from testbed.simulator.spark.plant import SparkPlant

NEVER = PolicyOptions(cpu_low_pct=0, cpu_high_pct=100)
"""THR that never changes replicas."""


def test_the_latency_map_shows_a_slow_link_after_the_delay_of_measurements() -> None:
    slow = LinkSlowdown(from_s=100, until_s=200, factor=2)
    world = one_operator(steady(100, 1800), delays=equal_delays(2, 10), slowdowns=(slow,), mapped_after_s=60.0)
    source, never = MeasuredLatencies(world), MeasuredLatencies(replace(world, mapped_after_s=None))
    seen = []
    for at_s in (0, 100, 159, 160, 259, 260, 1000):
        now, unmeasured = source.current(at_s).map, never.current(at_s).map
        assert now is not None
        assert unmeasured is world.delays
        seen.append(now.delay_ms("n0", "n1"))
    assert seen == [10, 10, 10, 20, 20, 10, 10]


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


def test_a_reading_summarises_the_batches_of_its_window() -> None:
    reading = readings(run_scene(scene(), "thr-nlaware", physics=QUIET, rules=NEVER))[4]
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
def test_cpu_use_follows_the_definition_of_the_scene(account: CpuAccount, share: float | None) -> None:
    seen = readings(run_scene(scene(cpu=account), "thr-nlaware", physics=QUIET, rules=NEVER))
    assert seen[4].cpu_share == (None if share is None else pytest.approx(share))


def test_late_metrics_lack_the_newest_batches_and_cpu_use() -> None:
    plain, late = (
        readings(run_scene(scene(delay_s=delay_s), "thr-nlaware", physics=QUIET, rules=NEVER))[4]
        for delay_s in (0.0, 25.0)
    )
    assert plain.batches[-1].ended_at_s == pytest.approx(292.7)
    assert late.batches[-1].ended_at_s == pytest.approx(272.7)
    assert late.cpu_share == pytest.approx(0.21, abs=0.03)


def test_a_batch_in_the_future_is_rejected() -> None:
    plant = SparkPlant(scene(), physics_of(scene(), QUIET), seed=1)
    plant.advance(53.0)
    # Batches end 2.7 s after every 10 s. The one at 52.7 s is number 4, and 4 modulo 3 is 1: its end is a day later.
    reports = LyingReports(plant, Faults([FaultWindow(Fault.METRICS_LYING, 50.0, 60.0)]))
    metrics = SimulatedMetrics(reports, ["op"], MetricTraits(), np.random.default_rng(1))
    reading = metrics.observe(53.0).readings["op"]
    assert reading.batches[-1].batch_id == 3
    assert reading.problem


def test_gaps_have_the_frequency_of_the_scene_and_a_code() -> None:
    metrics = SimulatedMetrics(
        SparkPlant(scene(), physics_of(scene(), QUIET), seed=1),
        ["op"],
        MetricTraits(gap_share=0.3),
        np.random.default_rng(1),
    )
    missing_codes = [metrics.observe(60.0 * step).missing_readings["op"].code for step in range(1000)]
    missed = missing_codes.count("metrics-missing")
    assert 250 < missed < 350
    assert set(missing_codes) == {"metrics-missing", "batches-missing"}


# Readings of each replica


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
    reading = readings(run_scene(scene, "thr-nlaware", physics=QUIET, rules=NEVER))[step]
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
