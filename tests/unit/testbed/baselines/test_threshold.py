"""THR: CPU above 90 % adds one replica, below 50 % removes one."""

import pytest
from edge import known, observe, operator, reading, workflow

from gesscale.model.decision import Change, Reason
from gesscale.options import PolicyOptions
from gesscale.policies import policy_named
from gesscale.ports import ClusterState, Node

NODES = ("hub", "near", "mid", "far", "edge")


def plan(name, placement, *, seed=0, at_s=1000.0, limits=(1, 5), **shares):
    chosen = policy_named(
        name, workflow(operator(min_replicas=limits[0], max_replicas=limits[1])), PolicyOptions(seed=seed)
    )
    state = ClusterState(nodes={node: Node(name=node) for node in NODES}, placements={"op": placement})
    analyses = chosen.analyze(observe(reading(placement, at_s=at_s, **shares)), known())
    return chosen.plan(analyses, state, known())["op"]


@pytest.mark.parametrize(
    ("cpu", "change"), [(0.91, Change(add=("mid",))), (0.90, None), (0.50, None), (0.49, Change(remove=("near",)))]
)
def test_thresholds_are_exclusive_and_the_map_chooses(cpu, change):
    # near is 10 ms from hub; hub itself is the driver's node, so the other one goes.
    assert plan("thr-nlaware", ("hub", "near"), cpu_share=cpu).change == change


def test_nothing_changes_without_measured_cpu():
    result = plan("thr-nlaware", ("hub",), cpu_share=None, busy_share=0.95)
    assert (result.change, result.reason) == (None, Reason.METRICS_MISSING)


def test_the_farthest_goes_first():
    assert plan("thr-nlaware", ("edge", "hub", "near"), cpu_share=0.1).change == Change(remove=("edge",))


def test_the_unaware_variant_draws_any_node_but_always_the_same_for_one_observation():
    first = [plan("thr-nlunaware", ("hub",), cpu_share=0.95, at_s=at).change for at in range(40)]
    again = [plan("thr-nlunaware", ("hub",), cpu_share=0.95, at_s=at).change for at in range(40)]
    assert first == again
    # 40 draws of 4 nodes miss a given one with probability 0.75^40 = 1e-5.
    assert {change.add[0] for change in first} == {"near", "mid", "far", "edge"}
