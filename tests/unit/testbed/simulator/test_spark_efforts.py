"""Distribution of the work of batches over executors."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from simulated_orders import order
from spark_scenes import QUIET, chain, equal_delays, one_operator, physics_of, steady

from testbed.simulator.fog import Fog
from testbed.simulator.plant import Effort
from testbed.simulator.scene import SimulatedNode
from testbed.simulator.spark.batch import ExecutorSet, run_batch, timeline_after_loss
from testbed.simulator.spark.constants import SparkPhysics, read_physics
from testbed.simulator.spark.efforts import FinishedBatch, efforts
from testbed.simulator.spark.plant import SparkPlant


def executor_set(weights: Sequence[float], rtt_ms: float = 0.0, slots_each: int = 1) -> ExecutorSet:
    """Return n0, n1 ... of these weights at one round trip from each other and from the driver's node."""
    named = {f"n{index}": SimulatedNode(name=f"n{index}", weight=weight) for index, weight in enumerate(weights)}
    fog = Fog({**named, "d": SimulatedNode(name="d")}, delays(len(weights) + 1, rtt_ms))
    return ExecutorSet.of(list(named), "d", fog, slots_each=slots_each)


def delays(count: int, rtt_ms: float) -> object:
    made = equal_delays(count, rtt_ms)
    return replace(made, names=(*made.names[:-1], "d"))


def shared(physics: SparkPhysics, members: ExecutorSet, rows: int, first_slot: int = 0) -> dict[str, Effort]:
    timeline = run_batch(physics, members, rows, first_slot=first_slot)
    return dict(efforts(physics, [FinishedBatch(members, timeline, rows)]))


@pytest.mark.parametrize("first_slot", [0, 1, 2])
@pytest.mark.parametrize(("partitions", "other_rows"), [(0, [150, 150]), (4, [200, 100])])
def test_the_first_slot_has_the_hottest_partition(first_slot: int, partitions: int, other_rows: list[int]) -> None:
    # 700 of 1000 rows on one slot, the rest in two partitions of 150 rows or three of 100 on the two others.
    did = shared(replace(QUIET, hottest_share=0.7, partitions=partitions), executor_set([1.0] * 3), 1000, first_slot)
    assert did[f"n{first_slot}"] == pytest.approx((700, 1.5, 0))
    rest = [effort.rows for node, effort in did.items() if node != f"n{first_slot}"]
    assert sorted(rest, reverse=True) == pytest.approx(other_rows)


def test_a_lost_executors_rows_move_after_the_loss_is_noticed() -> None:
    # n2 is twice as fast: 3.05 s for its task, idle from 3.25 until 5 s, then 3.05 s for the task of n1.
    members = executor_set([1.0, 1.0, 2.0])
    slow = replace(QUIET, failure_detection_s=3.0)
    timeline = run_batch(slow, members, 9000)
    after = timeline_after_loss(timeline, slow, members, lost=1, able=[0, 2], elapsed_s=2.0)
    did = efforts(slow, [FinishedBatch(members, after, 9000)])
    assert [did[node].rows for node in ("n0", "n1", "n2")] == pytest.approx([3000, 0, 6000])
    assert [did[node].work_s for node in ("n0", "n2")] == pytest.approx([6.1, 6.1])


@settings(deadline=None)
@given(
    weights=st.lists(st.floats(0.2, 4.0), min_size=1, max_size=6),
    name=st.sampled_from(["map", "group-by"]),
    partitions=st.sampled_from([0, 1, 3, 12]),
    slots_each=st.sampled_from([1, 2]),
    hottest_share=st.sampled_from([0.0, 0.3, 0.9, 1.0]),
    rows=st.integers(1, 50_000),
    first=st.integers(0, 11),
)
def test_the_parts_add_up_to_the_batch(
    weights: list[float], name: str, partitions: int, slots_each: int, hottest_share: float, rows: int, first: int
) -> None:
    physics = replace(read_physics(name), partitions=partitions, hottest_share=hottest_share)
    members = executor_set(weights, 70.0, slots_each)
    timeline = run_batch(physics, members, rows, first_slot=first % len(members.paces))
    did = efforts(physics, [FinishedBatch(members, timeline, rows)])
    assert sum(each.rows for each in did.values()) == pytest.approx(rows)
    assert sum(each.work_s for each in did.values()) == pytest.approx(timeline.work_s)
    assert sum(each.waiting_s for each in did.values()) == pytest.approx(timeline.waiting_s)
    assert all(0 <= each.work_s <= timeline.seconds + 1e-9 for each in did.values())


# In the plant


def test_efforts_of_recent_batches_are_available_at_any_time() -> None:
    scene = one_operator(steady(100, 2000), delays=equal_delays(3, 0), initial={"op": ("n0", "n1")})
    plant = SparkPlant(scene, physics_of(scene, QUIET), seed=1)
    plant.advance(65)
    reported = plant.efforts("op", plant.batches("op")[-2:])
    nothing = plant.efforts("op", [])
    order(plant, "op", add=("n2",), remove=("n1",))
    plant.advance(2000)
    # Two batches of 1000 rows on two executors, 0.1 + 1.0 s each.
    assert reported() == {"n0": pytest.approx((1000, 2.2, 0)), "n1": pytest.approx((1000, 2.2, 0))}
    assert nothing() == {}


# Rows sent downstream


def test_a_batch_reports_its_output_without_losing_fractions() -> None:
    scene = chain(steady(7, 1000), delays=equal_delays(2, 0), ratio=0.33)
    plant = SparkPlant(scene, physics_of(scene, QUIET), seed=1)
    plant.advance(1500)
    first, second = ([batch.output_rows for batch in plant.batches(name)] for name in ("first", "second"))
    assert set(first) == {23, 24}  # 70 rows a batch, 23.1 on
    assert sum(first) == 2310 == sum(batch.rows for batch in plant.batches("second"))
    assert second == [batch.rows for batch in plant.batches("second")], "a sink emits what it reads"
