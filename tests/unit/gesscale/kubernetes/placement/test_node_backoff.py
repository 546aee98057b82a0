"""A node on which executors do not start is in backoff for a while."""

from kube import pod

from gesscale.kubernetes.placement.room import NodeBackoff

# Wait 60 s; then the backoff lasts three times as long, 180 s.


def test_a_node_is_in_backoff_after_the_wait_and_tried_again_after_it():
    node_backoff, waiting = NodeBackoff(60.0), [pod("e")]
    assert node_backoff.update(waiting, ["b"], 0.0) == {}
    assert node_backoff.update(waiting, ["b"], 59.0) == {}
    found = node_backoff.update(waiting, ["b"], 60.0)
    assert set(found) == {"b"}
    assert set(node_backoff.update([], [], 239.0)) == {"b"}  # not expected any more; 60 + 180 = 240
    assert node_backoff.update([], [], 240.0) == {}
    assert node_backoff.update(waiting, ["b"], 241.0) == {}  # a new wait


def test_a_driver_that_creates_no_pod_puts_no_node_in_backoff():
    node_backoff = NodeBackoff(60.0)
    assert [node_backoff.update([], ["b"], at_s) for at_s in (0.0, 600.0)] == [{}, {}]
    assert node_backoff.update([pod("e")], ["b"], 601.0) == {}  # the wait begins with the pod
    assert node_backoff.update([], ["b"], 630.0) == {}  # the pod has ended, the next one is not there yet
    assert set(node_backoff.update([], ["b"], 661.0)) == {"b"}


def test_the_cause_is_that_of_the_pod_or_of_an_unscheduled_one():
    bound = pod("e", "b", ready=False, problem="ImagePullBackOff no such image")
    waiting = pod("e", problem="Unschedulable: 0/3 nodes are available")
    for executor, why in ((bound, "ImagePullBackOff no such image"), (waiting, "Unschedulable: 0/3")):
        node_backoff = NodeBackoff(60.0)
        node_backoff.update([executor], ["b"], 0.0)
        assert why in node_backoff.update([executor], ["b"], 60.0)["b"]
