"""Credentials: kubeconfig files, and the ServiceAccount of a pod."""

import pytest
import yaml
from refusals import refused

from gesscale.errors import ClusterError, InputError
from gesscale.kubernetes.api.credentials import connect


def kubeconfig(current="edge"):
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": current,
        "clusters": [{"name": "k", "cluster": {"server": "https://10.77.0.1:6443"}}],
        "users": [{"name": "u", "user": {"token": "t"}}],
        "contexts": [
            {"name": "edge", "context": {"cluster": "k", "user": "u", "namespace": "streams"}},
            {"name": "bare", "context": {"cluster": "k", "user": "u"}},
        ],
    }


@pytest.fixture(autouse=True)
def _no_cluster_of_our_own(monkeypatch, tmp_path):
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    monkeypatch.delenv("KUBECONFIG", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "config"
    path.write_text(yaml.safe_dump(kubeconfig()))
    return path


def test_a_kubeconfig_gives_server_and_namespace(file):
    connection = connect(file)
    assert (connection.url, connection.namespace) == ("https://10.77.0.1:6443", "streams")


@pytest.mark.parametrize("text", [yaml.safe_dump(kubeconfig("gone")), "{}", "[1, 2]", "a,b", "a: [", ""])
def test_a_file_that_is_no_kubeconfig_is_refused(file, text):
    file.write_text(text)
    with refused("kubeconfig-invalid", InputError, source=str(file)):
        connect(file)


def test_an_unknown_context_is_refused_with_the_known_ones(file):
    with refused("kubeconfig-context-unknown", InputError, source=str(file), context="cloud", known=["bare", "edge"]):
        connect(file, "cloud")


def test_without_any_file_the_usual_one_is_named(tmp_path):
    with refused("kubeconfig-not-found", InputError, source=str(tmp_path / "home/.kube/config")):
        connect()


def test_a_pod_without_a_token_is_an_error(monkeypatch):
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.96.0.1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "443")
    with refused("pod-credentials-unusable", ClusterError):
        connect()
