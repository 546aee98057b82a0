"""The policy that orders the placements of the chaos plan."""

from dataclasses import replace

from gesscale.model.decision import MapStatus, Reason
from gesscale.model.observation import MissingReading, OperatorReading, WorkflowObservation
from gesscale.model.order import Order
from gesscale.plan.lost_replicas import restore_lost
from gesscale.ports import ClusterState, Knowledge, Latencies, Node
from testbed.chaos.controller import OrderedPlacement

READ = WorkflowObservation(
    at_s=1.0,
    readings={
        "op": OperatorReading(
            operator="op", at_s=1.0, placement=("a",), throughput_rows_per_s=1.0, saturated_share=0.0, busy_share=0.5
        )
    },
)
UNREAD = WorkflowObservation(at_s=1.0, missing_readings={"op": MissingReading(operator="op", code="metrics-missing")})
STALE = Knowledge(latencies=Latencies(map_status=MapStatus(stale="too old")))


def planned(seen: WorkflowObservation, cluster: ClusterState, known: Knowledge, *wanted: str):
    policy = OrderedPlacement(lambda: {"op": wanted}, "a")
    return policy.plan(policy.analyze(seen, known), cluster, known)["op"]


def test_it_follows_the_order_and_removes_nothing_without_valid_metrics() -> None:
    here = ClusterState(placements={"op": ("a",)})
    plan = planned(READ, here, Knowledge(), "b", "c")
    assert (plan.before, plan.placement) == (("a",), ("b", "c"))
    assert planned(UNREAD, here, Knowledge(), "b").change is None
    assert planned(READ, ClusterState(), Knowledge(), "b").reason is Reason.CLUSTER_UNAVAILABLE
    assert planned(READ, here, STALE, "b").reason is Reason.LATENCY_MAP_STALE
    assert planned(READ, here, STALE, "a", "b").placement == ("a", "b")


def test_without_replicas_it_needs_no_metrics() -> None:
    known = Knowledge(orders={"op": (Order(at_s=0.0, placement=("a", "c")),)})
    nobody = ClusterState(placements={"op": ()}, nodes={name: Node(name=name) for name in "abc"})
    policy = OrderedPlacement(lambda: {"op": ("b",)}, "a")
    analyses = policy.analyze(UNREAD, known)
    plans = restore_lost(policy.plan(analyses, nobody, known), analyses, {}, nobody, known)
    assert plans["op"].placement == ("b",)  # and not a and c, which were ordered before
    state = replace(nobody, starting={"op": ("c",)})
    assert planned(UNREAD, state, known, "b").change is None
