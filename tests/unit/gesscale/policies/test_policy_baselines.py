"""MDL-NLUnaware, which knows only Eq. 2, and static, which changes nothing."""

import pytest
from edge import NODES, known, observe, operator, reading, workflow

from gesscale.model.decision import Reason
from gesscale.options import PolicyOptions
from gesscale.policies import policy_named
from gesscale.ports import ClusterState, Knowledge, Latencies, Node
from perfmodel import Reading

# What a node contributed: 100, 95, 90 rows/s; Eq. 2 takes all for the same thing, about 95 a node.
LEARNED = tuple(
    Reading(replicas=n, nd_max_ms=nd, rows_per_s=rate, batch_rows=100.0 * n, weight=float(n))
    for n, nd, rate in ((1, 0, 100), (2, 10, 190), (4, 200, 360))
)


def plan(name, placement, *, seed=0, at_s=1000.0, readings=LEARNED, **seen):
    chosen = policy_named(name, workflow(operator()), PolicyOptions(seed=seed))
    state = ClusterState(nodes={node: Node(name=node) for node in NODES}, placements={"op": placement})
    knowledge = known(readings={"op": readings})
    analyses = chosen.analyze(observe(reading(placement, at_s=at_s, **seen)), knowledge)
    return chosen.plan(analyses, state, knowledge)["op"]


def test_mdl_adds_any_free_node_but_always_the_same_for_one_observation():
    overload = {"throughput": 100, "offered": 150, "saturated": 1.0, "backlog": 400}
    first = [plan("mdl-nlunaware", ("hub",), at_s=at, **overload) for at in range(1000, 1040)]
    again = [plan("mdl-nlunaware", ("hub",), at_s=at, **overload) for at in range(1000, 1040)]
    assert first == again
    # 40 draws of 4 nodes miss a given one with probability 0.75^40 = 1e-5.
    assert {item.change.add[0] for item in first} == {"near", "mid", "far", "edge"}
    assert {item.reason for item in first[0].rejections} == {Reason.NOT_SELECTED}


def test_mdl_removes_several_at_once_at_any_delay():
    # About 95 rows/s a node, at least 80 in its interval: 150 rows/s need two nodes; which two is drawn.
    kept = [
        plan("mdl-nlunaware", ("far", "hub", "mid", "near"), at_s=at, throughput=150).placement
        for at in range(1000, 1040)
    ]
    assert {len(placement) for placement in kept} == {2}
    assert len(set(kept)) > 2


#: No latency map, a stale one, and one that lacks all nodes of the replicas but the driver's.
POOR_MAPS = {
    "none": Latencies(map=None),
    "stale": known(stale="the map is a day old").latencies,
    "partial": Latencies(map=known().latencies.map.subset(["hub", "edge"])),
}
PLACEMENT = ("far", "hub", "mid", "near")


def decide_mdl(latencies, seen, readings):
    chosen = policy_named("mdl-nlunaware", workflow(operator()), PolicyOptions())
    state = ClusterState(nodes={node: Node(name=node) for node in NODES}, placements={"op": seen.placement})
    knowledge = Knowledge(readings={"op": readings}, latencies=latencies)
    analyses = chosen.analyze(observe(seen), knowledge)
    return analyses["op"], chosen.plan(analyses, state, knowledge)["op"]


@pytest.mark.parametrize("latencies", POOR_MAPS.values(), ids=POOR_MAPS)
def test_mdl_decides_the_same_without_a_good_map(latencies):
    seen = reading(PLACEMENT, throughput=150)
    with_map = decide_mdl(known().latencies, seen, LEARNED)[1]
    analysis, plan = decide_mdl(latencies, seen, LEARNED)
    # About 95 rows/s a node carry 150 rows/s with two: the readings count whatever their delay.
    assert (plan.reason, plan.change, plan.mst) == (Reason.UNDERUSED, with_map.change, with_map.mst)
    assert len(plan.placement) == 2
    assert analysis.mst is not None


@pytest.mark.parametrize("latencies", POOR_MAPS.values(), ids=POOR_MAPS)
def test_mdl_learns_from_saturation_without_a_good_map(latencies):
    # 400 rows of four replicas in 400 / 360 s: 360 rows/s, 90 of each.
    seen = reading(PLACEMENT, throughput=360, offered=500, saturated=1.0, backlog=4000)
    analysis, plan = decide_mdl(latencies, seen, ())
    assert [(each.replicas, each.nd_max_ms, round(each.rows_per_s)) for each in analysis.evidence] == [(4, 0.0, 360)]
    assert analysis.mst.mid == pytest.approx(360)
    assert plan.change.add == ("edge",)
    assert plan.mst.mid == pytest.approx(450)
    # Later, at 100 rows/s: one replica carries 90, two 180 (143 at the low end: 5 % prior error, 2.92 of it, sqrt 2).
    calm = reading(PLACEMENT, throughput=100, at_s=2000.0)
    assert len(decide_mdl(latencies, calm, analysis.evidence)[1].placement) == 2


def test_mdl_keeps_the_delay_of_a_good_map_for_policies_that_need_it():
    seen = reading(PLACEMENT, throughput=360, offered=500, saturated=1.0, backlog=4000)
    assert [each.nd_max_ms for each in decide_mdl(known().latencies, seen, ())[0].evidence] == [200.0]


def test_static_changes_nothing_whatever_it_sees():
    overload = {"throughput": 100, "offered": 500, "saturated": 1.0, "backlog": 40_000}
    for placement, seen in ((("hub",), overload), (("hub", "near", "mid"), {"throughput": 1.0})):
        result = plan("static", placement, **seen)
        assert (result.change, result.reason) == (None, Reason.NEVER_CHANGES)
