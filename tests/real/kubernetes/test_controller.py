"""The controller process on a real cluster; drivers and executors are those of `controlled_world`."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml
from accounts import controller_as, controller_rights, controller_roles
from controlled_world import PERIOD_S, World, controller, kubeconfig_of
from waiting import until

from gesscale.kubernetes.controller.controller import Controller
from gesscale.kubernetes.controller.probes import readiness_failures
from testbed.kubernetes.images import BUSYBOX

pytestmark = pytest.mark.real
YEARS_AHEAD = "2040-01-01T00:00:00Z"
EVENTS = {
    "advises": {"ScalingReport"},
    "pauses": {"PausedByUser", "NotPaused"},
    "whole": {"SettingsDiffer"},
    "misspelt": {"SettingsInvalid"},
}
"""They are published after the status with the same content."""


def some_periods(count: int = 2) -> None:
    """Give a controller the time in which it would do what it is not to do."""
    time.sleep(count * PERIOD_S)


def test_modes_pauses_and_overrides_are_applied(world):
    near, mid, far = world.nodes
    world.add("acts")
    world.add("advises", mode="Recommend")
    world.add("rehearses", mode="DryRun")
    world.add("pauses", pause={"reason": "maintenance"})
    world.add("named", offered=100, override={"nodes": [near, far], "until": YEARS_AHEAD})
    world.add("expires", offered=100, override={"nodes": [far], "until": YEARS_AHEAD})
    world.add("torn", workflow="both", policy={"settings": {"law": "eq1"}})
    world.add("whole", workflow="both")
    world.add("misspelt", policy={"name": "daedalus", "settings": {"cooldwn": "3m"}})
    with controller(world) as process:
        until(lambda: len(world.pods_of("acts")) == 2, "an executor on a second node")
        # edge-b is 5 ms from edge-a, edge-c 40 ms.
        assert world.order("acts")["placement"] == [near, mid]
        until(lambda: "SuccessfulRescale" in world.event_reasons("acts"), "the end of scaling")
        until(lambda: world.reason("advises") == "Overloaded", "advice")
        assert world.outcome("advises") == "NotAllowed"
        assert world.status("advises")["recommendation"]["placement"] == [near, mid]
        until(lambda: world.outcome("rehearses") == "Rehearsed", "a rehearsal")
        until(lambda: world.reason("pauses") == "Paused", "a pause")
        until(lambda: sorted(world.pods_of("named")) == [near, far], "the nodes that were named")
        until(lambda: world.reason("named") == "Overridden", "an override")
        for name in ("torn", "whole"):
            until(lambda name=name: world.condition(name, "Ready").get("reason") == "SettingsDiffer", "a fault")
        assert "policy.settings" in world.condition("whole", "Ready")["message"]
        until(lambda: world.condition("misspelt", "SettingsInvalid").get("status") == "True", "a wrong key")
        assert world.condition("misspelt", "Ready")["message"].endswith("cooldown")  # the nearest key
        for name in ("advises", "rehearses", "pauses", "torn", "whole", "misspelt"):
            assert not world.order(name), name
        until(lambda: sorted(world.pods_of("expires")) == [far], "the node of the override that expires")
        until_s = time.time() + 10
        soon = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(until_s))
        world.patch("expires", {"override": {"until": soon}})
        world.patch("pauses", {"pause": None})
        world.patch("torn", {"policy": None})
        until(lambda: world.order("pauses"), "an order after the pause")
        until(lambda: world.order("torn") and world.order("whole"), "orders after the settings agree")
        until(lambda: world.reason("expires") not in {"", "Overridden"}, "the end of the override")
        assert time.time() >= int(until_s)  # it is written in whole seconds
        until(lambda: {"Rescaling", "SuccessfulRescale"} <= world.event_reasons("acts"), "events of a rescaling")
        for name, events in EVENTS.items():
            until(lambda name=name, events=events: events <= world.event_reasons(name), f"{events} of {name}")
        until(lambda: process.readyz() == (200, "ready: leader, steps 7 workflows\n"), "it is ready")
        place = ("--kubeconfig", str(kubeconfig_of(world.cluster, world.namespace, world.folder)))
        explained = subprocess.run(
            (str(Path(sys.executable).with_name("gesscale")), "explain", "acts", "--kubernetes", *place),
            capture_output=True, text=True, timeout=300, check=True,
        ).stdout  # fmt: skip
        assert f"{world.namespace}/acts: " in explained
        assert "last orders" in explained
        checked = subprocess.run(
            (str(Path(sys.executable).with_name("gesscale")), "doctor", "--kubernetes", *place, "--output", "json"),
            capture_output=True, text=True, timeout=300, check=False,
        ).stdout  # fmt: skip
        results = {each["check"]: each["result"] for each in json.loads(checked)["checks"]}
        assert results[f"{world.namespace}/acts pool"] == "ok", checked
        listed = world.cluster.run_kubectl("-n", world.namespace, "get", "sas")
        described = world.cluster.run_kubectl("-n", world.namespace, "describe", "sas", "acts")
        print(listed, described, explained, sep="\n")  # noqa: T201  # a transcript for those who run the tests with -s
    assert listed.split()[:6] == ["NAME", "MIN", "MAX", "REPLICAS", "DESIRED", "MST"]
    assert "SuccessfulRescale" in described
    assert process.popen.returncode == 0
    assert "Traceback" not in process.log.read_text()


def test_a_successor_continues_the_change_of_a_killed_controller(world):
    # Its change is under way until the end of this test, however long a busy machine takes to start two controllers.
    operator = world.add("kept", applies=False, maxReplicas=3, reconfiguration={"rescaleTimeout": "1h"})
    world.add("wiped", maxReplicas=3)
    with controller(world, "first") as first:
        until(lambda: world.order("kept") and world.status("kept").get("memory"), "an order")
        until(lambda: len(world.pods_of("wiped")) >= 2, "executors")
        first.signal(signal.SIGKILL)
        first.popen.wait(60)
    before, readings = world.order("kept"), world.status("kept")["memory"]["readings"]
    wiped = world.order("wiped")
    world.patch_status("wiped", {"memory": None})
    with controller(world, "second") as second:
        until(lambda: second.leads, "the second leads when the lease has ended")
        until(lambda: world.reason("wiped") == "Paused", "caution")
        some_periods()
        assert "memory" in world.status("wiped")["lastDecision"]["message"]
        assert world.order("wiped") == wiped
        assert world.order("kept") == before
        until(lambda: world.reason("kept") == "Reconfiguring", "the change under way is known")
        kept = world.status("kept")["memory"]["readings"]
        assert {each["atSeconds"] for each in readings} <= {each["atSeconds"] for each in kept}
        operator.applies = True
        # Its backlog has grown all the while, so a next order with more nodes may follow at once.
        until(lambda: set(before["placement"]) <= set(world.pods_of("kept")), "the change is made")
        until(lambda: "SuccessfulRescale" in world.event_reasons("kept"), "the change is settled")
    later = world.order("kept")
    assert later == before or later["term"] > before["term"]
    assert "Traceback" not in second.log.read_text()


def test_only_one_of_two_controllers_orders_even_after_a_freeze(world):
    near, mid, far = world.nodes
    world.add("op", offered=100, maxReplicas=3)
    with controller(world, "one") as one:
        until(lambda: one.leads, "the first leads")
        with controller(world, "two") as two:
            until(lambda: "follower" in two.readyz()[1], "the second follows")
            world.patch("op", {"override": {"nodes": [near, mid], "until": YEARS_AHEAD}})
            until(lambda: world.order("op").get("placement") == [near, mid], "an order")
            of_first = world.order("op")
            one.signal(signal.SIGSTOP)
            until(lambda: two.leads, "the second takes over")
            world.patch("op", {"override": {"nodes": [near, far]}})
            until(lambda: world.order("op")["placement"] == [near, far], "an order of the second")
            until(lambda: world.order("op").get("reason"), "its reason is written, after the order")
            of_second = world.order("op")
            assert of_second["term"] > of_first["term"]
            one.signal(signal.SIGCONT)
            until(lambda: "follower" in one.readyz()[1], "the first has noticed")
            some_periods()
            assert world.order("op") == of_second
    assert "event=LeadershipLost" in one.log.read_text()


def test_ineligible_nodes_are_not_chosen_and_are_reported(world):
    cluster, (near, mid, far) = world.cluster, world.nodes
    fill(world, mid)
    cluster.run_kubectl("cordon", far)
    try:
        world.add("op", executor={"requests": {"cpu": "300m"}})
        with controller(world) as process:
            until(lambda: world.reason("op") == "NoCandidateNode", "no node can be had")
            rejected = {each["reason"]: each["message"] for each in world.status("op")["nodePool"]["rejected"]}
            assert (sorted(rejected), world.order("op")) == (["Cordoned", "NoRoom"], {})
            assert rejected["NoRoom"].startswith(f"{mid}: ")
            assert "0.3" in rejected["NoRoom"]  # the requested CPU
            cluster.run_kubectl("uncordon", far)
            until(lambda: world.order("op"), "an order when the node is open again")
            assert world.order("op")["placement"] == [near, far]
            assert process.readyz()[0] == 200
    finally:
        cluster.run_kubectl("uncordon", far)


@pytest.mark.long
def test_an_unreachable_node_is_not_chosen(world):
    cluster, (near, mid, far) = world.cluster, world.nodes
    fill(world, mid)
    cluster.cut_off(far)
    ready = "jsonpath={.status.conditions[?(@.type=='Ready')].status}"
    try:
        # Before it is NotReady, the first decision could still choose it.
        until(lambda: cluster.run_kubectl("get", "node", far, "-o", ready) != "True", "the node is NotReady")
        world.add("op", executor={"requests": {"cpu": "300m"}})
        with controller(world):

            def reasons() -> set[str]:
                return {each["reason"] for each in world.status("op")["nodePool"].get("rejected", ())}

            until(lambda: "NotReady" in reasons(), "the node is reported as NotReady")
            assert not world.order("op")
            cluster.reconnect(far)
            until(lambda: sorted(world.pods_of("op")) == [near, far], "executors when the node is back")
            evicted, order = world.pods_of("op")[far]["metadata"]["name"], world.order("op")
            evict(cluster, world.namespace, evicted)
            until(lambda: far in (pods := world.pods_of("op")) and pods[far]["metadata"]["name"] != evicted, "another")
            some_periods()
            assert world.order("op") == order
    finally:
        cluster.reconnect(far)


def fill(world: World, node: str) -> None:
    """Take all but 0.1 CPU of a node."""
    found = json.loads(world.cluster.run_kubectl("get", "node", node, "-o", "json"))
    cpu = found["status"]["allocatable"]["cpu"]
    free_m = int(cpu[:-1]) if cpu.endswith("m") else 1000 * int(cpu)
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "filler", "namespace": world.namespace},
        "spec": {
            "nodeName": node,
            "terminationGracePeriodSeconds": 0,
            "automountServiceAccountToken": False,
            "containers": [
                {
                    "name": "c",
                    "image": BUSYBOX,
                    "command": ["sleep", "100000"],
                    "resources": {"requests": {"cpu": f"{free_m - 100}m"}},
                }
            ],
        },
    }
    kubectl, text = world.cluster.run_kubectl, json.dumps(pod)
    kubectl("create", "-f", "-", stdin=text)

    def runs() -> bool:
        phase = kubectl("-n", world.namespace, "get", "pod", "filler", "-o", "jsonpath={.status.phase}")
        if phase == "Failed":  # the kubelet rejects it while pods of an earlier test still terminate there
            kubectl("-n", world.namespace, "delete", "pod", "filler")
            kubectl("create", "-f", "-", stdin=text)
        return phase == "Running"

    until(runs, f"{node} is full")


def evict(cluster, namespace: str, pod: str) -> None:
    body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": pod, "namespace": namespace}}
    path = f"/api/v1/namespaces/{namespace}/pods/{pod}/eviction"
    cluster.run_kubectl("create", "--raw", path, "-f", "-", stdin=json.dumps(body))


def test_a_recreated_resource_starts_from_scratch(world):
    near, mid, far = world.nodes
    operator = world.add("op", offered=100, maxReplicas=3, override={"nodes": [near, mid], "until": YEARS_AHEAD})
    with controller(world) as process:
        until(lambda: operator.executors == (near, mid), "executors that run")
        world.cluster.run_kubectl("-n", world.namespace, "delete", "sas", "op")
        world.create("op", override={"nodes": [near, mid], "until": YEARS_AHEAD})
        until(lambda: world.reason("op") == "Overridden", "it is taken up again")
        some_periods()
        # The live placement is the desired one, so nothing is ordered; and nothing of the former resource is left.
        assert not world.order("op")
        assert not world.status("op").get("history")
        world.patch("op", {"override": {"nodes": [near, far]}})
        until(lambda: world.order("op").get("placement") == [near, far], "an order of the new resource")
    assert "Traceback" not in process.log.read_text()


def test_a_missing_right_is_reported_and_nothing_is_scaled_in(world, tmp_path):
    near, mid, _ = world.nodes
    # One executor does 500 rows/s. With 600 offered it would be cheaper to hold one and let rows wait for a while.
    world.add("op", offered=950, on=(near, mid), minReplicas=1, maxReplicas=2)
    account, kubectl = f"{world.namespace}-controller", world.cluster.run_kubectl
    (pods,) = (right for right in controller_rights() if right.target == "pods")
    try:
        kubectl("apply", "-f", "-", stdin=yaml.safe_dump_all(roles(world.namespace, account, (pods, "list"))))
        with controller_as(world.cluster, world.namespace, account, tmp_path, watched=world.namespace) as running:
            until(lambda: "list pods" in denied(running), "the denied right is reported")
            until(lambda: world.reason("op"), "a step without pods")
        assert not world.order("op")
    finally:
        kubectl("delete", "clusterrole,clusterrolebinding", account, "--wait=false", "--ignore-not-found")


def denied(controller: Controller) -> list[str]:
    """Return the rights whose lack makes the controller unready."""
    failures = readiness_failures(controller.health(), time.clock_gettime(time.CLOCK_BOOTTIME))
    return [str(failure.fields["right"]) for failure in failures if failure.code == "kubernetes-forbidden"]


def roles(namespace: str, account: str, missing):
    """Return the roles of an account, without one verb."""
    for document in yaml.safe_load_all(controller_roles(namespace, account)):
        if missing is not None and document["kind"] in {"ClusterRole", "Role"}:
            right, verb = missing
            kind = "Role" if right.own else "ClusterRole"
            for rule in document["rules"] if document["kind"] == kind else ():
                if (rule["resources"], rule.get("resourceNames", [])) == ([right.target], list(right.names)):
                    rule["verbs"].remove(verb)
            document["rules"] = [rule for rule in document["rules"] if rule["verbs"]]
        yield document
