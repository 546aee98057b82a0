"""The bundled experiment of adverse conditions: each variant sets its condition, and some have the described effect."""

from collections.abc import Mapping

import pytest

from testbed.arena.case import Case
from testbed.arena.experiments.experiment import Experiment, read_experiment
from testbed.arena.runner import run_case
from testbed.arena.worlds.scenes import World, world_of

OP = "operator"


@pytest.fixture(scope="module")
def adversity() -> Experiment:
    return read_experiment("adversity")


@pytest.fixture
def world(adversity):
    def build(variant: str, workload: str = "spikes", policy: str = "static") -> World:
        return world_of(adversity, Case(workload=workload, seed=0, policy=policy, variant=variant))

    return build


@pytest.mark.parametrize(("variant", "node"), [("failure=worker", "edge2"), ("failure=driver", "edge1")])
def test_a_node_fails_for_half_an_hour_and_returns(world, variant, node):
    plant = world(variant).plant
    up = []
    for at_min in (104, 106, 134, 136):
        plant.advance(60.0 * at_min)
        up.append([name for name, state in plant.state().nodes.items() if not state.problem])
    assert [node in names for names in up] == [True, False, False, True]
    assert {len(names) for names in up} == {7, 8}


def test_a_policy_that_counts_only_work_ignores_a_slow_link(adversity):
    def metrics_of(variant: str) -> Mapping[str, float | int | bool | None]:
        loaded = adversity.changed({"workloads": ["steps:20"]})
        return run_case(loaded, Case(workload="steps:20", seed=0, policy="thr-nlaware", variant=variant)).metrics

    # The link is slow from 30 min on. A full batch then takes 2,400 rows of 5 ms on each slot, 12 s, plus 0.31 s;
    # 4.41 round trips of 604 ms are 2.7 s more. Work is 12.07 of 15.0 s, 80 %, and THR adds above 90 %. It has the
    # three replicas of the second step by then and keeps them. The next steps of 20 min need 4, 5, 7, 5 and 4 of the
    # 180 min, so 1, 2, 4, 2 and 1 are missing: 10 * 20 / 180 = 1.1.
    calm, slow = metrics_of("default"), metrics_of("link=slower")
    assert slow["accuracy_U"] == pytest.approx(1.1, abs=0.15)
    assert calm["accuracy_U"] < 0.2
    assert slow["lag_above_slo_s"] > 3600 > calm["lag_above_slo_s"]


def test_a_stage_waits_for_its_slowest_node_known_or_not(world):
    for variant, reported in (("speed=unequal-unknown", 1.0), ("speed=unequal-known", 0.5)):
        plant = world(variant).plant
        # 2400 rows of 5 ms take 12 s on edge1 and 24 s on edge2, at half the speed: two replicas process 4800 rows
        # in the same time as one. The rest of a batch, 0.31 s and 4.41 round trips of 4 ms, is below 3 % of it.
        both, alone = (plant.mst_rows_per_s(OP, nodes) for nodes in (("edge1", "edge2"), ("edge1",)))
        assert both == pytest.approx(alone, rel=0.03)
        assert plant.state().weights["edge2"] == reported
    calm = world("default").plant
    assert calm.mst_rows_per_s(OP, ("edge1", "edge2")) == pytest.approx(2 * alone, rel=0.03)


def test_with_a_hot_partition_a_fifth_replica_gains_nothing(world):
    best = world("partitions=skewed").best[OP]
    # A quarter of 9,600 rows is an even share of four replicas: 12 s. Of the 19,200 of eight it is 24 s: twice the
    # rows in twice the time.
    assert best[4][0] == pytest.approx(2 * best[2][0], rel=0.02)
    assert best[8][0] <= best[5][0] <= 1.02 * best[4][0]
    calm = world("default").best[OP]
    assert calm[5][0] > 1.2 * calm[4][0]


def test_the_night_has_no_row_and_the_day_needs_four_replicas(adversity, world):
    night = world("default", adversity.workloads[-1])
    load = night.scene.workloads[OP]
    assert load.absolute
    assert load.rows_per_s[int(90 * 60 // load.step_s)] == 0.0
    assert load.offered_rows(160 * 60) == load.offered_rows(60 * 60) == 600 * 3600
    assert night.best[OP].smallest_for(load.rows_per_s[int(30 * 60 // load.step_s)])[0] == 4
