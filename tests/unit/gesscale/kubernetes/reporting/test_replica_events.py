"""Events of nodes that leave, and of replicas that are lost and replaced."""

from gesscale.kubernetes.reporting.replica_events import ReplicaEvents
from gesscale.plan.replica_kinds import ReplicaKinds

BEFORE = ReplicaKinds(ordered=("a", "b"), running=("a", "b"), working=("a", "b"))


def reasons(events, replicas, now_s=0.0):
    return [each.reason.value for each in events.of(replicas, now_s)]


def test_a_node_that_leaves_its_replica_and_the_new_one_are_announced_once():
    events = ReplicaEvents()
    assert reasons(events, BEFORE) == []
    left = {"b": "the node was deleted"}
    lost = ReplicaKinds(ordered=("a", "c"), running=("a",), working=("a",), left=left)
    assert reasons(events, lost) == ["NodeLeft", "ReplicaLost"]
    assert reasons(events, lost) == []
    starting = ReplicaKinds(ordered=("a", "c"), running=("a", "c"), working=("a",))
    assert reasons(events, starting) == []
    assert reasons(events, ReplicaKinds(ordered=("a", "c"), running=("a", "c"), working=("a", "c"))) == [
        "ReplicaReplaced"
    ]
    assert reasons(events, ReplicaKinds(ordered=("a", "c"), running=("a", "c"), working=("a", "c"))) == []


def test_an_executor_that_ends_on_a_healthy_node_is_a_lost_replica():
    events = ReplicaEvents()
    reasons(events, BEFORE)
    assert reasons(events, ReplicaKinds(ordered=("a", "b"), running=("a",), working=("a",))) == ["ReplicaLost"]
    assert reasons(events, BEFORE) == ["ReplicaReplaced"]


def test_a_replica_that_an_order_removes_is_not_lost():
    events = ReplicaEvents()
    reasons(events, BEFORE)
    assert reasons(events, ReplicaKinds(ordered=("a",), running=("a",), working=("a",))) == []


def test_an_idle_stream_counts_running_replicas():
    events = ReplicaEvents()
    reasons(events, BEFORE)
    assert reasons(events, ReplicaKinds(ordered=("a", "b"), running=("a",))) == ["ReplicaLost"]
    assert reasons(events, ReplicaKinds(ordered=("a", "b"), running=("a", "b"))) == ["ReplicaReplaced"]


def test_a_step_that_does_not_see_the_cluster_tells_nothing():
    events = ReplicaEvents()
    reasons(events, BEFORE)
    assert reasons(events, ReplicaKinds(ordered=("a", "b"))) == []
    assert reasons(events, BEFORE) == []
