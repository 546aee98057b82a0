"""Nodes and pods as records."""

import pytest
from refusals import logged_codes, refused

from gesscale.common.errors import InvalidValueError
from gesscale.errors import InputError
from gesscale.kubernetes.placement.nodes import Room, parse_quantity, read_node
from gesscale.kubernetes.placement.pods import read_pod

MIB = 1 << 20


def node(*, name="pi1", labels=None, annotations=None, spec=None, status=None):
    """A node as k3s describes it, shortened."""
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "labels": {"kubernetes.io/arch": "arm64", **(labels or {})},
            "annotations": annotations or {},
            "managedFields": [{"manager": "k3s"}],
        },
        "spec": {"podCIDR": "10.42.1.0/24", "podCIDRs": ["10.42.1.0/24"], **(spec or {})},
        "status": {
            "addresses": [
                {"type": "Hostname", "address": "pi1"},
                {"type": "InternalIP", "address": "10.0.0.11"},
                {"type": "InternalIP", "address": "fd00::11"},
            ],
            "allocatable": {"cpu": "3800m", "memory": "1843Mi", "pods": "110", "ephemeral-storage": "29Gi"},
            "conditions": [
                {"type": "MemoryPressure", "status": "False"},
                {"type": "Ready", "status": "True", "lastHeartbeatTime": None},
            ],
            "nodeInfo": {"architecture": "arm64", "kubeletVersion": "v1.36.3+k3s1"},
            "images": [{"names": ["x"] * 50}],
            **(status or {}),
        },
    }


def test_a_node_record_has_the_fields_for_placement():
    found = read_node(node(labels={"pool": "edge"}))
    assert found.name == "pi1"
    assert found.address == "10.0.0.11"
    assert found.addresses == ("10.0.0.11", "fd00::11")
    assert found.pod_networks == ("10.42.1.0/24",)
    assert found.labels == {"kubernetes.io/arch": "arm64", "pool": "edge"}
    assert found.architecture == "arm64"
    assert found.room == Room(cpu_m=3800, memory_bytes=1843 * MIB, pods=110)
    assert (found.unready, found.cordoned, found.taints, found.closed_to(lambda _: False)) == ("", False, (), "")
    assert found.weight == 1.0


@pytest.mark.parametrize(
    ("conditions", "problem"),
    [
        ([], "no Ready condition"),
        ([{"type": "Ready", "status": "False", "reason": "KubeletNotReady", "message": "no CNI"}],
         "Ready is False: KubeletNotReady no CNI"),
        ([{"type": "Ready", "status": "Unknown"}], "Ready is Unknown: no reason"),
    ],
)  # fmt: skip
def test_a_node_that_is_not_ready_has_the_cause(conditions, problem):
    assert read_node(node(status={"conditions": conditions})).unready == problem


@pytest.mark.parametrize(
    ("since", "since_s"), [("1970-01-01T01:00:00Z", 3600.0), ("yesterday", None), (None, None), (7, None)]
)
def test_a_node_that_is_not_ready_has_since_when(since, since_s):
    condition = {"type": "Ready", "status": "Unknown", "lastTransitionTime": since}
    assert read_node(node(status={"conditions": [condition]})).unready_since_s == since_s
    assert read_node(node(status={"conditions": [{**condition, "status": "True"}]})).unready_since_s is None


def test_soft_taints_and_the_cordon_taint_are_ignored():
    spec = {
        "unschedulable": True,
        "taints": [
            {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"},
            {"key": "slow", "effect": "PreferNoSchedule"},
            {"key": "gpu", "value": "yes", "effect": "NoSchedule"},
            {"key": "dead", "effect": "NoExecute"},
        ],
    }
    found = read_node(node(spec=spec))
    assert [taint.text for taint in found.taints] == ["gpu=yes:NoSchedule", "dead:NoExecute"]
    assert found.closed_to(lambda _: False)


@pytest.mark.parametrize(
    ("where", "figure"),
    [
        ({"labels": "2"}, 2.0),
        ({"annotations": "0.25"}, 0.25),
        ({"labels": "2", "annotations": "3"}, 3.0),
        ({"labels": "0"}, 1.0),
        ({"labels": "nan"}, 1.0),
        ({"labels": "inf"}, 1.0),
        ({"labels": "much"}, 1.0),
    ],
)
@pytest.mark.parametrize(("key", "field"), [("gesscale.dev/weight", "weight"), ("gesscale.dev/node-price", "price")])
def test_a_nodes_weight_and_price_are_1_by_default(where, figure, key, field):
    found = read_node(node(**{group: {key: text} for group, text in where.items()}))
    assert {"weight": found.weight, "price": found.price} == {"weight": 1.0, "price": 1.0, field: figure}


@pytest.mark.parametrize("text", ["0", "-1", "nan", "inf", "1001", "much", ""])
def test_an_invalid_price_is_warned_of_once(caplog, text):
    labels = {"gesscale.dev/node-price": text}
    assert {read_node(node(name=f"warned-{text}", labels=labels)).price for _ in range(2)} == {1.0}
    assert logged_codes(caplog.text) == ["node-figure-invalid"]


@pytest.mark.parametrize(
    ("item", "code", "fields"),
    [
        ({}, "object-without-name", {"kind": "Node"}),
        ({"metadata": {}}, "object-without-name", {"kind": "Node"}),
        (
            node(status={"allocatable": {"cpu": "much"}}),
            "quantity-invalid",
            {"place": "Node.allocatable", "got": "much"},
        ),
        ([], "object-without-name", {"kind": "Node"}),
    ],
)
def test_an_invalid_node_is_refused_with_its_field(item, code, fields):
    with refused(code, InputError, **fields):
        read_node(item)


def pod(*containers, init=(), status=None, metadata=None, **spec):
    return {
        "metadata": {"name": "p", "namespace": "streams", **(metadata or {})},
        "spec": {"nodeName": "pi1", "containers": list(containers), "initContainers": list(init), **spec},
        "status": {"phase": "Running", **(status or {})},
    }


def part(cpu=None, memory=None, name="c", **fields):
    asked = {"cpu": cpu, "memory": memory}
    requests = {what: amount for what, amount in asked.items() if amount is not None}
    return {"name": name, "resources": {"requests": requests} if requests else {}, **fields}


ALWAYS = {"restartPolicy": "Always"}


@pytest.mark.parametrize(
    ("item", "cpu_m", "mib"),
    [
        (pod(part("1", "512Mi"), part("300m")), 1300, 512),
        (pod(part()), 0, 0),
        # init containers run one by one before the others: the largest counts where it is larger than their sum
        (pod(part("1"), init=[part("2"), part("500m")]), 2000, 0),
        # a sidecar keeps running: 0.5 with the container's 1, and with the later init container's 1.5
        (pod(part("1"), init=[part("500m", **ALWAYS), part("1500m")]), 2000, 0),
        (pod(part("1"), init=[part("500m", **ALWAYS)]), 1500, 0),
        (pod(part("1"), overhead={"cpu": "250m", "memory": "64Mi"}), 1250, 64),
        # requests of the whole pod replace those of its containers, per resource
        (pod(part("1", "512Mi"), resources={"requests": {"cpu": "2"}}), 2000, 512),
        (pod(part("1"), resources={"requests": {"cpu": "2"}}, overhead={"cpu": "250m"}), 2250, 0),
        # a container that is resized in place counts with the larger of requests and allocation
        (pod(part("1"), status={"containerStatuses": [{"name": "c", "allocatedResources": {"cpu": "3"}}]}), 3000, 0),
        (
            pod(part("2"), status={"containerStatuses": [{"name": "c", "resources": {"requests": {"cpu": "1"}}}]}),
            2000,
            0,
        ),
        # the scheduler rounds up to whole thousandths
        (pod(part("100u")), 1, 0),
    ],
)
def test_requests_of_a_pod_are_those_of_the_scheduler(item, cpu_m, mib):
    assert read_pod(item).requests == Room(cpu_m=cpu_m, memory_bytes=mib * MIB, pods=1)


def test_a_pod_record_has_identity_and_state():
    found = read_pod(
        pod(
            part(),
            metadata={
                "labels": {"spark-role": "executor"},
                "annotations": {"gesscale.dev/order": "7-3", "other": "x" * 10_000},
                "deletionTimestamp": "2026-11-21T20:00:00Z",
            },
            status={"podIP": "10.42.1.7", "conditions": [{"type": "Ready", "status": "True"}]},
            tolerations=[{"key": "gpu", "operator": "Exists", "effect": "NoSchedule", "tolerationSeconds": 3}],
        )
    )
    assert (found.namespace, found.name, found.node, found.phase) == ("streams", "p", "pi1", "Running")
    assert (found.ip, found.order, found.ready, found.terminating, found.ended) == (
        "10.42.1.7",
        "7-3",
        True,
        True,
        False,
    )
    assert found.labels == {"spark-role": "executor"}
    assert [(each.key, each.operator, each.effect) for each in found.tolerations] == [("gpu", "Exists", "NoSchedule")]
    assert found.problem == ""


@pytest.mark.parametrize(
    ("status", "problem"),
    [
        (
            {
                "phase": "Pending",
                "conditions": [
                    {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/3 nodes"}
                ],
            },
            "Unschedulable: 0/3 nodes",
        ),
        (
            {
                "phase": "Pending",
                "containerStatuses": [
                    {"name": "c", "state": {"waiting": {"reason": "ErrImagePull", "message": "no such"}}}
                ],
            },
            "ErrImagePull no such",
        ),
        ({"phase": "Running", "containerStatuses": [{"name": "c", "state": {"running": {}}}]}, ""),
        ({"phase": "Failed", "conditions": [{"type": "PodScheduled", "status": "False"}]}, ""),
    ],
)
def test_a_pod_that_does_not_run_has_a_problem(status, problem):
    assert read_pod(pod(part(), status=status)).problem == problem


@pytest.mark.parametrize("text", ["", "-1", "1.5.2", "1x", "1 m", "1e1000000", True, None, "٣"])
def test_an_invalid_quantity_is_refused(text):
    with refused("quantity-invalid", InvalidValueError, got=text):
        parse_quantity(text)
