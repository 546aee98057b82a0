"""gesscale for several operators: what is handed on, a shared objective, scarce nodes."""

from dataclasses import replace

from edge import NODES, known, observe, operator, workflow
from gesscale_streams import decide, stream

from gesscale.model.decision import Plan, Reason
from gesscale.model.observation import OperatorReading
from gesscale.policies import policy_named
from gesscale.ports import ClusterState, Node
from gesscale.settings.analyze import AnalyzeSettings


def both(first: OperatorReading, second: OperatorReading) -> dict[str, Plan]:
    """Return the plans where the second operator reads what the first one writes."""
    flow = workflow(operator("first", cap=None), operator("second", cap=None, upstream=("first",)))
    policy = policy_named("gesscale", flow, AnalyzeSettings())
    seen = [replace(each, operator=name) for name, each in (("first", first), ("second", second))]
    cluster = ClusterState(
        nodes={name: Node(name=name) for name in NODES}, placements={each.operator: each.placement for each in seen}
    )
    plans = policy.plan(policy.analyze(observe(*seen), known()), cluster, known())
    assert list(plans) == ["first", "second"]
    return dict(plans)


def test_load_grows_with_the_output_of_upstream_operators() -> None:
    # The first one does 100 of 350 rows/s, so the second one sees 100 and is calm. When the first does 350 and more,
    # three times as much comes: both grow in one step.
    plans = both(stream(350, backlog=15000), stream(100, ("hub", "near")))
    assert len(plans["first"].placement) >= 4
    assert plans["second"].reason is Reason.OVERLOADED
    assert len(plans["second"].placement) >= 4
    # Where the first one keeps up, it hands on no more than now.
    calm = both(stream(150, ("hub", "near")), stream(150, ("hub", "near")))
    assert [plan.change for plan in calm.values()] == [None, None]


def test_the_operators_of_a_path_share_the_objective() -> None:
    # 3,000 rows wait, 30 s of one replica: on time for an objective of a minute, late for half of one.
    waiting = stream(99, backlog=3000)
    alone = decide(waiting)[1]
    shared = both(waiting, stream(50))["first"]
    late = [next(each.late_s for each in plan.candidates if each.replicas == 1) for plan in (alone, shared)]
    assert late[0] < late[1]


def side_by_side(
    one: float, other: float, free: tuple[str, ...], room: int
) -> tuple[dict[str, Plan], dict[str, set[str]]]:
    """Return the plans of two operators on a hub, and the nodes that each adds; so much room is on each free node."""
    policy = policy_named(
        "gesscale", workflow(operator("one", cap=None), operator("other", cap=None)), AnalyzeSettings()
    )
    seen = [replace(stream(load, backlog=6000), operator=name) for name, load in (("one", one), ("other", other))]
    cluster = ClusterState(
        nodes={name: Node(name=name) for name in ("hub", *free)},
        placements={"one": ("hub",), "other": ("hub",)},
        room=dict.fromkeys(free, room),
    )
    plans = dict(policy.plan(policy.analyze(observe(*seen), known()), cluster, known()))
    return plans, {name: set(plan.placement) - {"hub"} for name, plan in plans.items()}


def test_scarce_node_goes_to_the_rows_that_would_be_late() -> None:
    # Each replica does 100 rows/s. One operator is offered 350, the other 120, and two nodes can take one replica each.
    # Alone, each would take one at least.
    free = ("near", "mid")
    _, alone = side_by_side(350, 120, free, room=2)
    assert alone["one"] == {"near", "mid"}
    assert alone["other"]
    # Without a node, the first falls 100 rows/s further behind, the second 20: so both go to the first, whoever it is.
    plans, added = side_by_side(350, 120, free, room=1)
    assert added == {"one": {"near", "mid"}, "other": set()}
    assert plans["other"].reason is Reason.NO_CANDIDATE_NODE
    assert {(each.node, each.reason) for each in plans["other"].rejections} == {
        ("near", Reason.NO_ROOM),
        ("mid", Reason.NO_ROOM),
    }
    assert side_by_side(120, 350, free, room=1)[1] == {"one": set(), "other": {"near", "mid"}}
    # A third node is left for the second.
    _, added = side_by_side(350, 120, ("near", "mid", "far", "edge"), room=1)
    assert added["other"]
    assert len(added["one"]) >= 2
    assert not added["one"] & added["other"]
