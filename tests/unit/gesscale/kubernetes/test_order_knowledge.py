"""No standing order is missing in what is known."""

from kube import EPOCH_S, order

from gesscale.knowledge.memory import MemoryKnowledge
from gesscale.kubernetes.order_knowledge import OrderKnowledge
from gesscale.kubernetes.orders import parse_order
from gesscale.ports import Knowledge, Reconfiguration

LATER_S = EPOCH_S + 100.0


def change(*placement, at_s=EPOCH_S, downtime_s=None):
    return Reconfiguration(at_s=at_s, operator="op", placement=placement, downtime_s=downtime_s)


def knowing(*changes):
    known = Knowledge(reconfigurations={"op": changes} if changes else {})
    return OrderKnowledge(MemoryKnowledge(known=known))


def hear(knowledge, *placement, number=1, at_s=EPOCH_S, now_s=LATER_S):
    knowledge.hear({"op": parse_order(order(number, *placement, at_s=at_s))}, now_s)


def test_an_order_that_nobody_wrote_down_is_pending():
    knowledge = knowing(change("a", at_s=EPOCH_S - 50, downtime_s=1.0))
    hear(knowledge, "a", "b")
    assert knowledge.recall(LATER_S).pending("op") == change("a", "b")
    assert len(knowledge.recall(LATER_S).reconfigurations["op"]) == 2


def test_one_that_was_written_down_is_not_told_twice():
    # The decision is dated at the beginning of its step, the order a moment later.
    own = change("a", "b", at_s=EPOCH_S - 0.2)
    knowledge = knowing(own)
    hear(knowledge, "a", "b")
    assert knowledge.recall(LATER_S).reconfigurations["op"] == (own,)


def test_an_old_order_says_nothing_over_a_newer_change():
    newer = change("c", at_s=EPOCH_S + 50)
    knowledge = knowing(newer)
    hear(knowledge, "a", "b")
    assert knowledge.recall(LATER_S).latest("op") == newer


def test_it_settles_like_any_other_change():
    knowledge = knowing()
    hear(knowledge, "a", "b")
    knowledge.settle(change("a", "b", downtime_s=2.5))
    hear(knowledge, "a", "b")  # it still stands
    assert knowledge.recall(LATER_S).latest("op") == change("a", "b", downtime_s=2.5)
    assert knowledge.recall(LATER_S).pending("op") is None


def test_other_changes_settle_where_they_are_kept():
    own = change("a", "b", at_s=EPOCH_S - 0.2)
    knowledge = knowing(own)
    hear(knowledge, "a", "b")
    knowledge.settle(change("a", "b", at_s=own.at_s, downtime_s=2.5))
    assert knowledge.inner.recall(LATER_S).latest("op").downtime_s == 2.5


def test_a_newer_order_takes_the_place_of_the_former():
    knowledge = knowing()
    hear(knowledge, "a", "b")
    knowledge.settle(change("a", "b", downtime_s=2.5))
    hear(knowledge, "a", number=2, at_s=EPOCH_S + 20)
    assert knowledge.recall(LATER_S).pending("op") == change("a", at_s=EPOCH_S + 20)


def test_an_order_that_is_gone_is_forgotten():
    knowledge = knowing()
    hear(knowledge, "a", "b")
    knowledge.hear({"op": None}, LATER_S)
    assert knowledge.recall(LATER_S).reconfigurations == {}


def test_an_order_of_a_clock_that_runs_ahead_counts_from_now():
    knowledge = knowing()
    hear(knowledge, "a", "b", at_s=EPOCH_S + 3600, now_s=EPOCH_S)
    hear(knowledge, "a", "b", at_s=EPOCH_S + 3600, now_s=EPOCH_S + 10)
    assert knowledge.recall(EPOCH_S + 10).pending("op") == change("a", "b", at_s=EPOCH_S)
