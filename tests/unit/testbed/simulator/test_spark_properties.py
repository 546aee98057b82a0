"""For any orders and failures, rows are not lost or duplicated, and time never goes backwards."""

import math
from dataclasses import replace
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st
from simulated_orders import order
from spark_scenes import chain, drawn_delays, one_operator, steady
from thoroughness import examples

from gesscale.errors import ClusterError
from testbed.scoring.sample import Completion
from testbed.simulator.plant import Tally
from testbed.simulator.scene import LinkSlowdown, NodeFailure, Scene
from testbed.simulator.spark.constants import SparkPhysics, read_physics
from testbed.simulator.spark.plant import SparkPlant

NODES = tuple(f"n{index}" for index in range(5))
INPUT_S = 900.0

moves = st.lists(
    st.tuples(st.floats(0.5, 120), st.sampled_from(["first", "second"]), st.sampled_from(NODES)), max_size=25
)
faults = st.lists(st.tuples(st.sampled_from(NODES), st.floats(0, INPUT_S), st.floats(1, 300)), max_size=5).map(
    lambda drawn: tuple(NodeFailure(node=n, from_s=round(at_s, 3), until_s=at_s + for_s) for n, at_s, for_s in drawn)
)
links = st.lists(
    st.tuples(st.sampled_from(NODES[:2]), st.sampled_from(NODES[2:]), st.floats(0, INPUT_S)), max_size=3
).map(
    lambda drawn: tuple(
        LinkSlowdown(one=one, other=other, from_s=round(at_s, 3), until_s=at_s + 200, added_ms=400)
        for one, other, at_s in drawn
    )
)
physics = st.builds(
    lambda name, partitions, slots, hot: replace(
        read_physics(name), service_ms_per_row=2.0, partitions=partitions, slots_per_replica=slots, hottest_share=hot
    ),
    st.sampled_from(["map", "group-by"]),
    st.sampled_from([0, 3, 12]),
    st.sampled_from([1, 2]),
    st.sampled_from([0.0, 0.6]),
)


def toggle(plant: SparkPlant, operator: str, node: str) -> None:
    """Add a replica on a node, or remove the present one."""
    present = plant.state().placements.get(operator, ())
    try:
        order(plant, operator, **{"remove" if node in present else "add": (node,)})
    except ClusterError:
        assert plant.state().placements.get(operator, ()) == present, "a failed order changes nothing"


def check(plant: SparkPlant, operator: str, before: Tally | None) -> Tally:
    now = plant.tally(operator)
    assert 0 <= now.processed_rows <= now.offered_rows
    assert 0 <= now.serving_replicas <= now.supply_replicas
    if before is not None:
        assert now.offered_rows >= before.offered_rows
        assert now.processed_rows >= before.processed_rows
        assert now.replica_seconds >= before.replica_seconds
        assert now.work_s >= before.work_s - 1e-9
        assert now.waiting_s >= before.waiting_s - 1e-9
    return now


def shifted(scene: Scene, moved: list[tuple[float, str, str]], what: SparkPhysics, seed: int) -> None:
    plant = SparkPlant(scene, dict.fromkeys(scene.workflow.operators, what), seed=seed)
    tallies: dict[str, Tally | None] = {"first": None, "second": None}
    completions: list[Completion] = []
    ended_at_s = {"first": -math.inf, "second": -math.inf}
    now_s = 0.0
    for wait_s, operator, node in [*moved, *((100.0, "first", "") for _ in range(40))]:
        now_s += wait_s
        plant.advance(now_s)
        completions += plant.completions()
        for name, before in tallies.items():
            tallies[name] = check(plant, name, before)
            batches = plant.batches(name)
            assert all(one.ended_at_s < other.ended_at_s for one, other in pairwise(batches))
            assert all(one.batch_id + 1 == other.batch_id for one, other in pairwise(batches))
            if batches:
                assert ended_at_s[name] <= batches[-1].ended_at_s <= now_s
                ended_at_s[name] = batches[-1].ended_at_s
        if node:
            toggle(plant, operator, node)
    done = sum(completion.rows for completion in completions)
    assert done == plant.tally("second").processed_rows
    for completion in completions:
        assert completion.offered_from_s <= completion.offered_until_s <= completion.at_s
    # With a replica and without further failures, all rows are processed in the end.
    for name in tallies:
        if not plant.state().placements[name]:
            order(plant, name, add=("n4",))
    plant.advance(now_s + 20_000)
    completions += plant.completions()
    total = scene.workloads["first"].total_rows
    assert plant.tally("first").processed_rows == total
    assert sum(completion.rows for completion in completions) == math.floor(total * 0.5)


@settings(max_examples=examples(60), deadline=None)
@given(moves, faults, links, physics, st.integers(0, 1000))
def test_rows_are_conserved_under_changes_and_failures(
    moved: list[tuple[float, str, str]],
    failures: tuple[NodeFailure, ...],
    slowdowns: tuple[LinkSlowdown, ...],
    what: SparkPhysics,
    seed: int,
) -> None:
    scene = chain(steady(300, INPUT_S), delays=drawn_delays(5, seed), ratio=0.5, failures=failures, slowdowns=slowdowns)
    shifted(scene, moved, what, seed)


@settings(max_examples=examples(40), deadline=None)
@given(st.lists(st.sampled_from(NODES), min_size=1, max_size=5, unique=True), physics, st.integers(0, 1000))
def test_the_true_mst_falls_with_delay_and_ignores_the_order_of_nodes(
    placement: list[str], what: SparkPhysics, seed: int
) -> None:
    near = one_operator(steady(1, 10), delays=drawn_delays(5, seed))
    far = replace(near, delays=type(near.delays)(names=near.delays.names, rtt_ms=near.delays.rtt_ms * 2))
    one, other = (SparkPlant(scene, {"op": what}, seed=seed) for scene in (near, far))
    mst = one.mst_rows_per_s("op", placement)
    assert mst == one.mst_rows_per_s("op", placement[::-1])
    # If slots take tasks as they become free, a longer delay may by chance lead to a better distribution.
    assert other.mst_rows_per_s("op", placement) <= mst * 1.02
    assert mst > 0
