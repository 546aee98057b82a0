"""The Kubernetes of the test bed itself: nodes, placement, delays, names, rights."""

import json
import sys
from typing import Any

import pytest
from refusals import refused
from waiting import until

from testbed.kubernetes.cluster import KubernetesTestBed
from testbed.kubernetes.images import BUSYBOX, HOST, host_programs

pytestmark = pytest.mark.real

TOLERANCE_MS = 4.0


def busybox_pod(name: str, node: str, command: str = "sleep 600") -> dict[str, Any]:
    """Return a pod that must run on one node, restricted as Kubernetes' strictest profile asks."""
    term = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": {"app": "pairs"}},
        "spec": {
            "terminationGracePeriodSeconds": 0,
            "affinity": {
                "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
            },
            "securityContext": restricted_pod(),
            "containers": [
                {
                    "name": "main",
                    "image": BUSYBOX,
                    "command": ["sh", "-c", command],
                    "securityContext": restricted_container(),
                }
            ],
        },
    }


def restricted_pod() -> dict[str, Any]:
    return {"runAsNonRoot": True, "runAsUser": 65534, "seccompProfile": {"type": "RuntimeDefault"}}


def restricted_container() -> dict[str, Any]:
    return {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}


def create(cluster: KubernetesTestBed, namespace: str, *objects: dict[str, Any]) -> None:
    listed = json.dumps({"apiVersion": "v1", "kind": "List", "items": objects})
    cluster.run_kubectl("-n", namespace, "create", "-f", "-", stdin=listed)


def get(cluster: KubernetesTestBed, namespace: str, kind: str, name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(cluster.run_kubectl("-n", namespace, "get", kind, name, "-o", "json"))
    return found


def wait_ready(cluster: KubernetesTestBed, namespace: str) -> None:
    cluster.run_kubectl(
        "-n", namespace, "wait", "--for=condition=Ready", "pod", "--all", "--timeout=180s", timeout_s=200
    )


def test_nodes_register_and_are_ready(cluster: KubernetesTestBed) -> None:
    items = json.loads(cluster.run_kubectl("get", "nodes", "-o", "json"))["items"]
    ready = {
        item["metadata"]["name"]
        for item in items
        if any(c["type"] == "Ready" and c["status"] == "True" for c in item["status"]["conditions"])
    }
    assert ready == set(cluster.node_names)
    assert len(ready) >= 3


def test_pods_run_where_required_affinity_says_and_feel_the_maps_delays(
    cluster: KubernetesTestBed, namespace: str
) -> None:
    topology, nodes = cluster.topology, cluster.node_names
    pods_of_root = [busybox_pod(f"on-{node}", node) for node in nodes]
    for pod in pods_of_root:  # may send echoes
        pod["spec"]["securityContext"] = {}
        del pod["spec"]["containers"][0]["securityContext"]
    create(cluster, namespace, *pods_of_root)
    wait_ready(cluster, namespace)
    pods = {node: get(cluster, namespace, "pod", f"on-{node}") for node in nodes}
    assert {node: pod["spec"]["nodeName"] for node, pod in pods.items()} == {node: node for node in nodes}
    assert all(pod["status"]["phase"] == "Running" for pod in pods.values())
    pairs = [(a, b) for index, a in enumerate(nodes) for b in nodes[index + 1 :]]
    for first, second in pairs:
        assert_felt(cluster, namespace, f"on-{first}", pods[second]["status"]["podIP"], topology.rtt_ms(first, second))
    hub = topology.driver_node  # a driver next to the control plane has the delays of the map to pods
    assert_felt(cluster, namespace, f"on-{nodes[0]}", cluster.address(hub), topology.rtt_ms(nodes[0], hub))


def assert_felt(cluster: KubernetesTestBed, namespace: str, pod: str, address: str, expected_ms: float) -> None:
    """Echo until one has the delay of the map; a busy machine only adds, so none may be shorter."""

    def felt() -> bool:
        min_ms = echo_ms(cluster, namespace, pod, address)
        assert min_ms > expected_ms - TOLERANCE_MS, (pod, address)
        return min_ms < expected_ms + TOLERANCE_MS

    until(felt, f"{expected_ms:g} ms from {pod} to {address}")


def echo_ms(cluster: KubernetesTestBed, namespace: str, pod: str, address: str) -> float:
    """Return the least of some round trips from a pod; others run on this machine, so the mean is not useful."""
    output = cluster.run_kubectl("-n", namespace, "exec", pod, "--", "ping", "-c", "6", "-i", "0.2", address)
    return float(output.rpartition("= ")[2].split("/")[0])


@pytest.mark.long
def test_names_of_a_headless_service_lead_to_its_pods(cluster: KubernetesTestBed, namespace: str) -> None:
    _ = cluster.topology
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "pairs"},
        "spec": {"clusterIP": "None", "selector": {"app": "pairs"}, "ports": [{"port": 8080}]},
    }
    nodes = cluster.node_names[:2]
    create(cluster, namespace, service, *(busybox_pod(f"on-{node}", node) for node in nodes))
    wait_ready(cluster, namespace)
    addresses = {get(cluster, namespace, "pod", f"on-{node}")["status"]["podIP"] for node in nodes}
    name = f"pairs.{namespace}.svc.cluster.local"

    def resolved() -> bool:
        output = cluster.run_kubectl("-n", namespace, "exec", f"on-{nodes[0]}", "--", "nslookup", name)
        return all(address in output for address in addresses)

    until(resolved, f"{name} has both addresses")


def test_a_pod_reaches_the_api_server_with_its_service_account_and_only_as_it_may(
    cluster: KubernetesTestBed, namespace: str
) -> None:
    _ = cluster.topology  # mounts programs of this machine
    cluster.run_kubectl("-n", namespace, "create", "role", "reader", "--verb=list", "--resource=pods")
    account = f"--serviceaccount={namespace}:default"
    cluster.run_kubectl("-n", namespace, "create", "rolebinding", "reader", "--role=reader", account)
    program = f"""
import kubernetes
kubernetes.config.load_incluster_config()
core = kubernetes.client.CoreV1Api()
print([pod.metadata.name for pod in core.list_namespaced_pod({namespace!r}).items])
try:
    core.list_namespaced_secret({namespace!r})
except kubernetes.client.ApiException as error:
    print(error.status)
"""
    programs = host_programs()
    create(
        cluster,
        namespace,
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "asking"},
            "spec": {
                "restartPolicy": "Never",
                "volumes": list(programs.volumes),
                "securityContext": restricted_pod(),
                "containers": [
                    {
                        "name": "main",
                        "image": HOST,
                        "args": [sys.executable, "-c", program],
                        "env": list(programs.environment),
                        "volumeMounts": list(programs.mounts),
                    }
                ],
            },
        },
    )
    until(
        lambda: get(cluster, namespace, "pod", "asking")["status"]["phase"] in {"Succeeded", "Failed"},
        "the program ends",
    )
    output = cluster.run_kubectl("-n", namespace, "logs", "asking")
    assert output.split("\n")[:2] == ["['asking']", "403"]


@pytest.mark.long
def test_an_api_server_and_a_kubelet_that_were_killed_go_on_with_what_there_was(
    cluster: KubernetesTestBed, namespace: str
) -> None:
    node = cluster.node_names[-1]
    create(cluster, namespace, busybox_pod("before", node))
    wait_ready(cluster, namespace)
    cluster.kill_kubelet(node)
    with refused("node-part-stopped", node=node, part="kubelet"):
        cluster.kill_kubelet(node)
    cluster.start_kubelet(node)
    cluster.kill_api_server()
    with pytest.raises(OSError, match=r"refused|reset"):
        cluster.not_ready()
    cluster.start_api_server()
    create(cluster, namespace, busybox_pod("after", node))
    wait_ready(cluster, namespace)  # only a kubelet can start it
    (status,) = get(cluster, namespace, "pod", "before")["status"]["containerStatuses"]
    assert status["restartCount"] == 0
    until(lambda: not cluster.not_ready(), "every node is ready")


@pytest.mark.long
def test_a_node_that_is_cut_off_is_noticed_and_comes_back(cluster: KubernetesTestBed) -> None:
    node = cluster.node_names[-1]
    cluster.cut_off(node)
    try:
        until(lambda: cluster.not_ready() == (node,), f"{node} is found unreachable")
    finally:
        cluster.reconnect(node)
    until(lambda: cluster.not_ready() == (), f"{node} is ready again")
