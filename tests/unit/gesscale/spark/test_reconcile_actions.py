from dataclasses import replace

import pytest

from gesscale.spark.reconcile_actions import Actions, ExecutorPod, LiveExecutor, reconcile


def live(identity, node, *, warm=True):
    return LiveExecutor(id=identity, host="10.0.9.1", node=node, order="1-1", is_warm=warm)


def pod(executor, node, order="1-1", *, pending=True):
    return ExecutorPod(name=f"p{executor}", executor=executor, node=node, order=order, is_pending=pending)


A, B, C = live("1", "a"), live("2", "b"), live("3", "c")


@pytest.mark.parametrize(
    ("nodes", "executors", "given", "actions"),
    [
        ("ab", [A, B], {}, Actions(total=2)),  # as ordered
        ("ab", [A], {}, Actions(total=2, missing=("b",))),
        # b is removed, c is added: while c's executor starts, b's counts too: 2 ordered + 1 that still runs
        ("ac", [A, B], {}, Actions(total=3, missing=("c",), surplus=("2",))),
        ("ac", [A, B, C], {}, Actions(total=2, decommission=("2",), surplus=("2",))),
        # the old one stays until the new one is warm
        ("ac", [A, B, live("3", "c", warm=False)], {}, Actions(total=2, surplus=("2",))),
        # a decommissioned executor no longer holds its node: if that is ordered again, another one must start
        ("a", [A, B], {"leaving": {"2"}}, Actions(total=1)),
        ("ab", [A, B], {"leaving": {"2"}}, Actions(total=3, missing=("b",))),
        # not at a batch boundary
        ("a", [A, B], {"may_remove": False}, Actions(total=1, surplus=("2",))),
        # of two on one node the younger goes; ids are numbers: 9 is older than 10
        ("a", [live("10", "a"), live("9", "a")], {}, Actions(total=1, decommission=("10",), surplus=("10",))),
        # an executor of unknown node goes last
        ("a", [live("1", None)], {}, Actions(total=2, missing=("a",), surplus=("1",))),
        ("a", [live("1", None), live("2", "a")], {}, Actions(total=1, decommission=("1",), surplus=("1",))),
        # all nodes change: no executor leaves before another has started
        ("c", [A, B], {}, Actions(total=3, missing=("c",), surplus=("1", "2"))),
        # an executor on a lost node is killed; while its pod may still count, the total includes it
        ("ab", [A, C], {"lost": {"c"}}, Actions(total=3, missing=("b",), kill=("3",))),
        ("ab", [A, B, C], {"lost": {"c"}}, Actions(total=2, kill=("3",))),
        ("ab", [A, B, C], {"lost": {"c"}, "leaving": {"3"}}, Actions(total=2)),
        # an ordered node that is lost needs no executor until it is back
        ("ac", [A, C], {"lost": {"c"}}, Actions(total=1, kill=("3",))),
        ("ac", [A], {"lost": {"c"}}, Actions(total=1)),
        # the last executor is always requested again
        ("c", [C], {"lost": {"c"}}, Actions(total=2, missing=("c",), kill=("3",))),
    ],
)
def test_the_steps_to_an_order_follow_from_what_is_there(nodes, executors, given, actions):
    found = reconcile("1-2", list(nodes), executors, **given)
    assert found == actions
    assert found.is_settled is not bool(actions.missing or actions.surplus)


def test_all_pods_of_a_lost_node_are_deleted_at_once_and_no_other():
    pods = [pod("1", "a", pending=False), pod("2", "c"), pod("3", "c", pending=False), pod("5", None)]
    pods += [replace(pod("4", "c", pending=False), is_terminating=True)]
    found = reconcile("1-1", ["a", "b"], [A], lost={"c"}, pods=pods)
    assert (found.force_delete, found.delete_pods) == (("p2", "p3", "p4"), ())


def test_an_operator_never_goes_below_one():
    with pytest.raises(ValueError, match="node"):
        reconcile("1-1", [], [A])


@pytest.mark.parametrize(
    ("order", "nodes", "pods", "deleted"),
    [
        # a pending pod of an older order is deleted; one of the current order is kept
        ("1-2", "a", [pod("1", "a", pending=False), pod("2", None)], ("p2",)),
        ("1-2", "ac", [pod("1", "a", pending=False), pod("2", None)], ("p2",)),
        ("1-1", "ab", [pod("1", "a", pending=False), pod("2", None)], ()),
        # a pod on a node of the placement is kept, whatever its order
        ("1-2", "ab", [pod("2", "b")], ()),
        ("1-2", "ac", [pod("2", "b")], ("p2",)),
        # a pod that is bound to c, or runs there and has not registered yet, makes the unbound one superfluous
        ("1-2", "ac", [pod("3", "c", "1-2"), pod("4", None, "1-2")], ("p4",)),
        ("1-2", "ac", [pod("3", "c", "1-2", pending=False), pod("4", None, "1-2")], ("p4",)),
    ],
)
def test_superfluous_pending_pods_are_deleted(order, nodes, pods, deleted):
    assert reconcile(order, list(nodes), [A], pods=pods).delete_pods == deleted
