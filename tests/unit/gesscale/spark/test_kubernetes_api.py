import base64
import ssl

import pytest
import yaml
from refusals import refused

from gesscale.errors import GesscaleError
from gesscale.spark import kubernetes_api
from gesscale.spark.kubernetes_api import ApiRequestError, ApiServer, connect
from gesscale.spark.reconcile_actions import ExecutorPod

PODS = "/api/v1/namespaces/streams/pods"


@pytest.fixture
def server(httpserver):
    return ApiServer(url=httpserver.url_for("").rstrip("/"), token="secret", timeout_s=2.0)  # noqa: S106 - made up


def test_executor_pods_are_listed(httpserver, server):
    running = {
        "metadata": {"name": "p1", "labels": {"spark-exec-id": "1"}, "annotations": {"gesscale.dev/order": "7-3"}},
        "spec": {"nodeName": "a"},
        "status": {"phase": "Running"},
    }
    waiting = {"metadata": {"name": "p2"}, "spec": {}, "status": {"phase": "Pending"}}
    leaving = {**running, "metadata": {"name": "p3", "deletionTimestamp": "2026-11-21T20:58:08Z"}}
    httpserver.expect_oneshot_request(
        PODS,
        query_string={"labelSelector": "spark-app-selector=spark-1,spark-role=executor"},
        headers={"Authorization": "Bearer secret"},
    ).respond_with_json({"items": [running, waiting, leaving]})
    assert server.executor_pods("streams", "spark-1") == [
        ExecutorPod(name="p1", executor="1", node="a", order="7-3", is_pending=False),
        ExecutorPod(name="p2", executor="", node=None, order="", is_pending=True),
        ExecutorPod(name="p3", executor="", node="a", order="", is_pending=False, is_terminating=True),
    ]


@pytest.mark.parametrize(
    ("status", "message", "refusal"),
    [(201, "", ""), (403, "pods is forbidden: exceeded quota: two", "pods is forbidden: exceeded quota: two")],
)
def test_a_copy_of_an_executors_pod_is_tried_without_creating_it(httpserver, server, status, message, refusal):
    labels = {"spark-exec-id": "1", "spark-role": "executor"}
    spec = {"containers": [{"name": "spark"}], "nodeName": "a", "priority": 0}
    pod = {"metadata": {"name": "p1", "uid": "u", "labels": labels, "ownerReferences": [{}]}, "spec": spec}
    sent = {
        "metadata": {"generateName": "gesscale-dry-run-", "labels": labels, "annotations": {}},
        "spec": {"containers": [{"name": "spark"}]},
    }
    httpserver.expect_request(PODS, method="GET").respond_with_json({"items": [pod]})
    httpserver.expect_oneshot_request(PODS, method="POST", query_string={"dryRun": "All"}, json=sent).respond_with_json(
        {"message": message}, status=status
    )
    assert server.executor_refusal("streams", "spark-1") == refusal


def test_without_an_executor_or_an_answer_no_refusal_is_known(httpserver, server):
    httpserver.expect_oneshot_request(PODS, method="GET").respond_with_json({"items": []})
    assert server.executor_refusal("streams", "spark-1") == ""
    httpserver.expect_oneshot_request(PODS, method="GET").respond_with_json({"items": [{"metadata": {}, "spec": {}}]})
    httpserver.expect_oneshot_request(PODS, method="POST").respond_with_json({"message": "later"}, status=500)
    with refused("driver-request-rejected", ApiRequestError, status=500):
        server.executor_refusal("streams", "spark-1")


def test_deleting_a_missing_pod_succeeds(httpserver, server):
    httpserver.expect_oneshot_request(f"{PODS}/p1", method="DELETE").respond_with_json({}, status=404)
    server.delete_pod("streams", "p1")
    httpserver.expect_oneshot_request(f"{PODS}/p1", method="DELETE").respond_with_json(
        {"message": "not yours"}, status=403
    )
    with refused("driver-request-rejected", ApiRequestError, status=403, cause="not yours") as rejected:
        server.delete_pod("streams", "p1")
    assert not rejected.value.transient


def test_a_pod_of_a_lost_node_is_deleted_without_its_kubelet(httpserver, server):
    httpserver.expect_oneshot_request(
        f"{PODS}/p1", method="DELETE", query_string={"gracePeriodSeconds": "0"}
    ).respond_with_json({})
    server.delete_pod("streams", "p1", at_once=True)


def test_no_response_is_transient():
    with pytest.raises(ApiRequestError) as lost:
        ApiServer(url="http://localhost:1").autoscaler("streams", "taxi")
    assert (lost.value.status, lost.value.transient) == (0, True)


def test_in_a_pod_the_service_account_is_used(tmp_path, monkeypatch):
    for name, text in (("token", "old"), ("namespace", "streams\n"), ("ca.crt", _authority())):
        (tmp_path / name).write_text(text)
    monkeypatch.setattr(kubernetes_api, "_ACCOUNT", tmp_path)
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "fd00::1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "443")
    server = connect()
    assert (server.url, server.namespace) == ("https://[fd00::1]:443", "streams")
    assert server.token_file == tmp_path / "token"
    (tmp_path / "ca.crt").unlink()
    with refused("driver-credentials-unusable", GesscaleError) as unusable:
        connect()
    assert "ServiceAccount" in unusable.value.fields["credentials"]


def test_outside_a_pod_the_kubeconfig_is_used(tmp_path, monkeypatch):
    file = tmp_path / "config"
    authority = base64.b64encode(_authority().encode()).decode()
    config = {
        "current-context": "edge",
        "contexts": [{"name": "edge", "context": {"cluster": "c", "user": "u", "namespace": "streams"}}],
        "clusters": [
            {"name": "c", "cluster": {"server": "https://k3s:6443/", "certificate-authority-data": authority}}
        ],
        "users": [{"name": "u", "user": {"token": "secret"}}],
    }
    file.write_text(yaml.safe_dump(config))
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    monkeypatch.setenv("KUBECONFIG", str(file))
    server = connect()
    assert (server.url, server.namespace, server.token) == ("https://k3s:6443", "streams", "secret")
    file.write_text(yaml.safe_dump({**config, "current-context": "gone"}))
    with refused("driver-credentials-unusable", GesscaleError, credentials="the kubeconfig"):
        connect()


def _authority() -> str:
    """Return any certificate: the first of those that this system trusts."""
    return ssl.DER_cert_to_PEM_cert(ssl.create_default_context().get_ca_certs(binary_form=True)[0])
