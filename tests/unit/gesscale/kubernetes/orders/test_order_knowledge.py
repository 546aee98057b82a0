"""What is known of orders is what stands in the resources."""

from kube import EPOCH_S, order

from gesscale.knowledge.memory import MemoryKnowledge
from gesscale.kubernetes.orders.order_knowledge import OrderKnowledge
from gesscale.kubernetes.resource.order import parse_order
from gesscale.ports import Reconfiguration

LATER_S = EPOCH_S + 100.0


def change(*placement, at_s=EPOCH_S, downtime_s=None):
    return Reconfiguration(at_s=at_s, operator="op", placement=placement, downtime_s=downtime_s)


class Scene:
    """One operator; ``stands`` is its order."""

    def __init__(self):
        self.order = None
        self.knowledge = OrderKnowledge(MemoryKnowledge(), lambda: {"op": self.order})

    def stands(self, *placement, number=1, at_s=EPOCH_S, **more):
        self.order = parse_order({**order(number, *placement, at_s=at_s), **more})

    def known(self, now_s=LATER_S):
        return self.knowledge.recall(now_s).reconfigurations


def test_an_order_that_has_not_settled_is_pending_whoever_wrote_it():
    scene = Scene()
    assert scene.known() == {}
    scene.stands("a", "b")
    assert scene.known() == {"op": (change("a", "b"),)}
    assert scene.knowledge.recall(LATER_S).pending("op") == change("a", "b")


def test_a_downtime_is_known_before_and_after_the_resource_has_it():
    scene = Scene()
    scene.stands("a", "b")
    scene.knowledge.settle(change("a", "b", downtime_s=2.5))
    assert scene.known() == {"op": (change("a", "b", downtime_s=2.5),)}
    scene.stands("a", "b", downtimeSeconds=2.5)
    assert scene.known() == {"op": (change("a", "b", downtime_s=2.5),)}
    assert scene.knowledge.recall(LATER_S).pending("op") is None


def test_a_newer_order_has_not_settled_because_the_former_had():
    scene = Scene()
    scene.stands("a", "b")
    scene.knowledge.settle(change("a", "b", downtime_s=2.5))
    scene.stands("a", number=2, at_s=EPOCH_S + 20)
    assert scene.known() == {"op": (change("a", at_s=EPOCH_S + 20),)}


def test_an_order_that_is_gone_is_forgotten():
    scene = Scene()
    scene.stands("a", "b")
    scene.known()
    scene.order = None
    scene.knowledge.settle(change("a", "b", downtime_s=2.5))
    assert scene.known() == {}


def test_an_order_of_a_clock_that_runs_ahead_counts_from_when_it_was_first_seen():
    scene = Scene()
    scene.stands("a", "b", at_s=EPOCH_S + 3600)
    for now_s in (EPOCH_S, EPOCH_S + 10):
        assert scene.known(now_s) == {"op": (change("a", "b", at_s=EPOCH_S),)}
