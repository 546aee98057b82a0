"""Policies with a missing or stale latency map: a stale map adds replicas but removes none."""

import pytest
from edge import NODES, known, latencies, observe, reading, workflow

from gesscale.model.decision import Change, MapStatus, Reason
from gesscale.options import PolicyOptions
from gesscale.policies import policy_named
from gesscale.ports import ClusterState, Knowledge, Latencies, Node
from perfmodel import Reading

STALE = "26 h old: stale"
NONE_YET = Knowledge(latencies=Latencies(map_status=MapStatus(problem="agents: none answers")))
AWARE = ("gesscale-2021", "thr-nlaware")

# MST = 100 n - 0.2 ND, exactly, on the placements that grow from hub.
LEARNED = {
    "op": tuple(
        Reading(replicas=n, nd_max_ms=nd, rows_per_s=rate, batch_rows=100.0 * n, weight=float(n))
        for n, nd, rate in ((1, 0, 100), (2, 10, 198), (3, 50, 290), (4, 200, 360))
    )
}
OVERLOADED = reading(("hub", "near"), throughput=190, offered=300, saturated=1.0, backlog=9000, cpu_share=0.95)
IDLE = reading(("far", "hub", "mid", "near"), throughput=20, cpu_share=0.1)


def decide(policy, seen, knowledge, nodes=NODES):
    chosen = policy_named(policy, workflow(), PolicyOptions())
    state = ClusterState(nodes={name: Node(name=name) for name in nodes}, placements={"op": seen.placement})
    analyses = chosen.analyze(observe(seen), knowledge)
    return analyses["op"], chosen.plan(analyses, state, knowledge)["op"]


@pytest.mark.parametrize("policy", AWARE)
def test_a_stale_map_removes_no_replica(policy):
    fresh = decide(policy, IDLE, known(readings=LEARNED))[1]
    _, stale = decide(policy, IDLE, known(stale=STALE, readings=LEARNED))
    assert fresh.change is not None
    assert (stale.change, stale.reason) == (None, Reason.LATENCY_MAP_STALE)
    assert stale.placement == IDLE.placement
    assert "26 h old" in stale.detail


@pytest.mark.parametrize("policy", AWARE)
def test_a_stale_map_may_add_the_nearest_node(policy):
    _, plan = decide(policy, OVERLOADED, known(stale=STALE))
    assert plan.change == Change(add=("mid",))
    assert plan.detail.endswith(STALE)


def test_no_evidence_is_taken_under_a_stale_map():
    assert decide("gesscale-2021", OVERLOADED, known())[0].evidence
    analysis, _ = decide("gesscale-2021", OVERLOADED, known(stale=STALE, readings=LEARNED))
    assert analysis.evidence == ()
    assert analysis.mst is not None  # what was learned before still tells


@pytest.mark.parametrize("policy", AWARE)
@pytest.mark.parametrize("seen", [OVERLOADED, IDLE], ids=["overloaded", "idle"])
def test_without_a_map_nothing_changes(policy, seen):
    analysis, plan = decide(policy, seen, NONE_YET)
    assert (plan.change, plan.reason) == (None, Reason.LATENCY_MAP_MISSING)
    assert plan.detail == "agents: none answers"
    assert analysis.nd_max_ms is None


@pytest.mark.parametrize("policy", AWARE)
@pytest.mark.parametrize("lost", ["far", "hub", "mid"])
def test_a_node_missing_from_the_map_is_not_far(policy, lost):
    # The agent of that node is down: the map of the others is fresh and lacks it.
    rest = latencies().map.subset([name for name in NODES if name != lost])
    partial = Knowledge(readings=LEARNED, latencies=Latencies(map=rest))
    _, plan = decide(policy, IDLE, partial)
    assert (plan.change, plan.reason) == (None, Reason.DELAY_UNKNOWN)
    assert lost in plan.detail


@pytest.mark.parametrize("seen", [OVERLOADED, IDLE], ids=["overloaded", "idle"])
def test_a_policy_without_the_map_ignores_its_status(seen):
    knowledges = (known(), known(stale=STALE), NONE_YET)
    changes = [decide("thr-nlunaware", seen, knowledge)[1].change for knowledge in knowledges]
    assert changes[0] is not None
    assert len(set(changes)) == 1
