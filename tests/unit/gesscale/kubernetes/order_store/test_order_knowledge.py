"""Knowledge of orders comes from the resources."""

from kube import EPOCH_S, order
from recorded_steps import T0_S, overloaded

from gesscale.analyze.changes import change_times
from gesscale.knowledge.memory import MemoryKnowledge
from gesscale.kubernetes.order_store import OrderKnowledge
from gesscale.kubernetes.resource.order import OrderStatus

LATER_S = EPOCH_S + 100.0


def expected(*placement, at_s=EPOCH_S, downtime_s=None):
    return placement, at_s, downtime_s


class Scene:
    """One operator; `set_order` sets its order in force, and the one before becomes the newest of the history."""

    def __init__(self):
        self.stored = ()
        self.knowledge = OrderKnowledge(MemoryKnowledge(), lambda: {"op": self.stored})

    def set_order(self, *placement, number=1, at_s=EPOCH_S, **more):
        former = tuple(each for each in self.stored if each.id != f"1-{number}")
        self.stored = (OrderStatus.model_validate({**order(number, *placement, at_s=at_s), **more}), *former)

    def known(self, now_s=LATER_S):
        orders = self.knowledge.recall(now_s).orders
        return [expected(*each.placement, at_s=each.at_s, downtime_s=each.downtime_s) for each in orders.get("op", ())]

    def settles(self):
        (order, *_) = self.knowledge.recall(LATER_S).orders["op"]
        self.knowledge.settle("op", order.ended(LATER_S, 2.5, arrived=True))


def test_an_order_that_has_not_settled_is_pending():
    scene = Scene()
    assert scene.known() == []
    scene.set_order("a", "b")
    assert scene.known() == [expected("a", "b")]
    assert scene.knowledge.recall(LATER_S).pending("op").placement == ("a", "b")


def test_a_downtime_is_known_before_and_after_the_resource_has_it():
    scene = Scene()
    scene.set_order("a", "b")
    scene.settles()
    assert scene.known() == [expected("a", "b", downtime_s=2.5)]
    scene.set_order("a", "b", downtimeSeconds=2.5)
    assert scene.known() == [expected("a", "b", downtime_s=2.5)]
    assert scene.knowledge.recall(LATER_S).pending("op") is None


def test_the_order_of_a_decision_has_its_reason():
    scene = Scene()
    scene.set_order("a", "b", at_s=T0_S)
    scene.knowledge.remember(overloaded())
    (order,) = scene.knowledge.recall(LATER_S).orders["op"]
    assert (order.reason, order.before) == ("Overloaded", 2)


def test_a_newer_order_is_pending_after_a_settled_one():
    scene = Scene()
    scene.set_order("a", "b")
    scene.settles()
    scene.set_order("a", number=2, at_s=EPOCH_S + 20)
    assert scene.known() == [expected("a", at_s=EPOCH_S + 20), expected("a", "b", downtime_s=2.5)]
    assert scene.knowledge.recall(LATER_S).pending("op").placement == ("a",)


def test_a_new_controller_knows_the_orders_of_the_history():
    scene = Scene()
    for number, stopped_s in enumerate((0.5, 1.5, 60.0), start=1):
        scene.set_order("a", number=number, at_s=EPOCH_S + number, reason="IdleReplica", downtimeSeconds=stopped_s)
    (newest, *former) = scene.knowledge.recall(LATER_S).orders["op"]
    assert [each.downtime_s for each in (newest, *former)] == [60.0, 1.5, 0.5]
    assert {each.reason for each in former} == {"IdleReplica"}
    # The median of the three, 1.5 s, is at most 1.5 triggers of 2 s: changes do not stop this query.
    assert change_times((newest, *former), 2.0, restarts=False).stop_s == 0.0


def test_an_order_from_the_future_counts_from_its_first_observation():
    scene = Scene()
    scene.set_order("a", "b", at_s=EPOCH_S + 3600)
    for now_s in (EPOCH_S, EPOCH_S + 10):
        assert scene.known(now_s) == [expected("a", "b", at_s=EPOCH_S)]
