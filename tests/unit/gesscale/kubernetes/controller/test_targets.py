"""Targets of the controller's connections that a StreamAutoscaler may configure."""

from ipaddress import ip_address

import pytest
from kube import FakeCluster, driver, node, pod
from refusals import refused

from gesscale.common.http_client import FetchError
from gesscale.errors import InputError
from gesscale.kubernetes.controller.targets import AllowedTarget, Targets

NAMES = {
    "spark.streams.svc": ["10.43.0.7"],
    "spark.streams": ["10.43.0.7"],
    "pod-0.spark.streams.svc.cluster.local": ["10.244.0.9"],
    "local.streams.svc": ["127.0.0.1"],
    "metadata.streams.svc": ["169.254.169.254"],
    "mapped.streams.svc": ["::ffff:169.254.169.254"],
    "amazon.streams.svc": ["fd00:ec2::254"],
    "alibaba.streams.svc": ["100.100.100.200"],
    "foreign.streams.svc": ["10.244.7.7"],
    "kubelet.streams.svc": ["192.168.1.10"],
    "mixed.streams.svc": ["169.254.169.254", "10.43.0.7"],
    "agents.gesscale": ["192.168.1.10", "192.168.1.12"],
    "rebound.example.com": ["169.254.169.254"],
    "spark.other.svc": ["10.43.0.8"],
    "prometheus.example.com": ["10.9.0.1"],
    "a.streams.svc.evil.com": ["10.43.0.7"],
    "streams": ["10.43.0.7"],
}
FOREIGN = pod("f", "b", namespace="other", ip="10.244.7.7")
WORLD = FakeCluster(
    nodes=[node("a", addresses=("192.168.1.10",)), node("b", addresses=("192.168.1.11",))],
    pods=[driver("a"), FOREIGN, pod("host", "a", ip="192.168.1.11"), pod("gone", "a", ip="10.244.0.5", phase="Failed")],
)


def lookup(host, port):
    assert 1 <= port <= 65535
    if host not in NAMES:
        raise FetchError(f"the connection failed: {host!r} does not resolve")
    return [ip_address(each) for each in NAMES[host]]


def resolved(host, port=9108, allowed=(), namespace="streams"):
    targets = Targets([AllowedTarget.parse(each) for each in allowed], WORLD.snapshot, lookup)
    return [str(each) for each in targets.resolver(namespace)(host, port)]


@pytest.mark.parametrize(
    ("host", "addresses"),
    [
        ("10.244.0.9", ["10.244.0.9"]),  # the driver's pod
        ("spark.streams.svc", ["10.43.0.7"]),
        ("SPARK.streams.SVC.", ["10.43.0.7"]),
        ("spark.streams", ["10.43.0.7"]),
        ("pod-0.spark.streams.svc.cluster.local", ["10.244.0.9"]),
        ("192.168.1.11", ["192.168.1.11"]),  # a pod of the namespace in its node's network
        ("mixed.streams.svc", ["10.43.0.7"]),
    ],
)
def test_pods_and_services_of_the_namespace_are_allowed(host, addresses):
    assert resolved(host) == addresses


@pytest.mark.parametrize(
    "host",
    [
        "169.254.169.254",
        "::ffff:169.254.169.254",
        "127.0.0.1",
        "::1",
        "0.0.0.0",  # noqa: S104 - an address to refuse
        "10.244.7.7",  # a pod of another namespace
        "10.244.0.5",  # an ended pod: its address may be in use again
        "192.168.1.10",  # a node
        "8.8.8.8",
        "local.streams.svc",
        "metadata.streams.svc",
        "mapped.streams.svc",
        "amazon.streams.svc",
        "alibaba.streams.svc",
        "foreign.streams.svc",
        "kubelet.streams.svc",
        "agents.gesscale",
        "rebound.example.com",
        "spark.other.svc",
        "prometheus.example.com",
        "a.streams.svc.evil.com",
        "streams",
    ],
)
def test_everything_else_is_forbidden(host):
    with refused("target-not-allowed", FetchError, namespace="streams"):
        resolved(host)


@pytest.mark.parametrize(
    ("allowed", "host", "port", "addresses"),
    [
        ("agents.gesscale:9109", "agents.gesscale", 9109, ["192.168.1.10", "192.168.1.12"]),
        ("prometheus.example.com", "prometheus.example.com", 9090, ["10.9.0.1"]),
        ("10.9.0.0/16", "prometheus.example.com", 9090, ["10.9.0.1"]),
        ("10.9.0.0/16:9090", "10.9.0.1", 9090, ["10.9.0.1"]),
        ("127.0.0.1", "127.0.0.1", 9108, ["127.0.0.1"]),
        ("169.254.169.254", "rebound.example.com", 80, ["169.254.169.254"]),
        ("[fd00:ec2::/32]:80", "amazon.streams.svc", 80, ["fd00:ec2::254"]),
    ],
)
def test_an_administrator_can_allow_more(allowed, host, port, addresses):
    assert resolved(host, port, [allowed]) == addresses


@pytest.mark.parametrize(
    ("allowed", "host", "port"),
    [
        ("agents.gesscale:9109", "agents.gesscale", 10250),
        ("10.9.0.0/16:9090", "10.9.0.1", 9091),
        ("rebound.example.com", "rebound.example.com", 80),  # a name never allows local addresses
        ("prometheus.example.com", "10.9.0.1", 9090),
    ],
)
def test_an_allowed_target_allows_nothing_else(allowed, host, port):
    with refused("target-not-allowed", FetchError):
        resolved(host, port, [allowed])


@pytest.mark.parametrize("text", ["", ":9090", "10.0.0.1/8", "a b", "host:70000", "10.0.0.0/33"])
def test_an_invalid_target_is_refused(text):
    with refused("target-invalid", InputError, place="--allow-target", got=text):
        AllowedTarget.parse(text)
