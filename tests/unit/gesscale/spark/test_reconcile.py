import pytest

from gesscale.spark.reconcile import Actions, ExecutorPod, LiveExecutor, reconcile


def live(identity, node, order="1-1", *, warm=True):
    return LiveExecutor(id=identity, host="10.0.0.1", node=node, order=order, is_warm=warm)


def pod(executor, node, order="1-1", *, waits=True):
    return ExecutorPod(name=f"p{executor}", executor=executor, node=node, order=order, waits=waits)


def test_nothing_is_done_where_all_is_as_ordered():
    actions = reconcile("1-1", ["a", "b"], [live("1", "a"), live("2", "b")])
    assert actions == Actions(total=2)
    assert actions.is_settled


def test_a_missing_node_is_asked_for_and_nobody_goes():
    actions = reconcile("1-2", ["a", "b"], [live("1", "a")])
    assert actions == Actions(total=2, missing=("b",))
    assert not actions.is_settled


def test_add_first_then_remove():
    before = [live("1", "a"), live("2", "b")]
    # b has left, c has come: while c's executor is on its way, b's counts too: 2 ordered + 1 that still runs
    assert reconcile("1-2", ["a", "c"], before) == Actions(total=3, missing=("c",), surplus=("2",))
    after = [*before, live("3", "c")]
    assert reconcile("1-2", ["a", "c"], after).decommission == ("2",)


def test_the_old_one_stays_until_the_new_one_is_warm():
    executors = [live("1", "a"), live("2", "b"), live("3", "c", warm=False)]
    assert reconcile("1-2", ["a", "c"], executors) == Actions(total=2, surplus=("2",))


def test_who_was_told_to_go_is_told_once_and_no_longer_holds_its_node():
    executors = [live("1", "a"), live("2", "b")]
    assert reconcile("1-2", ["a"], executors, leaving={"2"}) == Actions(total=1)
    # its node comes back into the placement: another executor must come when it is gone
    assert reconcile("1-3", ["a", "b"], executors, leaving={"2"}) == Actions(total=3, missing=("b",))


def test_nobody_goes_before_the_border():
    executors = [live("1", "a"), live("2", "b")]
    assert reconcile("1-2", ["a"], executors, may_remove=False) == Actions(total=1, surplus=("2",))


def test_of_two_on_one_node_the_younger_goes():
    # ids are numbers: 9 is older than 10
    assert reconcile("1-1", ["a"], [live("10", "a"), live("9", "a")]).decommission == ("10",)


def test_an_executor_that_does_not_tell_its_node_goes_last():
    assert reconcile("1-1", ["a"], [live("1", None)]) == Actions(total=2, missing=("a",), surplus=("1",))
    assert reconcile("1-1", ["a"], [live("1", None), live("2", "a")]).decommission == ("1",)


def test_an_operator_never_goes_below_one():
    with pytest.raises(ValueError, match="never goes below one"):
        reconcile("1-1", [], [live("1", "a")])
    # all nodes change: no executor goes before another has come
    assert reconcile("1-2", ["c"], [live("1", "a"), live("2", "b")]).decommission == ()


def test_a_pod_that_waits_by_an_older_order_is_withdrawn():
    executors = [live("1", "a")]
    pods = [pod("1", "a", waits=False), pod("2", None, order="1-1")]
    assert reconcile("1-2", ["a"], executors, pods=pods).withdraw == ("p2",)
    assert reconcile("1-2", ["a", "c"], executors, pods=pods).withdraw == ("p2",)
    assert reconcile("1-1", ["a", "b"], executors, pods=pods).withdraw == ()  # its own order: it may come


def test_a_pod_that_starts_on_a_node_of_the_placement_may_come_whatever_its_order():
    pods = [pod("2", "b", order="1-1")]
    assert reconcile("1-2", ["a", "b"], [live("1", "a")], pods=pods).withdraw == ()
    assert reconcile("1-2", ["a", "c"], [live("1", "a")], pods=pods).withdraw == ("p2",)


def test_more_pods_than_are_missing_are_withdrawn():
    # c is missing; one pod is bound to it, so the one that waits without a node is too many
    executors = [live("1", "a"), live("2", "b")]
    pods = [pod("3", "c", order="1-2"), pod("4", None, order="1-2")]
    assert reconcile("1-2", ["a", "b", "c"], executors, pods=pods).withdraw == ("p4",)
    # one that runs there and has not registered yet counts as well
    pods = [pod("3", "c", order="1-2", waits=False), pod("4", None, order="1-2")]
    assert reconcile("1-2", ["a", "b", "c"], executors, pods=pods).withdraw == ("p4",)
