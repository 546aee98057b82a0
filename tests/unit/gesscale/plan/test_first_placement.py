"""First placement of an operator."""

from edge import NODES, known, operator

from gesscale.model.decision import Change, Plan, Reason
from gesscale.plan.directives import Directive
from gesscale.plan.filters import place_first
from gesscale.ports import ClusterState, Knowledge, Node

BLANK = Plan(operator="op", reason=Reason.METRICS_MISSING, before=(), placement=())


def cluster(*usable_nodes):
    nodes = {
        name: Node(name=name, problem="" if name in usable_nodes else "full", reason=Reason.NO_ROOM) for name in NODES
    }
    return ClusterState(nodes=nodes, placements={"op": ()}, unplaced=frozenset({"op"}))


def first(state, *, knowledge=None, **limits):
    directives = {"op": Directive(operator=operator(**limits))}
    return place_first({"op": BLANK}, directives, state, knowledge or known())["op"]


def test_the_drivers_own_node_comes_first_then_the_nearest():
    plan = first(cluster(*NODES), min_replicas=2)
    # hub holds the driver; hub and near: 10 ms. Any other pair with hub is farther apart.
    assert (plan.reason, plan.change) == (Reason.FIRST_PLACEMENT, Change(add=("hub", "near")))
    assert plan.nd_max_ms == 10.0


def test_without_a_map_or_enough_nodes_the_plan_stands():
    assert first(cluster(*NODES), knowledge=Knowledge()) is BLANK
    assert first(cluster("near"), min_replicas=2) is BLANK
