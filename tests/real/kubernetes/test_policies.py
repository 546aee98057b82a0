"""NetworkPolicies of deploy/k3s, enforced by the controller that k3s has in it: who reaches whom, and who does not."""

import json

import pytest
from listening_pods import K3S, ListeningPods
from network_policies import obstacle, policies_enforced
from ordered_application import until as until_seen
from policy_ways import ALLOWED, CONTROLLER, DENIED, OPTED_IN, PODS, POLICIES
from real.kubernetes.test_rights import InPod
from waiting import until

from gesscale.errors import ClusterError
from testbed.kubernetes.kubectl import create_namespace

pytestmark = [pytest.mark.real, pytest.mark.long]


@pytest.fixture(scope="module")
def enforced(cluster):
    cluster.in_control_plane(("true",))  # what enforces runs in our own nodes' namespaces
    if why := obstacle():
        pytest.skip(f"no network policy can be enforced here: it {why}")
    with policies_enforced(cluster):
        yield cluster


@pytest.fixture
def pods(enforced, namespace):
    spaces = {space: f"{namespace}-{space}" for space in ("gesscale", "taxi", "watchers")}
    for own in spaces.values():
        create_namespace(enforced.run_kubectl, own)
    enforced.run_kubectl("label", "namespace", spaces["watchers"], "gesscale.dev/monitoring=true")
    pods = ListeningPods(enforced, spaces)
    nodes = dict(zip(("near", "mid", "far"), enforced.node_names, strict=True))
    for place, (node, labels) in PODS.items():
        pods.start(place, nodes[node], labels)
    pods.wait_ready(*PODS)
    yield pods
    for own in spaces.values():
        enforced.run_kubectl("delete", "namespace", own, "--wait=false")


def test_policies_allow_the_traffic_of_controller_and_agents_only(pods, enforced):
    api = enforced.address(enforced.topology.driver_node)
    kubelet = enforced.address(enforced.node_names[2])
    outside = [("gesscale/controller", kubelet, 10250), ("gesscale/agent-near", api, 443)]
    denied = [*DENIED, *outside, *(way[:3] for way in OPTED_IN)]
    # Nothing stands in the way yet.
    until_reached(pods, *ALLOWED, *denied)
    pods.apply_policies(*POLICIES, default="gesscale")
    for way in denied:
        until(lambda way=way: not pods.reaches(*way), f"{way} is denied")
    until_reached(pods, *ALLOWED, ("gesscale/controller", api, 443))
    assert pods.runs("gesscale/controller", "nslookup", "kubernetes.default.svc.cluster.local")
    ping = ("ping", "-c", "1", "-W", "3", pods.addresses["gesscale/agent-far"])
    assert pods.runs("gesscale/agent-near", *ping)
    assert not pods.runs("gesscale/other", *ping)
    for *way, file in OPTED_IN:
        pods.apply_policies(file)
        until(lambda way=way: pods.reaches(*way), f"{way} is allowed by {file}")
    assert [way for way in DENIED if pods.reaches(*way)] == []
    # A new pod gets ready: the kubelet's probe is let through without a rule.
    pods.start("gesscale/spare", enforced.node_names[1], CONTROLLER)
    pods.wait_ready("gesscale/spare")


def until_reached(pods, *ways):
    """Wait until each way is open: on a busy machine an answer may come after the 3 s that an attempt waits."""
    for way in ways:
        until(lambda way=way: pods.reaches(*way), f"{way} is open")


class Labelled(InPod):
    """An application with the labels and ports of the example, asked from within its driver's pod."""

    labels = {**InPod.labels, "app.kubernetes.io/name": "taxi"}  # noqa: RUF012  a constant

    def settings(self):
        lines = (K3S / "example/spark/spark.conf").read_text().splitlines()
        example = dict(line.split(maxsplit=1) for line in lines if line and not line.startswith("#"))
        ports = ("spark.driver.port", "spark.driver.blockManager.port", "spark.blockManager.port")
        return super().settings() | {name: example[name] for name in ports}

    def ask(self, page):
        url = f"http://{self.address}:9108/{page}"
        program = f"import urllib.request as u; print(u.urlopen('{url}').read().decode())"
        try:
            return json.loads(self.kubectl("exec", "driver", "--", "python", "-c", program))
        except ClusterError as error:
            raise OSError(str(error)) from error


def test_spark_works_under_the_policies_and_other_pods_are_denied(enforced, tmp_path):
    near, mid, far = enforced.node_names
    application = Labelled(enforced, tmp_path)
    pods = ListeningPods(enforced, {"taxi": application.namespace})
    pods.apply_policies("example/networkpolicies.yaml", default="taxi")
    try:
        pods.start("taxi/stranger", mid, {})
        pods.start("taxi/executor", mid, {"spark-role": "executor"})
        first = application.order(near)
        application.submit(far)
        until_seen("the first executor has worked", lambda: application.has_applied(first, near), application)
        application.apply(near, mid)
        assert application.is_exactly_once()
        pods.wait_ready("taxi/stranger", "taxi/executor")
        pods.addresses["driver"] = application.address
        denied = [
            *(("taxi/stranger", "driver", port) for port in (9108, 7078, 7079)),
            ("taxi/stranger", "taxi/executor", 7079),
            ("taxi/executor", "taxi/stranger", 9999),
            ("taxi/executor", "driver", 9108),
        ]
        assert [way for way in denied if pods.reaches(*way)] == []
    finally:
        enforced.run_kubectl("delete", "namespace", application.namespace, "--wait=false")
