"""Events of nodes that leave, and of replicas that are lost and replaced."""

from gesscale.kubernetes.reporting.replica_events import ReplicaEvents
from gesscale.plan.replica_kinds import ReplicaKinds

BEFORE = ReplicaKinds(ordered=("a", "b"), running=("a", "b"), working=("a", "b"))


def told(events, replicas, now_s=0.0):
    return [each.reason.value for each in events.of(replicas, now_s)]


def test_a_node_that_leaves_and_its_replica_are_told_once_and_so_is_the_new_one():
    events = ReplicaEvents()
    assert told(events, BEFORE) == []
    left = {"b": "the node was deleted"}
    lost = ReplicaKinds(ordered=("a", "c"), running=("a",), working=("a",), left=left)
    assert told(events, lost) == ["NodeLeft", "ReplicaLost"]
    assert told(events, lost) == []
    starting = ReplicaKinds(ordered=("a", "c"), running=("a", "c"), working=("a",))
    assert told(events, starting) == []
    assert told(events, ReplicaKinds(ordered=("a", "c"), running=("a", "c"), working=("a", "c"))) == ["ReplicaReplaced"]
    assert told(events, ReplicaKinds(ordered=("a", "c"), running=("a", "c"), working=("a", "c"))) == []


def test_an_executor_that_ends_on_a_healthy_node_is_a_lost_replica():
    events = ReplicaEvents()
    told(events, BEFORE)
    assert told(events, ReplicaKinds(ordered=("a", "b"), running=("a",), working=("a",))) == ["ReplicaLost"]
    assert told(events, BEFORE) == ["ReplicaReplaced"]


def test_a_replica_that_an_order_removes_is_not_lost():
    events = ReplicaEvents()
    told(events, BEFORE)
    assert told(events, ReplicaKinds(ordered=("a",), running=("a",), working=("a",))) == []


def test_an_idle_stream_counts_running_replicas():
    events = ReplicaEvents()
    told(events, BEFORE)
    assert told(events, ReplicaKinds(ordered=("a", "b"), running=("a",))) == ["ReplicaLost"]
    assert told(events, ReplicaKinds(ordered=("a", "b"), running=("a", "b"))) == ["ReplicaReplaced"]


def test_a_step_that_does_not_see_the_cluster_tells_nothing():
    events = ReplicaEvents()
    told(events, BEFORE)
    assert told(events, ReplicaKinds(ordered=("a", "b"))) == []
    assert told(events, BEFORE) == []
