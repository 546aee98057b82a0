"""The change budget in one loop and over several loops."""

from dataclasses import replace

from edge import FakeCluster, control_loop, observe, operator, reading, workflow

from gesscale.errors import ClusterError
from gesscale.model.decision import Analysis, Candidate, Plan, Reason, Verdict
from gesscale.model.observation import MissingReading
from gesscale.model.order import Order
from gesscale.plan.change_budget import ChangeBudget, most_urgent_first

NAMES = ("a", "b", "c")


def overloaded(name, backlog, at_s=1000.0):
    return reading(("hub",), name=name, throughput=100, offered=150, saturated=1.0, backlog=backlog, at_s=at_s)


def loop(cluster, budget, *observations, names=NAMES, key="", acts=True):
    flow = workflow(*map(operator, names))
    more = {"acts": acts, "rescale_timeout_s": 120.0, "budget": budget, "budget_key": key}
    return control_loop(cluster, *observations, flow=flow, **more)


def everywhere(*names):
    return FakeCluster(dict.fromkeys(names, ("hub",)))


def by_name(decisions):
    return {each.operator: each for each in decisions}


WORST_IS_B = observe(overloaded("a", 4000), overloaded("b", 9000), overloaded("c", 5000))


def test_the_longest_backlog_changes_first():
    cluster = everywhere(*NAMES)
    decisions = by_name(loop(cluster, ChangeBudget(1), WORST_IS_B).step(1000.0))
    assert [name for name, _ in cluster.orders] == ["b"]
    waiting = decisions["a"]
    assert waiting.plan.reason is Reason.CHANGE_BUDGET_SPENT
    assert waiting.plan.change is None
    assert waiting.analysis.verdict is Verdict.MORE
    assert all(word in waiting.plan.detail for word in ("1", "(b)", "Overloaded"))


def test_the_next_one_goes_once_the_first_has_settled():
    cluster = everywhere(*NAMES)
    settled = reading(("hub", "near"), name="b", throughput=100, at_s=1020.0)
    later = observe(settled, overloaded("a", 4000), overloaded("c", 5000))
    running = loop(cluster, ChangeBudget(1), WORST_IS_B, WORST_IS_B, later)
    for at_s in (1000.0, 1010.0, 1020.0):
        running.step(at_s)
    assert [name for name, _ in cluster.orders] == ["b", "c"]


def test_a_change_that_cannot_settle_blocks_others_until_the_timeout():
    cluster = everywhere(*NAMES)
    gone = replace(
        observe(overloaded("a", 4000), overloaded("c", 5000)),
        missing_readings={"b": MissingReading(operator="b", code="metrics-missing")},
    )
    running = loop(cluster, ChangeBudget(1), WORST_IS_B, gone)
    running.step(1000.0)
    running.step(1119.0)
    assert len(cluster.orders) == 1
    running.step(1120.0)
    assert [name for name, _ in cluster.orders] == ["b", "c"]


def test_a_refused_order_gives_its_room_back():
    class Refusing(FakeCluster):
        def apply(self, operator, placement):
            if operator == "b":
                message = "refused"
                raise ClusterError(message)
            return super().apply(operator, placement)

    cluster = Refusing(dict.fromkeys(NAMES, ("hub",)))
    calm_b = observe(overloaded("a", 4000), reading(("hub",), name="b"), overloaded("c", 5000))
    running = loop(cluster, ChangeBudget(1), WORST_IS_B, calm_b)
    running.step(1000.0)
    running.step(1010.0)
    assert [name for name, _ in cluster.orders] == ["c"]


def test_a_lost_replica_is_restarted_despite_the_budget():
    cluster = everywhere(*NAMES)
    cluster.placements["a"] = ("hub", "near")
    running = loop(cluster, ChangeBudget(1), WORST_IS_B)
    running.knowledge.remember(ordered("a", ("hub", "near"), 900.0))
    running.knowledge.settle("a", Order(placement=("hub", "near"), at_s=900.0, downtime_s=1.0))
    cluster.placements["a"] = ("hub",)
    decisions = by_name(running.step(1000.0))
    assert decisions["a"].plan.reason is Reason.REPLICA_LOST
    assert cluster.orders == [("a", ("hub", "near"))]  # and it takes the room of the others


def ordered(name, placement, at_s):
    cluster = FakeCluster({name: ("hub",)})
    (decision,) = loop(cluster, ChangeBudget(), observe(overloaded(name, 4000)), names=(name,)).step(at_s)
    assert cluster.placements[name] == placement
    return decision


def test_loops_share_a_budget():
    budget, one, other = ChangeBudget(1), everywhere("a"), everywhere("a")
    busy = observe(overloaded("a", 4000))
    first = loop(one, budget, busy, names=("a",), key="streams/one")
    second = loop(other, budget, busy, names=("a",), key="streams/other")
    first.step(1000.0)
    (decision,) = second.step(1000.0)
    assert decision.plan.reason is Reason.CHANGE_BUDGET_SPENT
    budget.keep_only({"streams/other"})  # the other workflow is deleted
    second.step(1010.0)
    assert other.orders == [("a", ("hub", "near"))]


def test_more_comes_before_fewer_and_the_latest_rows_first():
    def plan(name, verdict, late_s):
        candidates = tuple(Candidate(replicas=count, late_s=late) for count, late in enumerate(late_s, start=1))
        made = Plan(
            operator=name, reason=Reason.OVERLOADED, before=("hub",), placement=("hub", "near"), candidates=candidates
        )
        return made, Analysis(operator=name, verdict=verdict, reason=Reason.OVERLOADED)

    # Less late by: a 50 - 40 = 10 s, b 90 - 30 = 60 s, c 900 - 1; c wants fewer.
    made = [plan("a", Verdict.MORE, (50, 40)), plan("b", Verdict.MORE, (90, 30)), plan("c", Verdict.FEWER, (900, 1))]
    ranked = most_urgent_first([each for each, _ in made], {analysis.operator: analysis for _, analysis in made})
    assert [each.operator for each in ranked] == ["b", "a", "c"]
