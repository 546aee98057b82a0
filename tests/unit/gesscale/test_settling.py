"""When a change counts as settled."""

from dataclasses import replace

from edge import batches, reading

from gesscale.order import Order
from gesscale.plan.settling import settled

CHANGE = Order(at_s=900.0, placement=("hub", "near"))


def seen(warm_nodes):
    """The newest batch ran on both nodes; the warm ones, begun after the order, where they are given."""
    warm = batches(warm_nodes, at_s=1000.0, rows=50, seconds=1.0)
    return replace(reading(("hub", "near")), warm_batches=warm)


def test_a_warm_batch_on_the_nodes_that_were_ordered_settles_a_change():
    assert settled(CHANGE, seen(("near", "hub")), 300.0) is not None


def test_a_warm_batch_on_the_nodes_of_before_settles_nothing_though_it_began_after_the_order():
    assert settled(CHANGE, seen(("hub",)), 300.0) is None


def test_after_its_time_it_counts_as_settled_whatever_ran():
    assert settled(CHANGE, seen(("hub",)), 100.0) is not None


def test_it_is_noted_when_the_first_batch_on_the_ordered_nodes_began():
    # Batches began at 896, 898, 900 and 902 s, the third on the hub alone; the order is of 899 s.
    on_both = batches(("hub", "near"), at_s=904.0, rows=50, seconds=2.0)
    ran = (*on_both[:2], replace(on_both[2], nodes=("hub",)), on_both[3])
    done = settled(
        CHANGE.model_copy(update={"at_s": 899.0}), replace(seen(("near", "hub")), batches=ran), 300.0
    )
    assert done is not None
    assert done.first_tasks_s == 3.0
    none = settled(CHANGE, replace(seen(("hub",)), batches=()), 100.0)
    assert none is not None
    assert none.first_tasks_s is None
