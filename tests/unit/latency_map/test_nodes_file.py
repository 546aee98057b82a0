"""Files of nodes: our own list, and what kubectl writes."""

import json

import pytest

from gesscale.cli.latency_map.nodes_file import read_nodes
from gesscale.errors import InputError
from gesscale.kubernetes.placement.nodes import parse_quantity
from latency_map.choose.candidates import Candidate

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


def test_a_list_of_names_is_enough(tmp_path):
    path = tmp_path / "nodes.yaml"
    path.write_text("- name: a\n- name: b\n")
    assert read_nodes(path, None) == (Candidate(name="a"), Candidate(name="b"))


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


def test_a_node_that_nobody_has_heard_of_is_not_ready(written):
    silent = node("pi1")
    silent["status"] = {}
    (found,) = read_nodes(written("nodes.json", silent), None)
    assert (found.ready, found.free_cpus, found.arch) == (False, None, "arm64")


@pytest.mark.parametrize(
    ("pods", "free_cpus", "free_mib"),
    [
        ([], 3.8, 1843),
        ([pod("pi1", part("1", "512Mi"), part("300m"))], 2.5, 1331),
        ([pod("pi1", part("1")), pod("pi1", part("1"))], 1.8, 1843),
        ([pod("pi2", part("1", "512Mi"))], 3.8, 1843),
        ([pod("pi1", part("1"), phase="Succeeded"), pod("pi1", part("1"), phase="Failed")], 3.8, 1843),
        # init containers run before the others, one by one: the largest counts where it is larger than their sum
        ([pod("pi1", part("1"), init=[part("2"), part("500m")])], 1.8, 1843),
        # a sidecar stays: 0.5 plus the container's 1, and plus the later init container's 1.5
        ([pod("pi1", part("1"), init=[part("500m", restartPolicy="Always"), part("1500m")])], 1.8, 1843),
        ([pod("pi1", part("1"), overhead={"cpu": "250m"})], 2.55, 1843),
        ([pod("pi1", part("8", "8Gi"))], 0, 0),
    ],
)
def test_pods_take_room_as_the_scheduler_counts_it(written, pods, free_cpus, free_mib):
    (found,) = read_nodes(written("nodes.json", node("pi1")), written("pods.json", *pods))
    assert (found.free_cpus, found.free_memory_bytes) == (free_cpus, free_mib * MIB)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("4", 4.0),
        (4, 4.0),
        (0.5, 0.5),
        ("3800m", 3.8),
        ("250000u", 0.25),
        ("1843Mi", 1843 * MIB),
        ("2Gi", 2048 * MIB),
        ("2G", 2e9),
        ("128974848", 128974848.0),
        ("129e6", 129e6),
        ("1.5Ki", 1536.0),
        ("1E", 1e18),
    ],
)
def test_quantities_are_read_as_kubernetes_writes_them(text, value):
    assert float(parse_quantity(text)) == value


@pytest.mark.parametrize("text", ["", "much", "-1", "1 Gi", "1gi", "1e", True, None, "nan", "inf", [1]])
def test_what_is_no_quantity_is_refused(text):
    with pytest.raises(ValueError, match="expected a quantity such as 3800m"):
        parse_quantity(text)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "expected a list of nodes, each with a name"),
        ("42", "expected a list of nodes"),
        ("- name: a\n  wieght: 2\n", "0.wieght: Extra inputs are not permitted, got 2"),
        ("- weight: 2\n", "0.name: it is required"),
        ("- {name: a, weight: -1}\n", "0.weight: expected greater than or equal to 0, got -1"),
        ("- {name: a, free_cpus: lots}\n", "0.free_cpus.*expected a quantity such as 3800m"),
        ("- {name: a}\n- {name: a}\n", "expected every node once, got a twice"),
        ("- {name: a\n", "expected YAML, got: "),
        ('{"items": [{"spec": {}}]}', "items.0.metadata: it is required"),
        ('{"kind": "Deployment"}', "items: it is required"),
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
