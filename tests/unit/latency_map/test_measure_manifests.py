"""The manifests of the DaemonSet match the agent."""

from pathlib import Path

import pytest
import yaml

from latency_map.measure.options import VARIABLES, read_options
from latency_map.measure.peers import split_host_port

FOLDER = Path(__file__).parents[3] / "deploy" / "k3s" / "latency-agent"
OF_CONTAINER = {"PYTHONDONTWRITEBYTECODE"}


def load(name):
    return yaml.safe_load((FOLDER / name).read_text())


@pytest.fixture
def pod():
    return load("daemonset.yaml")["spec"]["template"]["spec"]


@pytest.fixture
def options(pod):
    """What the agent makes of its arguments and variables."""
    (agent,) = pod["containers"]
    environment = {entry["name"]: entry.get("value", "some-node") for entry in agent["env"]}
    assert environment.keys() - OF_CONTAINER <= set(VARIABLES)
    return read_options(agent["args"], environment)


def test_the_agent_takes_its_arguments_and_knows_its_node(pod, options):
    (agent,) = pod["containers"]
    assert agent["command"] == ["python", "-m", "latency_map.measure.agent"]
    assert options.node == "some-node"
    (node,) = (entry for entry in agent["env"] if entry["name"] == "GESSCALE_NODE")
    assert node["valueFrom"] == {"fieldRef": {"fieldPath": "spec.nodeName"}}


def test_agents_find_each_other_by_the_service(options):
    service = load("service.yaml")
    assert service["spec"]["clusterIP"] == "None"
    assert split_host_port(options.peers_dns) == (service["metadata"]["name"], options.port)
    (port,) = service["spec"]["ports"]
    assert port["port"] == options.port
    labels = load("daemonset.yaml")["spec"]["template"]["metadata"]["labels"]
    assert service["spec"]["selector"].items() <= labels.items()


def test_ports_and_probes_fit_the_agent(pod, options):
    (agent,) = pod["containers"]
    (port,) = agent["ports"]
    assert port["containerPort"] == options.port
    assert agent["livenessProbe"]["httpGet"] == {"path": "/healthz", "port": port["name"]}
    annotations = load("daemonset.yaml")["spec"]["template"]["metadata"]["annotations"]
    assert annotations["prometheus.io/port"] == str(options.port)


def test_no_token_of_the_kubernetes_api_is_within_reach(pod):
    account = load("serviceaccount.yaml")
    assert account["automountServiceAccountToken"] is False
    assert pod["automountServiceAccountToken"] is False
    assert pod["serviceAccountName"] == account["metadata"]["name"]
