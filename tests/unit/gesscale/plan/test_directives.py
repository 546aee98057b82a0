"""Directives: advice only, pause and override."""

from dataclasses import replace

import pytest
from edge import FakeCluster, control_loop, known, observe, operator, reading, workflow
from refusals import refused

from gesscale.errors import InputError
from gesscale.model.decision import Change, OutcomeStatus, Plan, Reason
from gesscale.model.order import Order
from gesscale.model.schedule import ScalingSchedule
from gesscale.plan.directives import Directive, Override, Pause, apply_directives
from gesscale.ports import ClusterState, Node

NOW_S = 1000.0
# The map's round trips from hub: near 10, mid 50, far 200, edge 300.
NODES = {name: Node(name=name) for name in ("hub", "near", "mid", "far", "edge")}
LIVE = ClusterState(nodes=NODES, placements={"op": ("hub", "mid")})
MORE = Plan(
    operator="op", reason=Reason.OVERLOADED, detail="too much", before=("hub", "mid"),
    placement=("hub", "mid", "near"),
)  # fmt: skip


def obeyed(directive, *, plan=MORE, cluster=LIVE, knowledge=None, now_s=NOW_S):
    return apply_directives({"op": plan}, {"op": directive}, cluster, knowledge or known(), now_s)["op"]


def directive(**fields):
    return Directive(operator=operator(), **fields)


def test_a_pause_keeps_the_placement_and_names_the_planned_change():
    plan = obeyed(directive(pause=Pause(until_s=NOW_S + 600, why="cabling")))
    assert (plan.reason, plan.change, plan.placement) == (Reason.PAUSED, None, ("hub", "mid"))
    assert all(word in plan.detail for word in ("10 min", "(cabling)", "Overloaded, too much"))


def test_a_pause_without_an_end_lasts_and_one_with_an_end_does_not():
    assert obeyed(directive(pause=Pause()), now_s=9e9).reason is Reason.PAUSED
    assert obeyed(directive(pause=Pause(until_s=NOW_S))) is MORE


def test_an_override_by_name_adds_and_removes_what_it_takes():
    plan = obeyed(directive(override=Override(until_s=NOW_S + 60, nodes=("far", "hub"))))
    assert (plan.reason, plan.placement) == (Reason.OVERRIDDEN, ("far", "hub"))
    assert plan.change == Change(add=("far",), remove=("mid",))
    assert plan.detail == "far, hub by hand, for 60 s more"


@pytest.mark.parametrize(
    ("replicas", "change"),
    [
        (3, Change(add=("near",))),  # 10 ms from hub, 45 from mid; edge and far are farther
        (4, Change(add=("far", "near"))),  # next: far (200) before edge (300); a change lists them sorted
        (1, Change(remove=("mid",))),  # hub is the driver's node and stays
    ],
)
def test_an_override_by_number_adds_the_nearest_and_removes_the_farthest(replicas, change):
    assert obeyed(directive(override=Override(until_s=NOW_S + 60, replicas=replicas))).change == change


def test_an_override_that_is_on_its_way_is_not_ordered_again():
    held = directive(override=Override(until_s=NOW_S + 60, nodes=("far", "hub")))
    ordered = Order(at_s=NOW_S - 5, placement=("far", "hub"))
    assert obeyed(held, knowledge=known(orders={"op": (ordered,)})).change is None
    settled = ordered.ended(NOW_S, 1.0, arrived=True)
    assert obeyed(held, knowledge=known(orders={"op": (settled,)})).change is not None


def test_a_node_that_cannot_take_a_replica_is_left_out_and_named():
    full = {**NODES, "far": Node(name="far", problem="asks 1 CPU, 0.2 free", reason=Reason.NO_ROOM)}
    plan = obeyed(
        directive(override=Override(until_s=NOW_S + 60, nodes=("far", "hub", "mars"))),
        cluster=replace(LIVE, nodes=full),
    )
    assert plan.change == Change(remove=("mid",))
    assert plan.reason is Reason.OVERRIDE_UNMET
    assert "far: asks 1 CPU" in plan.detail
    assert "mars" in plan.detail


@pytest.mark.parametrize(
    ("override", "limits", "placement"),
    [
        ({"replicas": 4}, (1, 3), ("hub", "mid", "near")),  # near is 10 ms from hub
        ({"nodes": ("far", "hub", "mid")}, (1, 2), ("hub", "mid")),  # far is the farthest
        ({"nodes": ("hub",)}, (2, 3), ("hub", "near")),
        ({"replicas": 9}, (1, 9), ("edge", "far", "hub", "mid", "near")),  # there are five nodes
    ],
)
def test_an_override_outside_of_the_limits_is_met_as_far_as_they_allow(override, limits, placement):
    few, many = limits
    held = Directive(
        operator=replace(operator(), min_replicas=few, max_replicas=many),
        override=Override(until_s=NOW_S + 60, **override),
    )
    plan = obeyed(held)
    assert (plan.reason, plan.placement) == (Reason.OVERRIDE_UNMET, placement)
    arrived = obeyed(held, cluster=replace(LIVE, placements={"op": placement}))
    assert (arrived.reason, arrived.change) == (Reason.OVERRIDE_UNMET, None)


@pytest.mark.parametrize("wrong", [{}, {"replicas": 2, "nodes": ("a",)}, {"nodes": ("a", "a")}, {"replicas": 0}])
def test_an_override_needs_either_replicas_or_nodes(wrong):
    with refused("override-invalid", InputError):
        Override(until_s=1.0, **wrong)


def test_the_loop_acts_for_one_operator_and_advises_for_another():
    overloaded = {
        name: reading(("hub",), throughput=100, offered=150, saturated=1.0, backlog=9e4, operator=name)
        for name in ("a", "b")
    }
    loop = control_loop(
        FakeCluster(placements={"a": ("hub",), "b": ("hub",)}),
        observe(*overloaded.values()),
        flow=workflow(operator("a"), operator("b")),
        directives={"b": Directive(operator=operator("b"), acts=False)},
    )
    made = {decision.operator: decision.outcome.status for decision in loop.step(NOW_S)}
    assert made == {"a": OutcomeStatus.APPLIED, "b": OutcomeStatus.NOT_ALLOWED}


DAILY = {"cron": "0 0 * * *", "duration_s": 3600.0}  # NOW_S is 00:16:40 UTC


def scheduled(plan=MORE, replicas=None, **limits):
    held = Directive(operator=operator(schedules=(ScalingSchedule(**DAILY, **limits),)), replicas=replicas)
    return obeyed(held, plan=plan)


def test_a_schedule_freezes_until_it_ends():
    assert (scheduled(freeze=True).reason, scheduled(freeze=True).change) == (Reason.PAUSED, None)


@pytest.mark.parametrize(
    ("limits", "change"),
    [
        ({"max_replicas": 2}, None),  # two replicas run, a third is planned
        ({"max_replicas": 1}, Change(remove=("mid",))),
        ({"min_replicas": 4}, Change(add=("far", "near"))),  # the planned near, then far (200 ms) before edge (300)
    ],
)
def test_a_schedule_limits_the_planned_number(limits, change):
    plan = scheduled(**limits)
    assert (plan.reason, plan.change) == (Reason.SCHEDULE_LIMIT, change)


def test_a_plan_within_the_limits_of_a_schedule_stays():
    assert scheduled(min_replicas=3) is MORE
    unplaced = Plan(operator="op", reason=Reason.METRICS_MISSING, before=(), placement=())
    assert scheduled(unplaced, min_replicas=3) is unplaced


@pytest.mark.parametrize(
    ("replicas", "number", "reason"),
    [(1, 1, Reason.OVERRIDDEN), (4, 4, Reason.OVERRIDDEN), (10**6, 5, Reason.OVERRIDE_UNMET)],
)
def test_another_scaler_sets_the_number_within_the_limits(replicas, number, reason):
    plan = obeyed(Directive(operator=operator(), replicas=replicas))
    assert (len(plan.placement), plan.reason) == (number, reason)


def test_an_override_takes_precedence_over_another_scaler_and_a_schedule_limits_it():
    both = Directive(operator=operator(), replicas=5, override=Override(until_s=NOW_S + 60, replicas=1))
    assert obeyed(both).placement == ("hub",)
    assert len(scheduled(replicas=5, max_replicas=3).placement) == 3
