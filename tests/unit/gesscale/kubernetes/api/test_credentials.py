"""Where the API server is: kubeconfig files, and the ServiceAccount of a pod."""

import pytest
import yaml

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


def test_a_file_says_where_the_server_is_and_which_namespace_is_ours(file):
    connection = connect(file)
    assert (connection.url, connection.namespace) == ("https://10.77.0.1:6443", "streams")


@pytest.mark.parametrize(
    ("text", "context", "says"),
    [
        (yaml.safe_dump(kubeconfig()), "cloud", "expected the context 'cloud', got bare, edge"),
        (yaml.safe_dump(kubeconfig("gone")), None, "expected a kubeconfig as kubectl reads it: .*gone"),
        ("{}", None, "expected a kubeconfig as kubectl reads it"),
        ("[1, 2]", None, "expected a kubeconfig as kubectl reads it: expected a mapping"),
        ("a,b", None, "expected a kubeconfig as kubectl reads it: expected a mapping"),
        ("a: [", None, "expected a kubeconfig as kubectl reads it"),
        ("", None, "expected a kubeconfig as kubectl reads it"),
    ],
)
def test_a_file_that_will_not_do_is_named_with_its_fault(file, text, context, says):
    file.write_text(text)
    with pytest.raises(InputError, match=f"{file}: {says}"):
        connect(file, context)


def test_without_any_file_all_ways_are_named():
    with pytest.raises(InputError, match=r"to run in a pod, or a kubeconfig file, .*--kubeconfig.*KUBECONFIG"):
        connect()


def test_a_pod_without_a_token_says_so(monkeypatch):
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.96.0.1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "443")
    with pytest.raises(ClusterError, match="automountServiceAccountToken"):
        connect()
