import base64
import ssl

import pytest
import yaml

from gesscale.errors import GesscaleError
from gesscale.spark import kubernetes_api
from gesscale.spark.kubernetes_api import ApiRequestError, ApiServer, connect
from gesscale.spark.reconcile import ExecutorPod

PODS = "/api/v1/namespaces/streams/pods"


@pytest.fixture
def server(httpserver):
    return ApiServer(url=httpserver.url_for("").rstrip("/"), token="secret", timeout_s=2.0)  # noqa: S106 - made up


def test_the_executors_of_one_application_are_told_without_those_on_their_way_out(httpserver, server):
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
        ExecutorPod(name="p1", executor="1", node="a", order="7-3", waits=False),
        ExecutorPod(name="p2", executor="", node=None, order="", waits=True),
    ]


def test_a_pod_that_is_gone_already_is_as_good_as_deleted(httpserver, server):
    httpserver.expect_oneshot_request(f"{PODS}/p1", method="DELETE").respond_with_json({}, status=404)
    server.delete_pod("streams", "p1")
    httpserver.expect_oneshot_request(f"{PODS}/p1", method="DELETE").respond_with_json(
        {"message": "not yours"}, status=403
    )
    with pytest.raises(ApiRequestError, match="403: not yours") as refused:
        server.delete_pod("streams", "p1")
    assert not refused.value.transient


def test_no_answer_may_be_better_next_time():
    with pytest.raises(ApiRequestError) as lost:
        ApiServer(url="http://127.0.0.1:1").autoscaler("streams", "taxi")
    assert (lost.value.status, lost.value.transient) == (0, True)


def test_a_pod_is_who_its_service_account_is(tmp_path, monkeypatch):
    for name, text in (("token", "old"), ("namespace", "streams\n"), ("ca.crt", _authority())):
        (tmp_path / name).write_text(text)
    monkeypatch.setattr(kubernetes_api, "_ACCOUNT", tmp_path)
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "fd00::1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "443")
    server = connect()
    assert (server.url, server.namespace) == ("https://[fd00::1]:443", "streams")
    assert server.token_file == tmp_path / "token"
    (tmp_path / "ca.crt").unlink()
    with pytest.raises(GesscaleError, match="ServiceAccount"):
        connect()


def test_outside_a_pod_the_kubeconfig_says_who_we_are(tmp_path, monkeypatch):
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
    with pytest.raises(GesscaleError, match="kubeconfig"):
        connect()


def _authority() -> str:
    """Return any certificate: the first of those that this system trusts."""
    return ssl.DER_cert_to_PEM_cert(ssl.create_default_context().get_ca_certs(binary_form=True)[0])
