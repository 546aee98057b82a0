"""Whatever happens to nodes: once enough of them are back, the replicas carry the load, and no reason was false."""

from dataclasses import replace

from complaint_world import ordered, run
from hypothesis import given, settings
from hypothesis import strategies as st
from spark_scenes import QUIET, equal_delays, one_operator, steady
from thoroughness import examples

from gesscale.model.decision import Reason
from testbed.simulator.scene import FailureKind, NodeFailure

#: Nodes but the driver's; three of five are needed for 1,200 rows/s of 488 each.
NODES = ("n1", "n2", "n3", "n4", "n5")
CALM_S, DURATION_S = 1200.0, 3000.0
PHYSICS = replace(QUIET, trigger_s=5.0, start_s=10.0)


def failure(node: str, from_s: int, lasts_s: int, loss: FailureKind) -> NodeFailure:
    return NodeFailure(node=node, from_s=float(from_s), until_s=min(CALM_S, from_s + lasts_s), loss=loss)


events = st.lists(
    st.builds(
        failure, st.sampled_from(NODES), st.integers(60, 1100), st.integers(5, 900), st.sampled_from(FailureKind)
    ),
    max_size=8,
)


@settings(max_examples=examples(60, few=8))
@given(failures=events, policy=st.sampled_from(["gesscale", "static", "ds2"]))
def test_the_load_is_carried_once_enough_nodes_are_back(failures: list[NodeFailure], policy: str) -> None:
    scene = one_operator(
        steady(1200.0, DURATION_S),
        delays=equal_delays(6, 5.0),
        most=4,
        initial={"op": NODES[:3]},
        failures=tuple(failures),
        period_s=20.0,
    )
    notes = run(scene, policy, physics=PHYSICS, wired=ordered(NODES[:3]))
    last = [each for each in notes.samples["op"] if DURATION_S - 300 <= each.t_s < DURATION_S]
    assert all(each.serving_replicas >= each.demand_replicas == 3 for each in last)
    assert sum(each.rows for each in notes.completions) == 1200 * DURATION_S
    for each in notes.decisions:
        if each.plan.reason is Reason.AT_MAX_REPLICAS:
            assert len(each.plan.placement) == 4
        assert each.plan.reason not in {Reason.IDLE_REPLICA, Reason.IDLE_LIMIT, Reason.PARTITION_LIMIT}
