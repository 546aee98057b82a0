import math
from dataclasses import replace

import pytest
from refusals import refused
from simulated_orders import order
from spark_scenes import QUIET, chain, equal_delays, one_operator, physics_of, steady

from gesscale.errors import ClusterError
from gesscale.model.decision import OutcomeStatus, Reason
from gesscale.model.observation import Batch
from testbed.simulator.scene import CostChange, NodeFailure, Scene
from testbed.simulator.spark.constants import SparkPhysics
from testbed.simulator.spark.plant import SparkPlant
from testbed.workloads.workload import Workload


def plant_of(scene: Scene, physics: SparkPhysics = QUIET) -> SparkPlant:
    return SparkPlant(scene, physics_of(scene, physics), seed=1)


def plant_at(rate: float, physics: SparkPhysics = QUIET, *, rtt_ms: float = 0.0, **more: object) -> SparkPlant:
    """Return four nodes, one replica with the driver on n0, rows at a steady rate for 1000 s."""
    return plant_of(one_operator(steady(rate, 1000), delays=equal_delays(4, rtt_ms), **more), physics)


def last(plant: SparkPlant, operator: str = "op") -> Batch:
    return plant.batches(operator)[-1]


# Batches and triggers


def test_a_batch_starts_at_a_trigger_with_the_offered_rows() -> None:
    plant = plant_at(100)
    plant.advance(39)
    # At 10, 20 and 30 s 1000 rows wait: 0.3 + 2.0 s. At 0 s there were none.
    assert [(b.batch_id, b.ended_at_s, b.rows) for b in plant.batches("op")] == [
        (0, pytest.approx(12.3), 1000),
        (1, pytest.approx(22.3), 1000),
        (2, pytest.approx(32.3), 1000),
    ]
    batch = last(plant)
    assert (batch.seconds, batch.trigger_s, batch.nodes) == (pytest.approx(2.3), 10.0, ("n0",))
    assert (batch.cap_rows, batch.offered_rows_total, batch.backlog_rows) == (6000, 3000, 0)


def test_the_true_mst_is_a_full_batch_over_its_time_or_the_trigger() -> None:
    plant = plant_at(100, rtt_ms=100)
    assert plant.mst_rows_per_s("op", ["n0"]) == pytest.approx(6000 / 12.3)
    assert plant.mst_rows_per_s("op", ["n0", "n1", "n2"]) == pytest.approx(18_000 / 12.7)
    assert plant.mst_rows_per_s("op", []) == 0
    quick = plant_at(100, replace(QUIET, service_ms_per_row=1.0))  # 6.3 s, and then it waits for the trigger
    assert quick.mst_rows_per_s("op", ["n0"]) == 600


# Idling


def test_an_idle_query_runs_no_batch_but_reports() -> None:
    load = Workload.of_rates("pause", 100.0, [10.0, 0.0, 10.0])
    plant = plant_of(one_operator(load, delays=equal_delays(1, 0)))
    plant.advance(195)
    assert last(plant).ended_at_s == pytest.approx(100.5)  # 100 rows: 0.3 + 0.2 s
    reported = [plant.last_progress_at_s("op", by_s) for by_s in (5, 50, 99, 105, 115, 195)]
    assert reported == pytest.approx([0.0, 40.5, 90.5, 100.5, 110.0, 190.0])


# Added and removed replicas


def test_a_new_replica_works_from_the_first_batch_that_begins_after_its_start() -> None:
    plant = plant_at(600, replace(QUIET, cold_min_s=4.0, cold_max_s=4.0, warm_up_share=0.5, warm_up_fade=0.0))
    plant.advance(20)
    outcome = order(plant, "op", add=("n1",))
    assert (outcome.status, outcome.added) == (OutcomeStatus.APPLIED, ("n1",))
    assert (plant.state().placements, plant.state().starting) == ({"op": ("n0",)}, {"op": ("n1",)})
    tally = plant.tally("op")
    assert (tally.supply_replicas, tally.serving_replicas) == (2, 1)
    plant.advance(100)
    batches = plant.batches("op")
    # Ready at 25 s, during the batch from 22.3 to 34.6 s, which it does not speed up. 12,000 rows take
    # 12.3 s on two, but it is cold and takes 4 s longer, then 2 s, then no extra time.
    assert [batch.nodes for batch in batches[:3]] == [("n0",), ("n0", "n1"), ("n0", "n1")]
    assert [batch.cap_rows for batch in batches[:3]] == [6000, 6000, 12_000]
    assert batches[2].rows == 34.6 * 600 // 1 - 12_000
    first_s = 0.3 + 0.002 * batches[2].rows / 2 + 4
    second_s = 0.3 + 0.002 * batches[3].rows / 2 + 2
    third_s = 0.3 + 0.002 * batches[4].rows / 2
    assert [batch.seconds for batch in batches[2:5]] == pytest.approx([first_s, second_s, third_s])
    assert plant.tally("op").serving_replicas == 2


def test_a_removed_replica_finishes_its_task() -> None:
    plant = plant_at(600, initial={"op": ("n0", "n1")})
    plant.advance(12)  # the first batch, 6000 rows on two: 10 to 16.3 s
    order(plant, "op", remove=("n1",))
    tally = plant.tally("op")
    assert (tally.supply_replicas, tally.serving_replicas) == (1, 1)
    plant.advance(17)
    assert (last(plant).ended_at_s, last(plant).nodes) == (pytest.approx(16.3), ("n0",))
    assert last(plant).cap_rows == 12_000
    plant.advance(35)
    assert last(plant).cap_rows == 6000


def test_without_replicas_a_batch_waits_until_there_is_one() -> None:
    plant = plant_at(100)
    plant.advance(9)
    order(plant, "op", remove=("n0",))
    plant.advance(42)
    assert not plant.batches("op")
    assert plant.tally("op").serving_replicas == 0
    order(plant, "op", add=("n2",))
    plant.advance(60)
    # Begun at 10 s with 1000 rows; n2 is ready at 47 s: 37 s of waiting and 2.3 s of work.
    batch = plant.batches("op")[0]
    assert (batch.rows, batch.seconds, batch.nodes) == (1000, pytest.approx(39.3), ("n2",))


def test_executors_that_start_together_slow_each_other_down() -> None:
    plant = plant_at(100, replace(QUIET, start_together_s=2.0))
    plant.advance(20)
    order(plant, "op", add=("n1",))
    plant.advance(23)
    order(plant, "op", add=("n2",))
    # Alone a start takes 5 s. n1 is ready at 20 + 5 + 2 s, and n2 at 23 + 5 + 2 s; n3 starts when both are there.
    serving = []
    for at_s in (26.9, 27.1, 29.9, 30.1):
        plant.advance(at_s)
        serving.append(plant.tally("op").serving_replicas)
    assert serving == [1, 2, 2, 3]
    order(plant, "op", add=("n3",))
    plant.advance(35.2)
    assert plant.tally("op").serving_replicas == 4


# Failures


def failing(node: str, from_s: float, until_s: float) -> tuple[NodeFailure, ...]:
    return (NodeFailure(node=node, from_s=from_s, until_s=until_s),)


def test_a_failed_node_loses_its_replica_and_repeats_its_task() -> None:
    physics = replace(QUIET, failure_detection_s=1.0)
    plant = plant_at(600, physics, initial={"op": ("n0", "n1")}, failures=failing("n1", 12, 50))
    plant.advance(13)
    assert plant.order("op", ("n0",)).status is OutcomeStatus.NOTHING_TO_DO
    assert plant.state().placements == {"op": ("n0",)}
    assert plant.state().nodes["n1"].reason is Reason.NOT_READY
    assert plant.state().nodes["n1"].problem
    plant.advance(30)
    # 6000 rows from 10 s on: both tasks of 6.1 s end at 16.3 s, then n0 runs the other one: 22.4 s.
    assert (last(plant).ended_at_s, last(plant).rows, last(plant).nodes) == (pytest.approx(22.4), 6000, ("n0",))
    plant.advance(200)
    assert plant.state().placements == {"op": ("n0",)}, "it was not started again"
    assert not plant.state().nodes["n1"].problem


def test_without_its_driver_a_query_stops_and_counts_anew_when_it_is_back() -> None:
    physics = replace(QUIET, driver_restart_s=25.0)
    plant = plant_at(100, physics, initial={"op": ("n0", "n1")}, failures=failing("n0", 101, 200))
    plant.advance(150)
    assert plant.state().placements == {}
    with refused("simulated-driver-down", ClusterError, node="n0"):
        order(plant, "op", add=("n2",))
    assert plant.tally("op").serving_replicas == 0
    before = last(plant)
    assert before.ended_at_s < 101
    plant.advance(245)
    # The query is back at 225 s, its replica on n1 at 230 s; that on n0 died with the node.
    after = plant.batches("op")[before.batch_id + 1]
    assert after.nodes == ("n1",)
    assert after.batch_id == before.batch_id + 1
    assert after.ended_at_s - after.seconds == pytest.approx(230)
    assert after.offered_rows_total == 23_000 - plant.batches("op")[0].rows * (before.batch_id + 1)
    assert plant.state().placements == {"op": ("n1",)}


# Counters


def test_work_and_waiting_are_separate_and_spread_over_the_batch() -> None:
    plant = plant_at(100, rtt_ms=100, initial={"op": ("n1",)})
    plant.advance(10 + 2.7 / 2)  # half of 0.2 + 0.4 + 0.1 + 2.0 s
    half = plant.tally("op")
    plant.advance(19)
    whole = plant.tally("op")
    assert (half.work_s, half.waiting_s) == pytest.approx((1.05, 0.2))
    assert (whole.work_s, whole.waiting_s) == pytest.approx((2.1, 0.4))


# Several operators


def test_output_is_offered_downstream_at_the_end_of_the_batch() -> None:
    scene = chain(steady(100, 100), delays=equal_delays(2, 0), ratio=0.301)
    plant = plant_of(scene)
    plant.advance(12.2)
    assert plant.tally("second").offered_rows == 0
    plant.advance(12.4)
    assert plant.tally("second").offered_rows == 301
    plant.advance(22)
    (completion,) = plant.completions()
    # Taken at 20 s: 0.3 + 0.602 s. The rows entered the workflow from 0 to 10 s.
    assert (completion.rows, completion.at_s) == (301, pytest.approx(20.902))
    # The first row is whole after 0.01 s.
    assert (completion.offered_from_s, completion.offered_until_s) == pytest.approx((0.01, 10))
    assert plant.completions() == []
    plant.advance(200)
    assert plant.tally("second").processed_rows == math.floor(10_000 * 0.301)
    assert sum(each.rows for each in plant.completions()) == 3010 - 301


# Sources and costs that change


def test_a_minimum_of_rows_is_waited_for_no_longer_than_the_source_may() -> None:
    plant = plant_at(100, replace(QUIET, min_rows=2500, max_trigger_delay_s=100.0))
    plant.advance(39)
    assert [batch.rows for batch in plant.batches("op")] == [3000]  # at 30 s; 1,000 and 2,000 are too few
    slow = plant_at(10, replace(QUIET, min_rows=2500, max_trigger_delay_s=100.0))
    slow.advance(119)
    assert [batch.rows for batch in slow.batches("op")] == [1000]  # at 100 s


def test_a_row_costs_more_between_two_instants() -> None:
    scene = one_operator(
        steady(100, 1000),
        delays=equal_delays(4, 0.0),
        cost_changes=(CostChange(from_s=15.0, until_s=25.0, factor=3.0),),
    )
    plant = plant_of(scene)
    plant.advance(39)
    # 1,000 rows at 2 ms take 0.3 + 2 s, at 6 ms 0.3 + 6 s.
    assert [batch.seconds for batch in plant.batches("op")] == pytest.approx([2.3, 6.3, 2.3])
