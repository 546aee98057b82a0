"""Files of nodes: our own list, and what kubectl writes."""

import json

import pytest
import yaml

from gesscale.cli.latency_map.nodes_file import read_hosts, read_nodes
from gesscale.errors import GesscaleError, InputError
from latency_map.choose.candidates import Candidate
from latency_map.emulate.hosts import Host

MIB = 2.0**20


def node(name, *, ready="True", spec=None, labels=None):
    """A node as ``kubectl get nodes -o json`` writes it, shortened."""
    condition = {"type": "Ready", "status": ready, "reason": "KubeletReady", "message": "kubelet says so"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "uid": "1b6a",
            "labels": {"kubernetes.io/arch": "arm64", **(labels or {})},
        },
        "spec": {"podCIDR": "10.42.0.0/24", "providerID": f"k3s://{name}", **(spec or {})},
        "status": {
            "allocatable": {"cpu": "3800m", "memory": "1843Mi", "pods": "110", "ephemeral-storage": "29Gi"},
            "capacity": {"cpu": "4", "memory": "1990Mi", "pods": "110"},
            "conditions": [{"type": "MemoryPressure", "status": "False"}, condition],
            "nodeInfo": {"architecture": "arm64", "kubeletVersion": "v1.36.3+k3s1"},
        },
    }


def part(cpu=None, memory=None, **fields):
    asked = {"cpu": cpu, "memory": memory}
    requests = {what: amount for what, amount in asked.items() if amount}
    return {"name": "x", "resources": {"requests": requests} if requests else {}, **fields}


def pod(on, *containers, phase="Running", init=(), **spec):
    return {
        "kind": "Pod",
        "spec": {"nodeName": on, "containers": list(containers), "initContainers": list(init), **spec},
        "status": {"phase": phase},
    }


@pytest.fixture
def written(tmp_path):
    def write(name, *items):
        path = tmp_path / name
        path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
        return path

    return write


def test_a_list_says_what_it_knows_of_its_nodes(tmp_path):
    path = tmp_path / "nodes.json"
    row = {"name": "a", "weight": 2, "schedulable": False, "free_cpus": "500m", "free_memory": "1Gi"}
    path.write_text(json.dumps([{**row, "arch": "arm64", "zone": "eu", "labels": {"rack": "r1"}}]))
    assert read_nodes(path, None) == (
        Candidate(
            name="a",
            weight=2.0,
            schedulable=False,
            free_cpus=0.5,
            free_memory_bytes=1024 * MIB,
            arch="arm64",
            labels={"zone": "eu", "rack": "r1"},
        ),
    )


def test_nodes_of_kubectl_have_room_architecture_and_zone(written):
    path = written("nodes.json", node("pi1", labels={"topology.kubernetes.io/zone": "barn"}))
    (found,) = read_nodes(path, None)
    assert found == Candidate(
        name="pi1",
        weight=3.8,
        free_cpus=3.8,
        free_memory_bytes=1843 * MIB,
        arch="arm64",
        labels={"zone": "barn", "topology.kubernetes.io/zone": "barn", "kubernetes.io/arch": "arm64"},
    )


@pytest.mark.parametrize(
    ("fields", "ready", "schedulable", "remark"),
    [
        ({}, True, True, ""),
        ({"ready": "Unknown"}, False, True, "Ready is Unknown: KubeletReady kubelet says so"),
        ({"spec": {"unschedulable": True}}, True, False, "it is cordoned"),
        (
            {"spec": {"taints": [{"key": "gpu", "value": "yes", "effect": "NoSchedule"}]}},
            True,
            False,
            "it has the taint gpu=yes:NoSchedule",
        ),
        ({"spec": {"taints": [{"key": "slow", "effect": "PreferNoSchedule"}]}}, True, True, ""),
    ],
)
def test_what_kubectl_says_of_a_node_decides_whether_it_takes_work(
    written, fields, ready, schedulable, remark
):
    (found,) = read_nodes(written("nodes.json", node("pi1", **fields)), None)
    assert (found.ready, found.schedulable, found.remark) == (ready, schedulable, remark)


@pytest.mark.parametrize(
    ("pods", "free_cpus", "free_mib"),
    [
        ([], 3.8, 1843),
        ([pod("pi1", part("1", "512Mi"), part("300m"))], 2.5, 1331),
        ([pod("pi2", part("1", "512Mi"))], 3.8, 1843),
        ([pod("pi1", part("1"), phase="Succeeded"), pod("pi1", part("1"), phase="Failed")], 3.8, 1843),
        # init containers run before the others, one by one: the largest counts where it is larger than their sum
        ([pod("pi1", part("1"), init=[part("2"), part("500m")])], 1.8, 1843),
        # a sidecar stays: 0.5 plus the container's 1, and plus the later init container's 1.5
        ([pod("pi1", part("1"), init=[part("500m", restartPolicy="Always"), part("1500m")])], 1.8, 1843),
        ([pod("pi1", part("1"), overhead={"cpu": "250m"})], 2.55, 1843),
    ],
)
def test_pods_take_room_as_the_scheduler_counts_it(written, pods, free_cpus, free_mib):
    (found,) = read_nodes(written("nodes.json", node("pi1")), written("pods.json", *pods))
    assert (found.free_cpus, found.free_memory_bytes) == (free_cpus, free_mib * MIB)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "expected a list of nodes, each with a name"),
        ("- name: a\n  wieght: 2\n", "0.wieght: Extra inputs are not permitted, got 2"),
        ("- {name: a, free_cpus: lots}\n", "0.free_cpus.*expected a quantity such as 3800m"),
        ("- {name: a}\n- {name: a}\n", "expected every node once, got a twice"),
        ("- {name: a\n", "expected YAML, got: "),
        ('{"items": [{"spec": {}}]}', "a Node as the API describes it.*metadata.name"),
        ('{"items": ', "expected JSON, got: "),
    ],
)
def test_a_file_of_another_form_is_refused_in_one_line(tmp_path, content, message):
    path = tmp_path / "nodes.yaml"
    path.write_text(content)
    with pytest.raises(InputError, match=message) as caught:
        read_nodes(path, None)
    assert str(caught.value).startswith(str(path))
    assert "\n" not in str(caught.value)


# Hosts, as the same kubectl prints them


def kubectl(*nodes):
    return {
        "kind": "List",
        "items": [
            {
                "metadata": {"name": name},
                "spec": {"podCIDR": pods[0], "podCIDRs": list(pods)} if pods else {},
                "status": {"addresses": [{"type": kind, "address": address} for kind, address in addresses]},
            }
            for name, addresses, pods in nodes
        ],
    }


TWO = kubectl(
    ("n1", [("Hostname", "n1"), ("InternalIP", "10.0.0.1"), ("InternalIP", "fd00::1")], ["10.42.0.0/24"]),
    ("n2", [("ExternalIP", "192.0.2.2"), ("InternalIP", "10.0.0.2")], []),
)


@pytest.mark.parametrize("written", [json.dumps, yaml.safe_dump], ids=["json", "yaml"])
def test_kubernetes_nodes_are_taken_at_their_internal_address(tmp_path, written):
    file = tmp_path / "nodes"
    file.write_text(written(TWO))
    assert read_hosts(file, "ens3") == (
        Host(name="n1", address="10.0.0.1", device="ens3"),
        Host(name="n2", address="10.0.0.2", device="ens3"),
    )
    assert read_hosts(file, "ens3", pod_networks=True)[0].networks == ("10.42.0.0/24",)


def test_a_host_may_be_named_items(tmp_path):
    file = tmp_path / "hosts.yaml"
    file.write_text("items: 10.0.0.1\n")
    assert read_hosts(file, "eth0") == (Host(name="items", address="10.0.0.1"),)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ({"items": [{"metadata": {}}]}, r"what kubectl get nodes -o json prints: .*metadata.name"),
        (kubectl(("n1", [("Hostname", "n1")], [])), "type InternalIP for node 'n1'"),
        (
            kubectl(("n1", [("InternalIP", "n1.local")], [])),
            "expected an IPv4 or IPv6 address, got 'n1.local'",
        ),
    ],
)
def test_nodes_that_cannot_be_reached_are_named(tmp_path, content, says):
    file = tmp_path / "nodes.json"
    file.write_text(json.dumps(content))
    with pytest.raises((GesscaleError, ValueError), match=says):
        read_hosts(file, "eth0")
