"""What policies share that say a number of replicas: pauses, limits, and nodes for any number."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import pytest
from edge import NODES, known, observe, reading, workflow
from figures import figures

from gesscale.model.decision import Change, Reason, Verdict
from gesscale.model.order import Order
from gesscale.options import PolicyOptions
from gesscale.ports import ClusterState, Knowledge, Node
from testbed.baselines.shared.sizing import SizeProposal, SizingPolicy, SizingSettings


@dataclass(frozen=True, slots=True)
class Wishing(SizingPolicy):
    """Wishes for what a test gives it, and keeps a memo of having been asked."""

    given: SizingSettings = field(default_factory=SizingSettings)
    asked: Mapping[str, int | None] = field(default_factory=dict)

    @property
    def name(self):
        return "wishing"

    @property
    def sizing(self):
        return self.given

    def proposals(self, readings, observation, knowledge):
        del observation, knowledge
        return {
            name: SizeProposal(
                replicas=self.asked.get(name), detail="as asked", reason=Reason.DRAINING_BACKLOG, memo="{}"
            )
            for name in readings
        }


def wishing(flow=None, *, aware=True, seed=0, given=None, **asked):
    return Wishing(
        flow or workflow(), PolicyOptions(seed=seed), latency_aware=aware, given=given or SizingSettings(), asked=asked
    )


def analysis(policy, *, placement=("hub", "near"), knowledge=None, **changes):
    return policy.analyze(observe(reading(placement, **changes)), knowledge or known())["op"]


def plan(policy, placement, *, nodes=None, **changes):
    knowledge = known()
    analyses = policy.analyze(observe(reading(placement, **changes)), knowledge)
    state = ClusterState(
        nodes=nodes or {name: Node(name=name) for name in NODES}, placements={"op": tuple(sorted(placement))}
    )
    return policy.plan(analyses, state, knowledge)["op"]


def changed(at_s, name="op", downtime_s=10.0) -> Knowledge:
    """Return what is known after a change, by default a settled one."""
    change = Order(at_s=at_s, placement=("hub", "near"), downtime_s=downtime_s)
    return known(orders={name: (change,)})


# Analyze


def test_proposal_becomes_a_verdict():
    more, fewer = analysis(wishing(op=4)), analysis(wishing(op=1))
    assert (more.verdict, more.reason, more.desired_replicas) == (Verdict.MORE, Reason.OVERLOADED, 4)
    assert (fewer.verdict, fewer.reason, fewer.desired_replicas) == (Verdict.FEWER, Reason.UNDERUSED, 1)
    assert figures(more.detail) == [4]
    assert (more.memo, fewer.memo) == ("{}", "{}")


@pytest.mark.parametrize("proposal", [2, None])
def test_proposal_of_the_present_number_changes_nothing(proposal):
    same = analysis(wishing(op=proposal))
    assert (same.verdict, same.reason, same.desired_replicas) == (Verdict.SAME, Reason.DRAINING_BACKLOG, proposal)


# Pauses


@pytest.mark.parametrize(("since_s", "verdict"), [(60.0, Verdict.SAME), (299.9, Verdict.SAME), (300.0, Verdict.MORE)])
def test_nothing_changes_during_the_cool_down(since_s, verdict):
    found = analysis(wishing(op=4), knowledge=changed(1000.0 - since_s))
    assert found.verdict is verdict
    if verdict is Verdict.SAME:
        assert found.reason is Reason.COOLING_DOWN
        assert figures(found.detail) == [4, round(since_s), 300]
        assert (found.desired_replicas, found.memo) == (4, "{}")


@pytest.mark.parametrize(
    ("change", "verdict"),
    [
        # 310 s after the order; its replicas worked 20 s after it, so 290 s ago, or 10 s after it.
        ({"downtime_s": 5.0, "first_tasks_s": 20.0}, Verdict.SAME),
        ({"downtime_s": 25.0, "first_tasks_s": 10.0}, Verdict.MORE),
        ({"downtime_s": 20.0}, Verdict.SAME),  # it timed out after a stop of 20 s
        ({"downtime_s": 0.0}, Verdict.MORE),
    ],
)
def test_the_cooldown_may_begin_with_the_end_of_a_change(change, verdict):
    given = SizingSettings(cooldown_from="end")
    known_change = known(orders={"op": (Order(at_s=690.0, placement=("hub", "near"), **change),)})
    assert analysis(wishing(given=given, op=4), knowledge=known_change).verdict is verdict
    assert analysis(wishing(op=4), knowledge=known_change).verdict is Verdict.MORE


def test_a_cancelled_change_is_at_the_maximum():
    given = SizingSettings(total_replicas=3, above_total="cancel")
    found = analysis(wishing(given=given, op=4))
    assert (found.verdict, found.reason, found.desired_replicas) == (Verdict.SAME, Reason.AT_MAX_REPLICAS, 2)


def test_no_samples_during_cooldown_keeps_the_memo():
    given = SizingSettings(samples_during_cooldown=False)
    found = analysis(wishing(given=given, op=4), knowledge=changed(900.0))
    assert (found.verdict, found.reason, found.memo) == (Verdict.SAME, Reason.COOLING_DOWN, None)
    assert found.desired_replicas is None
    assert analysis(wishing(given=given, op=4), knowledge=changed(700.0)).memo == "{}"


# Nodes


def test_several_are_added_at_once_the_nearest_first():
    # From hub, near is 10 ms off; mid is 50 ms from the two, far 200, edge 300.
    found = plan(wishing(op=3), ("hub",))
    assert found.change == Change(add=("mid", "near"))
    assert found.placement == ("hub", "mid", "near")
    assert (found.reason, found.nd_max_ms) == (Reason.OVERLOADED, 50)
    assert {(each.node, each.reason) for each in found.rejections} == {
        ("far", Reason.FARTHER),
        ("edge", Reason.FARTHER),
    }


def test_several_are_drawn_at_once_the_same_for_one_observation():
    drawn = [plan(wishing(aware=False, op=3), ("hub",), at_s=float(at)).change for at in range(40)]
    again = [plan(wishing(aware=False, op=3), ("hub",), at_s=float(at)).change for at in range(40)]
    assert drawn == again
    assert all(len(set(change.add)) == 2 and "hub" not in change.add for change in drawn)
    # 6 pairs of 4 nodes; each is missed by 40 draws with probability (5/6)^40 < 0.001.
    assert len({frozenset(change.add) for change in drawn}) == 6


def test_several_are_removed_at_once_the_farthest_first():
    found = plan(wishing(op=2), NODES)
    assert found.change == Change(remove=("edge", "far", "mid"))
    assert found.placement == ("hub", "near")
    drawn = plan(wishing(aware=False, op=2), NODES)
    assert len(drawn.change.remove) == 3
    assert all(each.reason is Reason.NOT_SELECTED for each in drawn.rejections)


def test_without_a_node_everything_stays():
    nodes = {name: Node(name=name, problem="" if name == "hub" else "it is full") for name in NODES}
    found = plan(wishing(op=4), ("hub",), nodes=nodes)
    assert (found.change, found.reason) == (None, Reason.NO_CANDIDATE_NODE)
    assert found.detail.startswith("as asked")
    assert len(found.rejections) == 4


@pytest.mark.parametrize(
    ("live", "change"), [(("far", "hub", "near"), None), (("hub", "near"), None), (("hub",), Change(add=("near",)))]
)
def test_target_is_applied_to_the_live_placement(live, change):
    # The newest batch of a query that idles ran on hub alone.
    policy = wishing(op=2)
    analyses = policy.analyze(observe(reading(("hub",), throughput=0.0)), known())
    assert analyses["op"].verdict is Verdict.MORE
    state = ClusterState(nodes={name: Node(name=name) for name in NODES}, placements={"op": live})
    assert policy.plan(analyses, state, known())["op"].change == change
