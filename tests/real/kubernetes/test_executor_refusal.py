"""A real ResourceQuota: the dry run of one more executor has the API server's sentence, and creates nothing."""

import json

import pytest
from waiting import until

from gesscale.kubernetes.api.resources import PODS
from gesscale.spark import kubernetes_api

pytestmark = pytest.mark.real

LABELS = {"spark-app-selector": "spark-1", "spark-role": "executor", "spark-exec-id": "1"}


def allow(cluster, namespace, pods):
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "few"}, "spec": {"hard": {"pods": pods}}}
    cluster.run_kubectl("-n", namespace, "apply", "-f", "-", stdin=json.dumps(quota))


def test_a_quota_refuses_one_more_executor_until_it_is_raised(cluster, admin, namespace, monkeypatch):
    monkeypatch.setenv("KUBECONFIG", str(cluster.kubeconfig))
    server = kubernetes_api.connect()
    spec = {
        "containers": [{"name": "spark", "image": "localhost/none:1", "imagePullPolicy": "Never"}],
        "nodeSelector": {"kubernetes.io/hostname": cluster.node_names[0]},
        "terminationGracePeriodSeconds": 0,
    }
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "e1", "labels": LABELS}, "spec": spec}
    admin.create(PODS, pod, namespace=namespace)
    until(lambda: server.executor_pods(namespace, "spark-1")[0].node, "the pod is bound, with all that the server sets")
    assert server.executor_refusal(namespace, "spark-1") == ""
    allow(cluster, namespace, "1")
    refusal = until(lambda: server.executor_refusal(namespace, "spark-1"), "the quota is in force")
    until(lambda: "exceeded quota: few" in server.executor_refusal(namespace, "spark-1"), refusal)
    allow(cluster, namespace, "2")
    until(lambda: server.executor_refusal(namespace, "spark-1") == "", "the raised quota is in force")
    assert [each.name for each in server.executor_pods(namespace, "spark-1")] == ["e1"]
