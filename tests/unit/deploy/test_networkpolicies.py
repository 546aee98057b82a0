"""Allowed traffic, by the rules of NetworkPolicies as Kubernetes documents them.

tests/real/kubernetes/test_policies.py has the same ways enforced; here nothing but the files is needed.
"""

import pytest
import yaml
from policy_ways import ALLOWED, CONTROLLER, DENIED, OPTED_IN, PODS, POLICIES, WATCHERS

from gesscale.kubernetes.resource.spec import DriverSpec
from gesscale.kubernetes.resource.spec_groups import AGENTS_DNS
from latency_map.measure.peers import split_host_port

INSTALLED = (".", "overlays/raspberry-pi", "overlays/single-node")
NAMED = {"http": 8080, "metrics": 9109, "kafka": 9092}


def selects(selector, labels):
    """Return whether a selector matches these labels; an empty one matches all."""
    if not selector.get("matchLabels", {}).items() <= labels.items():
        return False
    for each in selector.get("matchExpressions", ()):
        if each["operator"] == "Exists":
            holds = each["key"] in labels
        else:
            assert each["operator"] == "In"
            holds = labels.get(each["key"]) in each["values"]
        if not holds:
            return False
    return True


def names(peer, here, space, labels):
    """Return whether a rule's peer is this pod; a peer without namespaces is in the policy's namespace."""
    if "ipBlock" in peer:
        return False
    spaces = {"kubernetes.io/metadata.name": space, **(WATCHERS if space == "watchers" else {})}
    if "namespaceSelector" in peer:
        if not selects(peer["namespaceSelector"], spaces):
            return False
    elif space != here:
        return False
    return selects(peer.get("podSelector", {}), labels)


def lets(policies, direction, pod, other, port):
    """Return whether the policies of a pod allow traffic to or from the other one; without policies they do."""
    (space, labels), side = pod, {"Egress": "to", "Ingress": "from"}[direction]
    mine = [
        policy
        for policy in policies
        if policy["metadata"]["namespace"] == space
        and direction in policy["spec"]["policyTypes"]
        and selects(policy["spec"]["podSelector"], labels)
    ]
    rules = [rule for policy in mine for rule in policy["spec"].get(direction.lower(), ())]
    return not mine or any(
        any(names(peer, space, *other) for peer in rule[side])
        and ("ports" not in rule or port in {NAMED.get(each["port"], each["port"]) for each in rule["ports"]})
        for rule in rules
    )


def reaches(policies, source, target, port):
    one, other = ((place.partition("/")[0], PODS[place][1]) for place in (source, target))
    return lets(policies, "Egress", one, other, port) and lets(policies, "Ingress", other, one, port)


@pytest.fixture
def read(look):
    def policies(*files):
        found = [each for file in files for each in yaml.safe_load_all((look.k3s / file).read_text())]
        for each in found:
            each["metadata"].setdefault("namespace", "gesscale")
        return found

    return policies


def of_kind(objects, kind="NetworkPolicy"):
    return [each for each in objects if each["kind"] == kind]


def test_traffic_of_controller_and_agents_is_as_documented(read):
    policies = read(*POLICIES)
    assert [way for way in ALLOWED if not reaches(policies, *way)] == []
    assert [way for way in (*DENIED, *(way[:3] for way in OPTED_IN)) if reaches(policies, *way)] == []


@pytest.mark.parametrize("way", OPTED_IN)
def test_a_component_allows_one_connection_only(read, way):
    policies = read(*POLICIES, way[3])
    assert reaches(policies, *way[:3])
    others = [each[:3] for each in OPTED_IN if each != way]
    assert [each for each in (*DENIED, *others) if reaches(policies, *each)] == []


@pytest.mark.parametrize("folder", INSTALLED)
def test_what_is_installed_has_the_policies(render, read, folder):
    written = {each["metadata"]["name"]: each["spec"] for each in read(*POLICIES)}
    assert {each["metadata"]["name"]: each["spec"] for each in of_kind(render(folder))} == written


@pytest.mark.parametrize("folder", [*INSTALLED, "example"])
def test_every_pod_is_denied_by_default(render, look, folder):
    objects = render(folder)
    for name, pod in look.pods(objects):
        for direction in ("Ingress", "Egress"):
            assert any(
                direction in each["spec"]["policyTypes"]
                and selects(each["spec"]["podSelector"], pod["metadata"]["labels"])
                for each in of_kind(objects)
                if each["metadata"]["namespace"] in {"gesscale" if folder != "example" else "taxi"}
            ), (name, direction)


def test_ports_are_those_of_the_code(read, render, look):
    controller, api = read("controller/networkpolicy.yaml")
    _, agents_port = split_host_port(AGENTS_DNS)
    ports = [{each["port"] for each in rule["ports"]} for rule in controller["spec"]["egress"]]
    assert ports == [{53}, {DriverSpec().port}, {agents_port}]
    (container,) = look.find(render("."), "Deployment", "gesscale-controller")["spec"]["template"]["spec"]["containers"]
    assert {each["name"]: each["containerPort"] for each in container["ports"]} == {"http": NAMED["http"]}
    (container,) = look.find(render("."), "DaemonSet", "latency-agent")["spec"]["template"]["spec"]["containers"]
    assert {each["name"]: each["containerPort"] for each in container["ports"]} == {"metrics": agents_port}
    (rule,) = api["spec"]["egress"]
    assert rule["ports"] == [{"protocol": "TCP", "port": 6443}]


def test_the_api_servers_port_is_denied_on_local_addresses(read):
    # Link-local: metadata services of clouds have the credentials of a machine.
    _, api = read("controller/networkpolicy.yaml")
    (rule,) = api["spec"]["egress"]
    blocks = {each["ipBlock"]["cidr"]: set(each["ipBlock"]["except"]) for each in rule["to"]}
    assert blocks["0.0.0.0/0"] >= {"169.254.0.0/16", "127.0.0.0/8"}
    assert blocks["::/0"] >= {"fe80::/10", "::1/128"}


EXAMPLE = {
    "controller": ("gesscale", CONTROLLER),
    "stranger": ("taxi", {}),
    "executor": ("taxi", {"spark-role": "executor"}),
}


@pytest.fixture
def taxi(render, look):
    """Return whether a pod of the example, or one of the above, can reach another one."""
    objects = render("example")
    pods = EXAMPLE | {name: ("taxi", pod["metadata"]["labels"]) for name, pod in look.pods(objects)}
    policies = [*of_kind(objects), *of_kind(render("."))]
    return lambda one, other, port: (
        lets(policies, "Egress", pods[one], pods[other], port)
        and lets(policies, "Ingress", pods[other], pods[one], port)
    )


def test_the_example_works_under_its_policies(taxi, look):
    conf = (look.k3s / "example/spark/spark.conf").read_text().splitlines()
    settings = dict(line.split(maxsplit=1) for line in conf if line and not line.startswith("#"))
    driver, blocks, executors = (
        int(settings[f"spark.{name}"]) for name in ("driver.port", "driver.blockManager.port", "blockManager.port")
    )
    for name in ("clean", "nearest"):
        assert taxi("controller", name, 9108)
        assert taxi("executor", name, driver)
        assert taxi("executor", name, blocks)
        assert taxi(name, "executor", executors)
        assert taxi(name, "kafka", 9092)
    assert taxi("executor", "executor", executors)
    assert all(taxi(name, "kafka", 9092) for name in ("executor", "producer", "controller"))


def test_in_the_example_only_required_traffic_is_allowed(taxi):
    for name in ("clean", "nearest"):
        assert [port for port in (9108, 7078, 7079) if taxi("stranger", name, port)] == []
        assert not taxi("controller", name, 7078)
        assert not taxi(name, "stranger", 7079)
    assert not taxi("stranger", "kafka", 9092)
    assert not taxi("stranger", "executor", 7079)
    assert not taxi("executor", "stranger", 9092)
    assert not taxi("kafka", "clean", 9108)
