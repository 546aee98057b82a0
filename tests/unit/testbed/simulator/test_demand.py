from collections.abc import Sequence

import pytest
from spark_scenes import QUIET, chain, equal_delays, physics_of, steady

from gesscale.model.workflow import Operator
from testbed.simulator.demand import BestPlacements, best_placements
from testbed.simulator.spark.plant import SparkPlant

CAPACITY = {"a": 100.0, "b": 80.0, "c": 10.0}


def mst(operator: str, placement: Sequence[str]) -> float:
    """Return the capacity of a placement, rows/s: the sum over its nodes, minus 30 for three nodes."""
    assert operator == "op"
    return sum(CAPACITY[node] for node in placement) - 30 * (len(placement) == 3)


def operator(**limits: int) -> Operator:
    return Operator(name="op", driver_node="a", **limits)


def test_each_number_of_replicas_has_its_best_placement() -> None:
    best = BestPlacements(mst, operator(), ["c", "b", "a"])
    assert [best[count] for count in (1, 2, 3)] == [(100.0, ("a",)), (180.0, ("a", "b")), (160.0, ("a", "b", "c"))]


@pytest.mark.parametrize(("rate", "replicas"), [(0, 1), (100, 1), (100.1, 2), (180, 2), (500, 3)])
def test_the_demand_is_the_fewest_replicas_for_the_rate_or_all(rate: float, replicas: int) -> None:
    assert BestPlacements(mst, operator(), ["a", "b", "c"]).smallest_for(rate)[0] == replicas


def test_beyond_twelve_nodes_a_placement_grows_greedily() -> None:
    # 20 nodes with capacities 1..20 that add up: the best n are the n largest, and growing finds them.
    names = [f"m{number:02}" for number in range(1, 21)]
    best = BestPlacements(
        lambda _, placement: sum(int(node[1:]) for node in placement), operator(max_replicas=3), names
    )
    assert best[3] == (57, ("m18", "m19", "m20"))


def test_the_demand_of_a_scene_follows_the_true_mst_of_its_plant() -> None:
    # n0 holds the driver. One replica there: B = 6000, T = 0.2 + 0.1 + 12 = 12.3 s, 487.8 rows/s. The second is
    # 100 ms away: T = 12.3 + 4 x 0.1 = 12.7 s, 12000 / 12.7 = 944.9 rows/s.
    scene = chain(steady(100, 600), delays=equal_delays(2, 100))
    best = best_placements(scene, SparkPlant(scene, physics_of(scene, QUIET), seed=1))["first"]
    assert best[1] == (pytest.approx(6000 / 12.3), ("n0",))
    assert best[2] == (pytest.approx(12000 / 12.7), ("n0", "n1"))
    assert [best.smallest_for(rate)[0] for rate in (487, 488, 944, 945)] == [1, 2, 2, 2]
