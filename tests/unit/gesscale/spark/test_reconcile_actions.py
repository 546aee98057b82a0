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
    ],
)
def test_the_steps_to_an_order_follow_from_what_is_there(nodes, executors, given, actions):
    found = reconcile("1-2", list(nodes), executors, **given)
    assert found == actions
    assert found.is_settled is not bool(actions.missing or actions.surplus)


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
