"""`kubectl drain` of the driver's node and of an executor's, with the budget of deploy/k3s/example."""

import json
from pathlib import Path

import pytest
import yaml

from gesscale.errors import ClusterError
from testbed.kubernetes.images import BUSYBOX

pytestmark = pytest.mark.real

EXAMPLE = Path(__file__).parents[3] / "deploy" / "k3s" / "example" / "nearest" / "driver.yaml"


@pytest.fixture
def kubectl(cluster, namespace):
    return lambda *words, **more: cluster.run_kubectl("-n", namespace, *words, **more)


@pytest.fixture
def drain(cluster):
    """Drain nodes with the options of docs/howto/k3s.md, for at most some seconds; uncordon them afterwards."""
    drained = []

    def drain(node, timeout_s):
        drained.append(node)
        options = ("--ignore-daemonsets", "--force", "--delete-emptydir-data", f"--timeout={timeout_s}s")
        cluster.run_kubectl("drain", node, *options, timeout_s=timeout_s + 30)

    yield drain
    for node in drained:
        cluster.run_kubectl("uncordon", node)


def pod(name, node, labels):
    container = {"name": "main", "image": BUSYBOX, "command": ["sleep", "86400"]}
    spec = {"containers": [container], "terminationGracePeriodSeconds": 0}
    spec["nodeSelector"] = {"kubernetes.io/hostname": node}
    return json.dumps({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": labels}, "spec": spec})


def test_a_drain_of_the_drivers_node_is_refused_and_the_executors_node_drains(cluster, kubectl, drain):
    driver_set, budget = yaml.safe_load_all(EXAMPLE.read_text())
    labels = driver_set["spec"]["template"]["metadata"]["labels"]
    mine = {key: labels[key] for key in ("spark-role", "gesscale.dev/autoscaler")}
    home, far, _ = cluster.node_names
    kubectl("create", "-f", "-", stdin=json.dumps(budget))
    kubectl("create", "-f", "-", stdin=pod("driver", home, mine))
    kubectl("create", "-f", "-", stdin=pod("executor", far, {**mine, "spark-role": "executor"}))
    kubectl("wait", "--for=condition=Ready", "pod/driver", "pod/executor", "--timeout=120s", timeout_s=150)
    # the controller of budgets has counted the driver
    ready = "--for=jsonpath={.status.currentHealthy}=1"
    kubectl("wait", ready, f"poddisruptionbudget/{budget['metadata']['name']}", "--timeout=50s")
    with pytest.raises(ClusterError) as refusal:
        drain(home, 10)
    assert "disruption budget" in str(refusal.value)
    drain(far, 60)
    left = json.loads(kubectl("get", "pods", "-o", "json"))["items"]
    assert [(each["metadata"]["name"], "deletionTimestamp" in each["metadata"]) for each in left] == [("driver", False)]


def test_the_example_keeps_node_autoscalers_from_its_drivers():
    driver_set, _ = yaml.safe_load_all(EXAMPLE.read_text())
    annotations = driver_set["spec"]["template"]["metadata"]["annotations"]
    assert annotations["karpenter.sh/do-not-disrupt"] == "true"
    assert annotations["cluster-autoscaler.kubernetes.io/safe-to-evict"] == "false"
