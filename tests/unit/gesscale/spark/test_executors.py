from gesscale.spark.executors import ExecutorWatch, hosts_of
from gesscale.spark.reconcile import LiveExecutor


def live(identity, *, node=None, worked=False, warm=True):
    return LiveExecutor(id=identity, host="10.1.0.9", node=node, has_worked=worked, is_warm=warm)


def test_hosts_are_nodes_where_executors_tell_them():
    assert hosts_of([live("1", node="edge2"), live("2")]) == ("10.1.0.9", "edge2")


def test_who_was_told_to_go_is_a_member_and_no_replica():
    watch = ExecutorWatch(lambda: [live("1", node="a"), live("2", node="b")], lambda: 10.0)
    watch.expect_to_leave(frozenset({"2"}))
    seen = watch.now(fresh_s=0)
    assert (seen.hosts, [each.id for each in seen.members]) == (("a",), ["1", "2"])


def test_who_warms_up_is_a_member_and_no_replica_yet():
    watch = ExecutorWatch(lambda: [live("1", node="a"), live("2", node="b", warm=False)], lambda: 10.0)
    seen = watch.now(fresh_s=0)
    assert (seen.hosts, [each.id for each in seen.members]) == (("a",), ["1", "2"])


def test_the_first_task_is_dated_when_it_is_first_seen_and_forgotten_with_its_executor():
    now_s, there = [10.0], [live("1", node="a")]
    watch = ExecutorWatch(lambda: there, lambda: now_s[0])
    watch.now(fresh_s=0)
    assert watch.first_task_at_s("1") is None
    for at_s in (12.0, 13.0):
        now_s[0], there[:] = at_s, [live("1", node="a", worked=True)]
        watch.now(fresh_s=0)
        assert watch.first_task_at_s("1") == 12.0
    there.clear()
    watch.now(fresh_s=0)
    assert watch.first_task_at_s("1") is None
