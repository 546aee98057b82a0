import csv
from dataclasses import replace
from pathlib import Path

import pytest
from spark_scenes import QUIET, equal_delays, nodes

from testbed.simulator.fog import Fog
from testbed.simulator.scene import SimulatedNode
from testbed.simulator.spark.batch import ExecutorSet, mean_batch_s, run_batch, timeline_after_loss
from testbed.simulator.spark.constants import read_physics
from testbed.simulator.spark.efforts import FinishedBatch, efforts

READINGS = Path(__file__).parents[3] / "data" / "spark_saturation_readings.csv"


def executor_set(count: int, rtt_ms: float, *, driver_apart: bool = False, slots_each: int = 1) -> ExecutorSet:
    """Return nodes at one round trip from each other; the driver is on the first, or on a separate node."""
    fog = Fog(nodes(count + 1), equal_delays(count + 1, rtt_ms))
    names = [f"n{index}" for index in range(count + 1)]
    return ExecutorSet.of(names[1:] if driver_apart else names[:-1], "n0", fog, slots_each=slots_each)


def test_one_wave_takes_fixed_time_round_trips_and_one_tasks_rows() -> None:
    # 0.2 + 4 x 0.1 + 0.1 + 0.002 x 9000 / 3
    timeline = run_batch(QUIET, executor_set(3, 100), 9000)
    assert timeline.seconds == pytest.approx(6.7)
    assert (timeline.tasks, timeline.tasks_from_s) == ([1, 1, 1], pytest.approx(0.6))
    assert timeline.work_s == pytest.approx(3 * 6.1)
    assert timeline.waiting_s == pytest.approx(3 * 0.4)  # all replicas wait while the driver talks to the farthest


def test_the_hottest_partition_determines_the_batch_time() -> None:
    skewed = replace(QUIET, hottest_share=0.7)
    times = [run_batch(skewed, executor_set(3, 0), 1000, first_slot=slot).ends_s for slot in range(3)]
    # 700 rows on one slot, 150 on each other: 0.2 + 0.1 + 1.4, and 0.3 less.
    assert [ends.index(max(ends)) for ends in times] == [0, 1, 2]
    assert [max(ends) for ends in times] == pytest.approx([1.7] * 3)
    assert sorted(times[0])[:2] == pytest.approx([0.6, 0.6])


def test_a_cold_executor_delays_only_its_first_task() -> None:
    members = executor_set(2, 0)
    assert run_batch(QUIET, members, 2000, cold_s=[0, 4]).ends_s == pytest.approx([2.3, 6.3])
    waves = run_batch(replace(QUIET, partitions=4), members, 2000, cold_s=[0, 4])
    # Tasks of 1.1 s: the warm one takes three by 3.5 s, the cold one ends its first at 0.2 + 5.1 s.
    assert (waves.tasks, waves.ends_s) == ([3, 1], pytest.approx([3.5, 5.3]))


def test_a_shuffle_adds_an_exchange_and_waves_of_state_tasks() -> None:
    stateful = replace(QUIET, state_partitions=6, state_task_s=0.05, state_round_trips=5.0, exchange_round_trips=4.0)
    # After 0.2 + 0.4 + 0.1 + 2.0 s: 4 x 0.1 s of exchange, then 6 tasks on 4 slots, 2 waves of 0.05 + 5 x 0.1 s.
    all_far = run_batch(stateful, executor_set(4, 100, driver_apart=True), 4000)
    assert all_far.seconds == pytest.approx(2.7 + 0.4 + 2 * 0.55)
    # Far from each other, near the driver: only the exchange takes time.
    rtt_ms = equal_delays(5, 100).rtt_ms.copy()
    rtt_ms[0, :] = rtt_ms[:, 0] = 0
    near_driver = Fog(nodes(5), type(equal_delays(1, 0))(names=tuple(nodes(5)), rtt_ms=rtt_ms))
    timeline = run_batch(stateful, ExecutorSet.of(["n1", "n2", "n3", "n4"], "n0", near_driver), 4000)
    assert timeline.seconds == pytest.approx(2.3 + 0.4 + 2 * 0.05)


def test_unfinished_tasks_of_a_lost_executor_run_elsewhere() -> None:
    # Two tasks of 6.1 s begin at 0.2 s. n1 leaves after 2 s; n0 ends its task at 6.3 s and then runs the other one.
    members = executor_set(2, 0)
    timeline = run_batch(QUIET, members, 6000)
    noticed = replace(QUIET, failure_detection_s=1.0)
    after = timeline_after_loss(timeline, noticed, members, lost=1, able=[0], elapsed_s=2.0)
    assert after.seconds == pytest.approx(6.3 + 6.1)
    assert after.work_s == pytest.approx(timeline.work_s + 6.1)


def test_with_as_many_slots_as_a_node_is_fast_equal_tasks_take_equal_time() -> None:
    named = {
        name: SimulatedNode(name=name, weight=weight, slots=slots)
        for name, weight, slots in (("n0", 4.0, 8), ("n1", 1.0, 2), ("n2", 0.5, 1))
    }
    members = ExecutorSet.of(list(named), "n0", Fog(named, equal_delays(3, 0)))
    timeline = run_batch(QUIET, members, 11_000)
    # 11 tasks of 1,000 rows and 0.1 s on slots of speed 0.5: 0.2 + 2.1 / 0.5.
    assert timeline.ends_s == pytest.approx([4.4] * 11)
    did = efforts(QUIET, [FinishedBatch(members, timeline, 11_000)])
    assert {node: each.rows for node, each in did.items()} == pytest.approx({"n0": 8000, "n1": 2000, "n2": 1000})
    assert [each.work_s for each in did.values()] == pytest.approx([4.2] * 3)
    assert timeline.work_s == pytest.approx(3 * 4.2)
    # The NUC is lost at 2.2 s: its 8 tasks go to the three others, which end at 4.4 s: three waves of 4.2 s more.
    after = timeline_after_loss(timeline, QUIET, members, lost=0, able=[1, 2], elapsed_s=2.2)
    assert after.seconds == pytest.approx(4.4 + 3 * 4.2)
    assert sum(after.tasks) == 11


def measured(query: str) -> list[dict[str, str]]:
    """Return the readings of a query on a machine with free CPU."""
    with READINGS.open() as file:
        return [row for row in csv.DictReader(file) if row["query"] == query and float(row["host_cpu"]) < 0.9]


def error(row: dict[str, str]) -> float:
    """Return the error of the bundled physics for a reading, as a share of the measured throughput."""
    name = {"map": "map", "groupby": "group-by"}[row["query"]]
    replicas, tasks, rows = int(row["replicas"]), int(row["tasks"]), float(row["batch_rows"])
    physics = replace(read_physics(name), partitions=0 if tasks == replicas else tasks)
    members = executor_set(replicas, float(row["nd_max_ms"]), driver_apart=True)
    return rows / mean_batch_s(physics, members, rows) / float(row["mst_rows_per_s"]) - 1


def test_the_constants_of_map_predict_the_readings() -> None:
    errors = {(row["tasks"] == row["replicas"], row["batch_rows"], row["replicas"]): [] for row in measured("map")}
    for row in measured("map"):
        errors[row["tasks"] == row["replicas"], row["batch_rows"], row["replicas"]].append(abs(error(row)))
    one_wave = [value for (even, *_), values in errors.items() if even for value in values]
    every = [value for values in errors.values() for value in values]
    assert (len(one_wave), len(every)) == (9, 28)
    assert sum(one_wave) / 9 < 0.006
    assert max(one_wave) < 0.015
    assert sum(every) / 28 < 0.02
    assert max(every) < 0.085


def test_the_constants_of_group_by_predict_all_but_two_readings() -> None:
    errors = {(row["replicas"], row["nd_max_ms"], row["batch_rows"]): abs(error(row)) for row in measured("groupby")}
    full = [errors.pop(("4", "0", rows)) for rows in ("3000", "12000")]
    assert full == pytest.approx([0.29, 0.16], abs=0.01)
    assert len(errors) == 16
    assert sum(errors.values()) / 16 < 0.013
    assert max(errors.values()) < 0.06


def test_tasks_cut_by_speed_end_together_on_unequal_nodes() -> None:
    # speeds 0.5, 1 and 4: 11,000 rows of 2 ms take 22 / 5.5 = 4 s at best, and 11 / 3 x 4 = 14.7 s if spread evenly
    fog = Fog(
        {f"n{turn}": SimulatedNode(name=f"n{turn}", weight=weight) for turn, weight in enumerate((0.5, 1.0, 4.0))},
        equal_delays(3, 0),
    )
    executors = ExecutorSet.of(["n0", "n1", "n2"], "n0", fog)
    bare = replace(QUIET, fixed_s=0.0, task_s=0.0)
    assert run_batch(bare, executors, 11_000).seconds == pytest.approx(44 / 3)
    by_speed = replace(bare, tasks_by_speed=True)
    assert 4.0 <= run_batch(by_speed, executors, 11_000).seconds < 4.6
    done = efforts(by_speed, [FinishedBatch(executors, run_batch(by_speed, executors, 11_000), 11_000)])
    # 500 rows/s per unit of weight
    for name, weight in (("n0", 0.5), ("n1", 1.0), ("n2", 4.0)):
        assert done[name].rows == pytest.approx(500 * weight * done[name].work_s)
