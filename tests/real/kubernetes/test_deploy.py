"""deploy/k3s on a real API server: taken, admitted under the restricted standard, and running from the real images."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from images import FOLDER, require_building
from waiting import until

from testbed.kubernetes.tools import find_tools

pytestmark = pytest.mark.real

K3S = Path(__file__).parents[3] / "deploy" / "k3s"
FOLDERS = (".", "overlays/raspberry-pi", "overlays/single-node", "example")
TOLERANCE_S = 0.015


class Deployed:
    """Runs kubectl with its output, and waits."""

    def __init__(self, cluster):
        self.cluster = cluster

    def kubectl(self, *arguments, timeout_s=120):
        command = (self.cluster.kubectl, "--kubeconfig", self.cluster.kubeconfig, *arguments)
        return subprocess.run(command, capture_output=True, text=True, timeout=timeout_s, check=False)

    def apply(self, folder, *options):
        done = self.kubectl("apply", *options, "-k", str(K3S / folder))
        assert done.returncode == 0, done.stderr
        return done

    def items(self, kind, namespace, *options):
        done = self.kubectl("get", kind, "-n", namespace, "-o", "json", *options)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)["items"]

    def warnings(self):
        return "\n".join(
            f"{each['involvedObject']['name']}: {each['reason']}: {each['message']}"
            for namespace in ("gesscale", "taxi")
            for each in self.items("events", namespace)
            if each["type"] == "Warning"
        )

    def until(self, reached, what):
        return until(reached, what, 180.0, self.warnings)


@pytest.fixture(scope="module")
def deployed(defined):
    """Yield a cluster with the namespaces and the resource's definition; the namespaces go afterwards."""
    place = Deployed(defined)
    for folder in ("base", "example"):
        done = place.kubectl("apply", "-f", str(K3S / folder / "namespace.yaml"))
        assert done.returncode == 0, done.stderr
    place.apply("crd")  # by which kubectl knows the definition, too
    yield place
    # The definition stays: other tests use it.
    place.kubectl("delete", "namespace", "gesscale", "taxi", "--wait=false")
    for kind in ("clusterrolebinding", "clusterrole", "priorityclass"):
        place.kubectl("delete", kind, "gesscale-controller", "--ignore-not-found")


@pytest.mark.parametrize("folder", FOLDERS)
def test_the_api_server_accepts_every_object_without_a_warning(deployed, folder):
    done = deployed.apply(folder, "--dry-run=server")
    lines = done.stdout.splitlines()
    assert len(lines) >= 15
    assert all(line.endswith("(server dry run)") for line in lines)
    assert "Warning" not in done.stderr


def test_a_privileged_pod_is_not_admitted(deployed):
    # What makes the next test worth its name: the very namespace refuses an ordinary pod.
    done = deployed.kubectl("run", "ordinary", "-n", "taxi", "--image=localhost/busybox:1", "--restart=Never")
    assert done.returncode == 1
    assert 'violates PodSecurity "restricted' in done.stderr


@pytest.mark.parametrize(
    ("folder", "namespace", "owners"),
    [
        ("overlays/raspberry-pi", "gesscale", {"gesscale-controller", "latency-agent"}),
        ("example", "taxi", {"clean", "nearest", "kafka", "producer"}),
    ],
)
def test_every_pod_is_admitted(deployed, folder, namespace, owners):
    deployed.apply(folder)

    def made():
        pods = deployed.items("pods", namespace)
        names = {owner for owner in owners for pod in pods if pod["metadata"]["name"].startswith(f"{owner}-")}
        return names if names == owners else None

    deployed.until(made, f"a pod of each of {', '.join(sorted(owners))}")
    refused = [each["message"] for each in deployed.items("events", namespace) if each["reason"] == "FailedCreate"]
    assert not [message for message in refused if "PodSecurity" in message]


@pytest.fixture(scope="module")
def running(deployed, cluster):
    """Load the images and apply deploy/k3s, by the commands of README."""
    require_building()
    if shutil.which("mmdebstrap") is None:
        pytest.skip("needs Debian's mmdebstrap")
    ctr = find_tools().ctr
    imports = [
        f"{ctr} -a {cluster.files.node(node)}/containerd.sock -n k8s.io images import -" for node in cluster.node_names
    ]
    load = K3S.parent / "images" / "load.sh"
    environment = {**os.environ, "INPUTS": str(FOLDER / "inputs")}
    done = subprocess.run((load, *imports), env=environment, capture_output=True, text=True, timeout=1800, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    deployed.apply(".")
    # The pods of the overlay before are exchanged for those of this one: figures are read when that is over.
    for each in ("daemonset/latency-agent", "deployment/gesscale-controller"):
        done = deployed.kubectl("rollout", "status", each, "-n", "gesscale", "--timeout=240s", timeout_s=260)
        assert done.returncode == 0, done.stdout + done.stderr
    return deployed


@pytest.mark.long
def test_agents_measure_every_pair_without_any_capability(running, cluster):
    nodes = cluster.node_names

    def ready():
        pods = running.items("pods", "gesscale", "-l", "app.kubernetes.io/component=probe")
        good = [
            pod
            for pod in pods
            if all(each["ready"] for each in pod["status"].get("containerStatuses", [{"ready": False}]))
        ]
        return good if len(good) == len(nodes) else None

    pods = running.until(ready, f"{len(nodes)} agents")
    for pod in pods:
        name, source = pod["metadata"]["name"], pod["spec"]["nodeName"]
        path = f"/api/v1/namespaces/gesscale/pods/{name}:9109/proxy/metrics"

        def figures(path=path, source=source):
            text = running.kubectl("get", "--raw", path).stdout
            found = dict(re.findall(r'gesscale_latency_rtt_seconds\{source="[^"]*",target="([^"]*)"\} (\S+)', text))
            if len(found) < len(nodes) - 1:
                return None
            # The map's round trip, and what a busy machine adds to it now and then; never less.
            added_s = {
                target: float(measured) - cluster.topology.rtt_ms(source, target) / 1000
                for target, measured in found.items()
            }
            for target, more_s in added_s.items():
                assert more_s > -0.1 * cluster.topology.rtt_ms(source, target) / 1000, (source, target)
            return found if max(added_s.values()) < TOLERANCE_S else None

        running.until(figures, f"round trips of {source} of the map")
        status = running.kubectl("exec", "-n", "gesscale", name, "--", "cat", "/proc/1/status").stdout
        assert set(re.findall(r"^Cap\w+:\s+(\w+)$", status, re.MULTILINE)) == {"0" * 16}
        log = running.kubectl("logs", "-n", "gesscale", name).stdout
        assert "by icmp" in log


@pytest.mark.long
def test_two_controllers_run_and_one_leads(running):
    def settled():
        pods = running.items("pods", "gesscale", "-l", "app.kubernetes.io/component=controller")
        good = [pod for pod in pods if all(each["ready"] for each in pod["status"].get("containerStatuses", []))]
        held = [each for each in running.items("leases", "gesscale") if each["spec"].get("holderIdentity")]
        return good if len(good) == 2 and held else None

    pods = running.until(settled, "two controllers that are ready, one with the lease")
    leading = []
    for pod in pods:
        path = f"/api/v1/namespaces/gesscale/pods/{pod['metadata']['name']}:8080/proxy/metrics"
        text = running.kubectl("get", "--raw", path).stdout
        leading += re.findall(r"^gesscale_leader (\S+)$", text, re.MULTILINE)
        assert re.search(r"^gesscale_missing_rights 0(\.0)?$", text, re.MULTILINE), text
        restarts = [each["restartCount"] for each in pod["status"]["containerStatuses"]]
        assert restarts == [0]
    assert sum(map(float, leading)) == 1  # a controller that has never led may export nothing
    (lease,) = running.items("leases", "gesscale")
    holder = lease["spec"]["holderIdentity"]
    assert holder.startswith(tuple(pod["metadata"]["name"] for pod in pods))
