"""A node on which executors do not come is left alone for a while."""

from kube import pod

from gesscale.kubernetes.placement.room import NodeBackoff

# It is waited for 60 s; then the node rests three times as long, 180 s.


def test_a_node_is_left_alone_after_the_wait_and_tried_again_after_the_rest():
    node_backoff = NodeBackoff(60.0)
    assert node_backoff.judge([], ["b"], 0.0) == {}
    assert node_backoff.judge([], ["b"], 59.0) == {}
    found = node_backoff.judge([], ["b"], 60.0)
    assert found == {"b": "no executor became ready there within 60 s: its pod was never created"}
    assert set(node_backoff.judge([], [], 239.0)) == {"b"}  # not awaited any more; 60 + 180 = 240
    assert node_backoff.judge([], [], 240.0) == {}
    assert node_backoff.judge([], ["b"], 241.0) == {}  # it is waited for again


def test_the_pod_itself_tells_why_else_one_that_waits_for_a_node():
    bound = pod("e", "b", ready=False, problem="ImagePullBackOff no such image")
    waiting = pod("e", problem="Unschedulable: 0/3 nodes are available")
    for executor, why in ((bound, "ImagePullBackOff no such image"), (waiting, "Unschedulable: 0/3")):
        node_backoff = NodeBackoff(60.0)
        node_backoff.judge([executor], ["b"], 0.0)
        assert why in node_backoff.judge([executor], ["b"], 60.0)["b"]
