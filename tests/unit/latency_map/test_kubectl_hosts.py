"""Hosts as ``kubectl get nodes -o json`` prints them."""

import json

import pytest
import yaml

from gesscale.cli.latency_map.hosts import read_hosts
from gesscale.errors import GesscaleError
from latency_map.emulate.hosts import Host


def kubectl(*nodes):
    return {
        "kind": "List",
        "items": [
            {
                "metadata": {"name": name},
                "spec": {"podCIDR": pods[0], "podCIDRs": list(pods)} if pods else {},
                "status": {"addresses": [{"type": kind, "address": address} for kind, address in addresses]},
            }
            for name, addresses, pods in nodes
        ],
    }


TWO = kubectl(
    ("n1", [("Hostname", "n1"), ("InternalIP", "10.0.0.1"), ("InternalIP", "fd00::1")], ["10.42.0.0/24"]),
    ("n2", [("ExternalIP", "192.0.2.2"), ("InternalIP", "10.0.0.2")], []),
)


@pytest.mark.parametrize("written", [json.dumps, yaml.safe_dump], ids=["json", "yaml"])
def test_kubernetes_nodes_are_taken_at_their_internal_address(tmp_path, written):
    file = tmp_path / "nodes"
    file.write_text(written(TWO))
    assert read_hosts(file, "ens3") == (
        Host(name="n1", address="10.0.0.1", device="ens3"),
        Host(name="n2", address="10.0.0.2", device="ens3"),
    )
    assert read_hosts(file, "ens3", pod_networks=True)[0].networks == ("10.42.0.0/24",)


def test_a_host_may_be_named_items(tmp_path):
    file = tmp_path / "hosts.yaml"
    file.write_text("items: 10.0.0.1\n")
    assert read_hosts(file, "eth0") == (Host(name="items", address="10.0.0.1"),)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ({"items": [{"metadata": {}}]}, r"what kubectl get nodes -o json prints: .*metadata.name"),
        (kubectl(("n1", [("Hostname", "n1")], [])), "type InternalIP for node 'n1'"),
        (
            kubectl(("n1", [("InternalIP", "n1.local")], [])),
            "expected an IPv4 or IPv6 address, got 'n1.local'",
        ),
    ],
)
def test_nodes_that_cannot_be_reached_are_named(tmp_path, content, says):
    file = tmp_path / "nodes.json"
    file.write_text(json.dumps(content))
    with pytest.raises((GesscaleError, ValueError), match=says):
        read_hosts(file, "eth0")
