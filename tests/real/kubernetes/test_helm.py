"""The chart on a real API server, by Helm itself: installed, refused, uninstalled."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from testbed.kubernetes.tools import HELM_SOURCES, build, find_go, is_built

pytestmark = [pytest.mark.real, pytest.mark.long]

ROOT = Path(__file__).parents[3]
KINDS = (
    "clusterroles,clusterrolebindings,priorityclasses,roles,rolebindings,serviceaccounts,services,configmaps,secrets,"
    "networkpolicies,deployments,daemonsets"
)


@pytest.fixture(scope="module")
def chart(cluster, tmp_path_factory):
    """Return the chart of this working tree."""
    folder = str(ROOT / "deploy" / "release")
    sys.path.insert(0, folder)
    try:
        import parts
    finally:
        sys.path.remove(folder)
    made = parts.helm_chart(parts.Source(commit="", epoch_s=0, folder=ROOT), str(cluster.kubectl))
    file = tmp_path_factory.mktemp("chart") / "gesscale.tgz"
    file.write_bytes(*made.values())
    return file


@pytest.fixture
def helm(cluster, tmp_path):
    """Return Helm on a cluster without the namespace gesscale."""
    if not is_built(HELM_SOURCES) and find_go() is None:
        pytest.skip("needs Go, to build Helm")
    program = build(HELM_SOURCES)
    cluster.run_kubectl("delete", "namespace", "gesscale", "--ignore-not-found", "--wait=true", timeout_s=120)
    environment = {**os.environ, "HOME": str(tmp_path), "KUBECONFIG": str(cluster.kubeconfig)}

    def run(*arguments):
        command = (program, *arguments)
        return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)

    yield run
    cluster.run_kubectl("delete", "namespace", "gesscale", "--ignore-not-found", "--wait=false")


def left(cluster):
    """Return the objects of gesscale in the cluster, other than its definition."""
    found = cluster.run_kubectl("get", KINDS, "-A", "-l", "app.kubernetes.io/name=gesscale", "-o", "json")
    return sorted(f"{each['kind']} {each['metadata']['name']}" for each in json.loads(found)["items"])


INSTALL = ("install", "gesscale", "-n", "gesscale", "--create-namespace")


def test_the_usual_line_installs_and_uninstalls(cluster, chart, helm):
    values = (
        *("--set", "controller.nodeSelector.disk=ssd,controller.podAnnotations.team=edge"),
        *("--set", "agent.imagePullSecrets[0].name=registry,controller.args[0]=--listen=0.0.0.0:8080"),
    )
    done = helm(*INSTALL, str(chart), *values)
    assert done.returncode == 0, done.stderr
    assert "kubectl delete crd streamautoscalers.gesscale.dev" in done.stdout  # the notes
    pod = json.loads(cluster.run_kubectl("-n", "gesscale", "get", "deploy", "gesscale-controller", "-o", "json"))
    template = pod["spec"]["template"]
    assert template["spec"]["nodeSelector"] == {"disk": "ssd"}
    assert template["metadata"]["annotations"]["team"] == "edge"
    assert template["metadata"]["annotations"]["prometheus.io/port"] == "8080"
    agent = json.loads(cluster.run_kubectl("-n", "gesscale", "get", "daemonset", "latency-agent", "-o", "json"))
    assert agent["spec"]["template"]["spec"]["imagePullSecrets"] == [{"name": "registry"}]
    done = helm("uninstall", "gesscale", "-n", "gesscale", "--wait")
    assert done.returncode == 0, done.stderr
    assert left(cluster) == []
    assert "Active" in cluster.run_kubectl("get", "namespace", "gesscale")
    cluster.run_kubectl("get", "crd", "streamautoscalers.gesscale.dev")
    again = helm(*INSTALL, str(chart))
    assert again.returncode == 0, again.stderr
    assert helm("uninstall", "gesscale", "-n", "gesscale", "--wait").returncode == 0


@pytest.mark.parametrize(
    "wrong",
    [
        ("-n", "default"),
        ("--set", "controller.args={--listne=1}"),
        ("--set", "agent.args={--listen}"),
        ("--set", "serviceMonitor.enabled=true"),  # the cluster has no Prometheus operator
    ],
)
def test_a_refused_install_leaves_nothing_in_the_way_of_the_next(cluster, chart, helm, wrong):
    done = helm(*INSTALL, str(chart), *wrong)
    assert done.returncode != 0
    assert left(cluster) == []
    done = helm(*INSTALL, str(chart))
    assert done.returncode == 0, done.stderr
    assert helm("uninstall", "gesscale", "-n", "gesscale", "--wait").returncode == 0
    assert left(cluster) == []
