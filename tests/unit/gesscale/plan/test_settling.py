"""Settling of orders."""

from dataclasses import replace

import pytest
from edge import batches, reading

from gesscale.model.order import Order
from gesscale.plan.settling import longest_stop_s, settle_order

CHANGE = Order(at_s=900.0, placement=("hub", "near"))


def seen(warm_nodes):
    """The newest batch ran on both nodes; the warm ones, begun after the order, where they are given."""
    warm = batches(warm_nodes, at_s=1000.0, rows=50, seconds=1.0)
    return replace(reading(("hub", "near")), warm_batches=warm)


def test_a_warm_batch_on_the_nodes_that_were_ordered_settles_a_change():
    assert settle_order(CHANGE, seen(("near", "hub")), 300.0) is not None


def test_a_warm_batch_on_the_previous_nodes_settles_nothing():
    assert settle_order(CHANGE, seen(("hub",)), 300.0) is None


def test_after_its_time_it_counts_as_settled_whatever_ran():
    assert settle_order(CHANGE, seen(("hub",)), 100.0) is not None


def test_the_start_of_the_first_batch_on_the_ordered_nodes_is_kept():
    # Batches began at 896, 898, 900 and 902 s, the third on the hub alone; the order is of 899 s.
    on_both = batches(("hub", "near"), at_s=904.0, rows=50, seconds=2.0)
    ran = (*on_both[:2], replace(on_both[2], nodes=("hub",)), on_both[3])
    done = settle_order(CHANGE.model_copy(update={"at_s": 899.0}), replace(seen(("near", "hub")), batches=ran), 300.0)
    assert done is not None
    assert done.first_tasks_s == 3.0
    none = settle_order(CHANGE, replace(seen(("hub",)), batches=()), 100.0)
    assert none is not None
    assert none.first_tasks_s is None


def run_of(*spans, **last):
    """Batches of one run, each from an instant to another; the figures of the last but one are given."""
    (one,) = batches(("hub",), at_s=0.0, rows=9, seconds=1.0, count=1)
    made = [
        replace(one, batch_id=number, ended_at_s=end, seconds=end - begin, backlog_rows=0.0)
        for number, (begin, end) in enumerate(spans)
    ]
    return (*made[:-2], replace(made[-2], **last), made[-1])


@pytest.mark.parametrize(
    ("ran", "stop_s"),
    [
        (run_of((898, 899), (900, 901), (930, 931)), 0.0),  # a burst each 30 s: nothing to do between them
        (run_of((898, 899), (900, 901), (901, 960)), 0.0),  # a long batch
        (run_of((898, 899), (900, 901), (930, 931), backlog_rows=0.4), 0.0),  # half an offset that is no row
        (run_of((898, 899), (900, 901), (930, 931), backlog_rows=5.0), 28.0),  # due at 902
        (run_of((898, 899), (900, 910), (930, 931), backlog_rows=5.0), 20.0),  # due at its end
        (run_of((898, 899), (900, 901), (930, 931), batch_id=0), 28.0),  # batches are missing
        (run_of((898, 899), (900, 901), (930, 931), batch_id=5), 28.0),  # restarted
    ],
)
def test_downtime_is_the_time_in_which_rows_wait_and_no_batch_runs(ran, stop_s):
    assert longest_stop_s(ran, 899.0) == stop_s


@pytest.mark.parametrize(("processed", "stop_s"), [(1015.0, 0.0), (1009.0, 28.0), (3.0, 28.0)])
def test_batches_that_were_not_seen_are_no_stop(processed, stop_s):
    # From 1000 rows processed: 9 rows in the last batch, and 6, 0 in batches before it; or the counter began again.
    *first, last = run_of((898, 899), (900, 901), (930, 931), offered_rows_total=1000.0)
    last = replace(last, batch_id=5, offered_rows_total=processed, backlog_rows=0.0)
    assert longest_stop_s((*first, last), 899.0) == stop_s


@pytest.mark.parametrize(("before", "processed", "stop_s"), [(1, 9.0, 31.0), (1, 99.0, 0.0), (0, 9.0, 0.0)])
def test_a_restart_stops_the_query_from_the_order_to_the_first_batch_of_the_new_run(before, processed, stop_s):
    # The page has the batches of the new run only; the first has all 9 rows of it, or others were before it.
    first, *later = run_of((930, 931), (932, 933), (934, 935))
    ran = (replace(first, offered_rows_total=processed), *later)
    order = CHANGE.model_copy(update={"at_s": 899.0, "before": before})
    done = settle_order(order, replace(seen(("near", "hub")), batches=ran), 0.0)
    assert done.downtime_s == stop_s


def test_a_stop_counts_from_the_order():
    assert longest_stop_s(run_of((860, 861), (862, 863), (930, 931), backlog_rows=5.0), 910.0) == 20.0


def test_an_order_is_not_given_up_before_a_batch_on_its_nodes_can_have_ended():
    long = replace(seen(("hub",)), batches=run_of((100, 400), (400, 700), (700, 1000)))
    # Three cycles of 300 s.
    assert settle_order(CHANGE.model_copy(update={"at_s": 101.0}), long, 300.0) is None
    assert settle_order(CHANGE.model_copy(update={"at_s": 100.0}), long, 300.0) is not None
