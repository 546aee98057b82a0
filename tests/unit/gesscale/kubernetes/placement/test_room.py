"""Eligibility of nodes for an executor."""

import re
from dataclasses import replace
from types import MappingProxyType

import pytest

from gesscale.kubernetes.placement.applications import ClusterIndex
from gesscale.kubernetes.placement.nodes import NodeRecord, Room, Taint
from gesscale.kubernetes.placement.pods import PodRecord, Toleration
from gesscale.kubernetes.placement.room import ExecutorNeeds, selects, tolerated
from gesscale.kubernetes.resource.spec import LabelSelector
from gesscale.model.decision import Reason

MIB = 1 << 20
PI = NodeRecord(
    name="pi1",
    addresses=("10.0.0.11",),
    labels={"pool": "edge", "kubernetes.io/arch": "arm64"},
    architecture="arm64",
    room=Room(cpu_m=3800, memory_bytes=1843 * MIB, pods=110),
)
NEEDS = ExecutorNeeds(requests=Room(cpu_m=1000, memory_bytes=1024 * MIB, pods=1))


def pod(cpu_m, mib=0, node="pi1", phase="Running", **labels):
    takes = Room(cpu_m=cpu_m, memory_bytes=mib * MIB, pods=1)
    return PodRecord(namespace="x", name="p", node=node, phase=phase, requests=takes, labels=labels)


def evaluated(node=PI, pods=(), needs=NEEDS, *, own=(), reserved=MappingProxyType({})):
    index = ClusterIndex({node.name: node}, {str(number): each for number, each in enumerate(pods)})
    return index.evaluate_node(node.name, needs, own, reserved)


@pytest.mark.parametrize(
    ("change", "needs", "reason", "names"),
    [
        (
            {"labels": {"pool": "cloud"}},
            {"pool": LabelSelector(matchLabels={"pool": "edge"})},
            Reason.NOT_IN_POOL,
            ("pool=edge", "pool=cloud"),
        ),
        ({"unready": "Ready is Unknown: no reason"}, {}, Reason.NOT_READY, ("Ready is Unknown: no reason",)),
        ({"cordoned": True}, {}, Reason.CORDONED, ()),
        (
            {"taints": (Taint(key="gpu", value="yes", effect="NoSchedule"), Taint(key="x", effect="NoExecute"))},
            {},
            Reason.CORDONED,
            ("gpu=yes:NoSchedule", "x:NoExecute"),
        ),
        (
            {},
            {"architectures": frozenset({"amd64", "riscv64"})},
            Reason.WRONG_ARCHITECTURE,
            ("amd64", "riscv64", "arm64"),
        ),
        ({"architecture": ""}, {"architectures": frozenset({"arm64"})}, Reason.WRONG_ARCHITECTURE, ("arm64",)),
        ({"room": None}, {}, Reason.NO_ROOM, ()),
    ],
)
def test_an_ineligible_node_has_a_reason_and_names_the_cause(change, needs, reason, names):
    found = evaluated(replace(PI, **change), needs=replace(NEEDS, **needs))
    assert found.reason is reason
    assert found.problem
    assert all(name in found.problem for name in names)


@pytest.mark.parametrize(
    ("pods", "figures"),
    [
        ([pod(2800, 819)], []),  # 3800 - 2800 = 1000 m and 1843 - 819 = 1024 MiB: it just fits
        # requested, free, in all: CPU, then MiB
        ([pod(3400)], ["1", "0.4", "3.8"]),
        ([pod(1400), pod(1401)], ["1", "0.999", "3.8"]),
        ([pod(0, 820)], ["1024", "1023", "1843"]),
        ([pod(3400, 1843)], ["1", "0.4", "3.8", "1024", "0", "1843"]),
        ([pod(9000)], ["1", "0", "3.8"]),
        ([pod(0)] * 110, ["110", "110"]),
        ([pod(0)] * 109, []),
        ([pod(3800, phase="Pending")], ["1", "0", "3.8"]),  # bound, and starting
        ([pod(3800, phase="Succeeded"), pod(3800, phase="Failed")], []),
        ([pod(3800, node="")], []),  # unscheduled
        ([pod(3800, node="pi2")], []),
    ],
)
def test_free_room_is_what_the_pods_leave(pods, figures):
    found = evaluated(pods=pods)
    assert re.findall(r"[\d.]+", found.problem) == figures
    assert not figures or found.reason is Reason.NO_ROOM


@pytest.mark.parametrize(
    ("toleration", "fits"),
    [
        (Toleration(key="gpu", value="yes", effect="NoSchedule"), True),
        (Toleration(key="gpu", value="yes"), True),  # every effect
        (Toleration(key="gpu", value="no"), False),
        (Toleration(key="gpu"), False),  # an empty value is a value
        (Toleration(key="gpu", operator="Exists"), True),
        (Toleration(operator="Exists"), True),  # every taint
        (Toleration(operator="Exists", effect="NoExecute"), False),
        (Toleration(key="cpu", operator="Exists"), False),
        (Toleration(), False),
    ],
)
def test_taints_are_tolerated_as_the_scheduler_does(toleration, fits):
    assert tolerated(Taint(key="gpu", value="yes", effect="NoSchedule"), [toleration]) is fits


@pytest.mark.parametrize(
    ("expression", "labels", "fits"),
    [
        ({"key": "zone", "operator": "In", "values": ("a", "b")}, {"zone": "b"}, True),
        ({"key": "zone", "operator": "In", "values": ("a", "b")}, {"zone": "c"}, False),
        ({"key": "zone", "operator": "In", "values": ("a", "b")}, {}, False),
        ({"key": "zone", "operator": "NotIn", "values": ("a",)}, {"zone": "b"}, True),
        ({"key": "zone", "operator": "NotIn", "values": ("a",)}, {"zone": "a"}, False),
        ({"key": "zone", "operator": "NotIn", "values": ("a",)}, {}, True),
        ({"key": "zone", "operator": "Exists"}, {"zone": ""}, True),
        ({"key": "zone", "operator": "Exists"}, {}, False),
        ({"key": "zone", "operator": "DoesNotExist"}, {}, True),
        ({"key": "zone", "operator": "DoesNotExist"}, {"zone": "a"}, False),
    ],
)
def test_labels_match_expressions_as_in_kubernetes(expression, labels, fits):
    selector = LabelSelector.model_validate({"matchExpressions": [expression]})
    assert selects(selector, labels) is fits
