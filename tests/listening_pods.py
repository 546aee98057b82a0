"""Pods that listen on many ports, for tests of the network policies of deploy/k3s."""

import json
from pathlib import Path

import yaml

from gesscale.errors import ClusterError
from testbed.kubernetes.images import BUSYBOX
from testbed.kubernetes.network import API_SERVICE, NAMES_SERVICE

K3S = Path(__file__).parents[1] / "deploy" / "k3s"
PORTS = (7078, 7079, 8080, 9090, 9092, 9108, 9109, 9999)


class ListeningPods:
    """Pods of one test that listen on many ports, and the connections among them.

    A pod's place is NAMESPACE/NAME; namespaces are those of the manifests, such as ``taxi``.
    """

    def __init__(self, cluster, spaces):
        self.cluster, self.spaces, self.addresses = cluster, spaces, {}

    def create(self, body):
        self.cluster.run_kubectl("create", "-f", "-", stdin=json.dumps(body))

    def start(self, place, node, labels):
        """Start a pod."""
        space, name = place.split("/")
        serve = "; ".join(f"httpd -p {port} -h /www" for port in PORTS)
        container = {
            "name": "c",
            "image": BUSYBOX,
            "command": ["sh", "-c", f"mkdir /www; echo ok > /www/index.html; {serve}; sleep 100000"],
            "ports": [{"name": "http", "containerPort": 8080}, {"name": "metrics", "containerPort": 9109}],
            # The kubelet's probe comes from the node, which no policy names.
            "readinessProbe": {"httpGet": {"path": "/", "port": 8080}, "periodSeconds": 1},
        }
        metadata = {"name": name, "namespace": self.spaces[space], "labels": labels}
        spec = {"nodeName": node, "containers": [container], "terminationGracePeriodSeconds": 0}
        self.create({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})

    def wait_ready(self, *places):
        """Wait until pods listen, and store their addresses."""
        for place in places:
            space, name = place.split("/")
            at = ("-n", self.spaces[space])
            self.cluster.run_kubectl(
                *at, "wait", "--for=condition=Ready", f"pod/{name}", "--timeout=240s", timeout_s=270
            )
            found = json.loads(self.cluster.run_kubectl(*at, "get", "pod", name, "-o", "json"))
            self.addresses[place] = found["status"]["podIP"]

    def runs(self, place, *command):
        """Return the output of a command in a pod; empty if it failed."""
        space, name = place.split("/")
        try:
            return self.cluster.run_kubectl("exec", "-n", self.spaces[space], name, "--", *command)
        except ClusterError:
            return ""

    def reaches(self, source, target, port):
        """Return whether a pod gets an answer of any status from a pod or an address."""
        address = self.addresses.get(target, target)
        ask = f"printf 'GET / HTTP/1.0\\r\\n\\r\\n' | nc -w 3 {address} {port}"
        return "HTTP/" in self.runs(source, "sh", "-c", ask)

    def apply_policies(self, *files, default=None):
        """Apply the policies in deploy/k3s for our namespaces."""
        written = [each for file in files for each in yaml.safe_load_all((K3S / file).read_text())]
        of = {id(each): each["metadata"].get("namespace", default) for each in written}
        items = [self._adapted(each, of[id(each)]) for each in written if of[id(each)] in self.spaces]
        self.create({"apiVersion": "v1", "kind": "List", "items": items})

    def _adapted(self, policy, space):
        """Adapt a policy to this cluster: addresses of API server and DNS, which are no pods, and our namespaces."""
        api = self.cluster.address(self.cluster.topology.driver_node)
        for rule in policy["spec"].get("egress", ()):
            ports = {each["port"] for each in rule.get("ports", ())}
            if ports == {53}:
                rule["to"] = [{"ipBlock": {"cidr": f"{NAMES_SERVICE}/32"}}]
            if ports == {6443}:  # what docs/howto/k3s.md says of narrowing it
                rule["to"] = [{"ipBlock": {"cidr": f"{address}/32"}} for address in (api, API_SERVICE)]
                rule["ports"] = [{"protocol": "TCP", "port": 443}]
        text = json.dumps(policy)
        for name, own in self.spaces.items():
            label = '"kubernetes.io/metadata.name": "{}"'
            text = text.replace(label.format(name), label.format(own))
        adapted = json.loads(text)
        adapted["metadata"]["namespace"] = self.spaces[space]
        return adapted
