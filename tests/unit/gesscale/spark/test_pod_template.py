import copy

import pytest
from refusals import refused

from gesscale.errors import InputError
from gesscale.spark.pod_template import PodPlacement, executor_template

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def node(name):
    return {"key": "metadata.name", "operator": "In", "values": [name]}


def terms(pod):
    return pod["spec"]["affinity"]["nodeAffinity"][REQUIRED]["nodeSelectorTerms"]


def test_an_order_allows_exactly_its_nodes():
    pod = executor_template({}, PodPlacement(order="7-3", nodes=("a", "b")), autoscaler="taxi")
    # one term for each node, since terms are ORed and matchFields takes one value
    assert terms(pod) == [{"matchFields": [node("a")]}, {"matchFields": [node("b")]}]
    assert pod["metadata"]["labels"] == {"gesscale.dev/autoscaler": "taxi"}
    assert pod["metadata"]["annotations"] == {"gesscale.dev/order": "7-3"}
    assert pod["spec"]["containers"] == [
        {
            "name": "spark-kubernetes-executor",
            "env": [
                {
                    "name": "SPARK_EXECUTOR_ATTRIBUTE_NODE",
                    "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": "spec.nodeName"}},
                },
                {"name": "SPARK_EXECUTOR_ATTRIBUTE_GESSCALE_ORDER", "value": "7-3"},
            ],
        }
    ]


def test_no_node_may_hold_two_executors_of_one_operator():
    pod = executor_template({}, PodPlacement(nodes=("a",)), autoscaler="taxi")
    # the driver has the first label too
    assert pod["spec"]["affinity"]["podAntiAffinity"][REQUIRED] == [
        {
            "labelSelector": {"matchLabels": {"gesscale.dev/autoscaler": "taxi", "spark-role": "executor"}},
            "topologyKey": "kubernetes.io/hostname",
        }
    ]


def test_a_node_must_fulfil_the_users_terms_and_the_placement():
    arm = {"key": "kubernetes.io/arch", "operator": "In", "values": ["arm64"]}
    fast = {"key": "disk", "operator": "In", "values": ["ssd"]}
    soft = [{"weight": 1, "preference": {"matchExpressions": [fast]}}]
    own = {
        REQUIRED: {"nodeSelectorTerms": [{"matchExpressions": [arm]}, {"matchFields": [node("c")]}, {}]},
        "preferredDuringSchedulingIgnoredDuringExecution": soft,
    }
    base = {"spec": {"affinity": {"nodeAffinity": own}}}
    pod = executor_template(base, PodPlacement(order="1-1", nodes=("a", "b")), autoscaler="taxi")
    # 2 terms that can match x 2 nodes; the empty term matches no node, joined it would match
    assert terms(pod) == [
        {"matchExpressions": [arm], "matchFields": [node("a")]},
        {"matchExpressions": [arm], "matchFields": [node("b")]},
        {"matchFields": [node("c"), node("a")]},
        {"matchFields": [node("c"), node("b")]},
    ]
    preferred = "preferredDuringSchedulingIgnoredDuringExecution"
    assert pod["spec"]["affinity"]["nodeAffinity"][preferred] == soft


def test_the_rest_of_the_users_template_is_kept():
    base = {
        "metadata": {"labels": {"team": "x"}, "annotations": {"a": "b", "gesscale.dev/order": "0-0"}},
        "spec": {
            "tolerations": [{"operator": "Exists"}],
            "volumes": [{"name": "usr", "hostPath": {"path": "/usr"}}],
            "affinity": {"podAntiAffinity": {REQUIRED: [{"topologyKey": "zone"}]}},
            "containers": [
                {"name": "sidecar"},
                {
                    "name": "spark",
                    "volumeMounts": [{"name": "usr", "mountPath": "/usr"}],
                    "env": [{"name": "A", "value": "1"}, {"name": "SPARK_EXECUTOR_ATTRIBUTE_NODE", "value": "x"}],
                },
            ],
        },
    }
    before = copy.deepcopy(base)
    pod = executor_template(base, PodPlacement(nodes=("a",)), autoscaler="taxi", container="spark")
    assert base == before
    assert pod["metadata"]["labels"] == {"team": "x", "gesscale.dev/autoscaler": "taxi"}
    assert pod["metadata"]["annotations"] == {"a": "b"}  # a foreign order is removed
    assert pod["spec"]["tolerations"] == before["spec"]["tolerations"]
    assert pod["spec"]["volumes"] == before["spec"]["volumes"]
    assert [each["topologyKey"] for each in pod["spec"]["affinity"]["podAntiAffinity"][REQUIRED]] == [
        "zone",
        "kubernetes.io/hostname",
    ]
    sidecar, spark = pod["spec"]["containers"]
    assert sidecar == {"name": "sidecar"}
    assert spark["volumeMounts"] == before["spec"]["containers"][1]["volumeMounts"]
    assert [each["name"] for each in spark["env"]] == ["A", "SPARK_EXECUTOR_ATTRIBUTE_NODE"]


def test_before_the_first_order_the_pool_chooses():
    pool = {
        "matchLabels": {"tier": "edge", "arch": "arm64"},
        "matchExpressions": [{"key": "gpu", "operator": "DoesNotExist"}],
    }
    pod = executor_template({}, PodPlacement(pool=pool), autoscaler="taxi")
    assert terms(pod) == [
        {
            "matchExpressions": [
                {"key": "arch", "operator": "In", "values": ["arm64"]},
                {"key": "tier", "operator": "In", "values": ["edge"]},
                {"key": "gpu", "operator": "DoesNotExist"},
            ]
        }
    ]
    assert pod["metadata"]["annotations"] == {}


@pytest.mark.parametrize(
    ("base", "place", "got"),
    [
        ({"kind": "Deployment"}, "kind", "Deployment"),
        ({"spec": []}, "spec", []),
        ({"spec": "x"}, "spec", "x"),
        ({"spec": {"containers": {"name": "x"}}}, "containers", {"name": "x"}),
        ({"spec": {"containers": ["x"]}}, "containers", "x"),
    ],
)
def test_a_template_that_is_no_pod_is_rejected(base, place, got):
    with refused("pod-template-invalid", InputError, place=place, got=got):
        executor_template(base, PodPlacement(nodes=("a",)), autoscaler="taxi")


def test_a_node_affinity_of_empty_terms_is_rejected():
    base = {"spec": {"affinity": {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [{}]}}}}}
    with refused("pod-affinity-empty", InputError):
        executor_template(base, PodPlacement(nodes=("a",)), autoscaler="taxi")


def test_a_name_that_is_no_label_is_rejected():
    with refused("autoscaler-name-invalid", InputError):
        executor_template({}, PodPlacement(nodes=("a",)), autoscaler="x" * 64)
