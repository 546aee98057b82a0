"""What status, conditions and events say of faults that users make, on a real control plane."""

import json
import time

import pytest
from controlled_world import World, controller
from waiting import until

pytestmark = pytest.mark.real
PAST = "2020-01-01T00:00:00Z"
GARBAGE = {
    "order": {"id": "9-x", "term": 9, "placement": ["nowhere"], "at": PAST, "strategy": "Live"},
    "memory": {"readings": [], "memo": "{not JSON"},
    "conditions": [{"type": "Ready", "status": "True", "reason": "Edited", "message": "", "lastTransitionTime": PAST}],
    "history": [{"id": "x", "term": 0, "placement": ["a"], "at": PAST, "strategy": "Live"}],
}  # fmt: skip


def test_faults_are_in_conditions_and_events(world: World):
    near, mid, _ = world.nodes
    kubectl = world.cluster.run_kubectl
    bare = f"bare-{world.namespace}"
    kubectl("create", "-f", "-", stdin=json.dumps({"apiVersion": "v1", "kind": "Node", "metadata": {"name": bare}}))
    until_s = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 3600))
    world.add("emptied", nodePool={"matchLabels": {"kubernetes.io/HostName": near}})
    world.create("lost", driver=None)
    world.add("unmet", maxReplicas=3, override={"nodes": [near, "nosuch"], "until": until_s})
    world.add("expired", maxReplicas=2, override={"nodes": [near, mid], "until": PAST})
    world.add("small", maxReplicas=9)
    world.add("edited", offered=100)
    world.patch_status("edited", GARBAGE)
    expected = {
        "emptied": ("Ready", "False", "NodePoolEmpty", "kubernetes.io/hostname"),
        "lost": ("MetricsAvailable", "False", "MetricsMissing", "gesscale.dev/autoscaler=lost"),
        "unmet": ("ScalingLimited", "True", "OverrideUnmet", "nosuch"),
        "expired": ("Overridden", "False", "OverrideExpired", PAST),
        "small": ("ScalingLimited", "False", "NodePoolBelowMax", "9"),
    }
    try:
        with controller(world) as process:
            for name, (kind, status, reason, naming) in expected.items():
                until(
                    lambda name=name, kind=kind, reason=reason: world.condition(name, kind).get("reason") == reason,
                    name,
                )
                condition = world.condition(name, kind)
                assert (condition["status"], naming in condition["message"]) == (status, True), condition
                until(lambda name=name, reason=reason: reason in world.event_reasons(name), f"the event of {name}")
            assert world.condition("emptied", "AbleToScale")["reason"] == "NodePoolEmpty"
            assert world.condition("unmet", "Ready")["status"] == "True"
            world.patch("expired", {"maxReplicas": 1})  # an override that has ended blocks no change
            until(lambda: world.condition("edited", "Ready").get("reason") not in {"Edited", None}, "a new status")
            until(lambda: world.condition("edited", "Ready")["observedGeneration"] == 1, "it is rebuilt")
            times = [each["lastTimestamp"] for each in world.events("emptied")]
            assert all(times)
            assert process.readyz()[0] == 200
    finally:
        kubectl("delete", "node", bare, "--wait=false")
    assert "Traceback" not in process.log.read_text()
