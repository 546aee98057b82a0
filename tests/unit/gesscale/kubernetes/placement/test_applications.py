"""Driver and executors of an operator among the pods."""

from dataclasses import replace

import pytest
from kube import FakeApi, driver, index_of, node, pod

from gesscale.kubernetes.placement.applications import APPLICATION_LABEL, ClusterIndex, find_application


def resource(**spec):
    api = FakeApi()
    api.put(**spec)
    return api.workflow().resources["op"]


def test_executors_are_those_of_the_drivers_application():
    other_run = pod("old", "c")
    other_run = replace(other_run, labels={**other_run.labels, APPLICATION_LABEL: "app-of-yesterday"})
    found = find_application(resource(), index_of(driver("a"), pod("e2", "b"), pod("e1", "a"), other_run))
    assert [each.name for each in found.executors] == ["e1", "e2"]
    assert (found.endpoint.node, found.endpoint.metrics_url) == ("a", "http://10.244.0.9:9108")


LABELS = ["gesscale.dev/autoscaler=op", "spark-role=driver"]
WAITING = {"pod": "op-driver", "phase": "Pending", "cause": "Unschedulable: no room"}


@pytest.mark.parametrize(
    ("pods", "code", "fields"),
    [
        ([], "driver-pod-missing", {"labels": LABELS}),
        (
            [driver("a"), replace(driver("b"), name="second")],
            "driver-pod-ambiguous",
            {"labels": LABELS, "pods": ["op-driver", "second"]},
        ),
        ([driver("", problem="Unschedulable: no room")], "driver-pod-pending", WAITING),
        ([driver("a", ip="")], "driver-pod-pending", {"pod": "op-driver", "phase": "Running"}),
        ([driver("a", terminating=True)], "driver-pod-missing", {"labels": LABELS}),
    ],
)
def test_without_exactly_one_running_driver_there_is_a_problem(pods, code, fields):
    found = find_application(resource(), index_of(*pods))
    assert found.endpoint is None
    assert found.problem.code == code
    assert fields.items() <= found.problem.fields.items()


def test_the_pods_with_the_nearest_labels_are_named_when_no_driver_matches():
    half = {"spark-role": "driver"}
    pods = [
        replace(pod("with-neither", "a"), labels={"app": "web"}),
        replace(pod("other-case", "a"), labels={"gesscale.dev/Autoscaler": "op"}),
        replace(pod("fake-driver", "a"), labels=half),
        replace(pod("elsewhere", "a"), labels=half, namespace="other"),
    ]
    fields = find_application(resource(), index_of(*pods)).problem.fields
    assert fields["pods"] == [
        "fake-driver (spark-role=driver)",
        "other-case (gesscale.dev/Autoscaler=op)",
        "with-neither (no such label)",
    ]
    assert fields["namespace"] == "streams"


SILENT = {"unready": "Ready is Unknown: no reason", "unready_since_s": 1.0}


@pytest.mark.parametrize(
    ("nodes", "pods", "code"),
    [
        ([node("b")], [driver("a")], "driver-node-left"),
        ([node("a", **SILENT), node("b")], [driver("a")], "driver-node-left"),
        ([node("a", **SILENT), node("b")], [driver("a"), replace(driver("b"), name="second")], None),
        ([node("a", **SILENT), node("b", **SILENT)], [driver("a")], None),  # the control plane is at fault
    ],
)
def test_a_driver_whose_node_has_left_gets_no_order(nodes, pods, code):
    found = find_application(
        resource(), ClusterIndex({each.name: each for each in nodes}, {each.name: each for each in pods})
    )
    assert (found.endpoint is None) is (code is not None)
    assert code is None or found.problem.code == code


def test_a_driver_outside_the_cluster_has_executors_by_the_resources_name():
    spec = {"node": "cloud", "metricsUrl": "http://10.0.0.1:9108"}
    foreign = replace(pod("e2", "c"), labels={"spark-role": "executor", "gesscale.dev/autoscaler": "other"})
    found = find_application(resource(driver=spec), index_of(pod("e1", "b"), foreign))
    assert (found.driver, found.endpoint.node, [each.name for each in found.executors]) == (None, "cloud", ["e1"])
