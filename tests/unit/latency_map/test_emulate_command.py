"""``latency-map plan``."""

import json
import os

import pytest
from refusals import codes, refused
from typer.testing import CliRunner

from gesscale.cli.latency_map import app
from gesscale.cli.latency_map.plan import read_hosts
from gesscale.errors import InputError
from latency_map.emulate.hosts import Host

MATRIX = "rtt_ms,a,b,c\na,0,10,25\nb,10,0,\nc,25,,0\n"
FULL = MATRIX.replace("b,10,0,", "b,10,0,300")


HOSTS = "name,address\na,10.9.0.1\nb,10.9.0.2\nc,10.9.0.3\n"


@pytest.fixture
def plan(tmp_path):
    (tmp_path / "map.csv").write_text(FULL)
    hosts = tmp_path / "hosts.csv"

    def invoke(*options, text=HOSTS):
        hosts.write_text(text)
        given = ["--addresses", str(hosts), "--directory", str(tmp_path / "new" / "scripts"), *options]
        return CliRunner().invoke(app, ["plan", str(tmp_path / "map.csv"), "--kind", "rtt", *given])

    return invoke


def test_a_directory_gets_two_scripts_for_each_node(plan, tmp_path):
    folder = tmp_path / "new" / "scripts"
    assert plan("--for", "30m").exit_code == 0
    assert sorted(path.name for path in folder.iterdir()) == [
        f"{action}-{node}.sh" for action in ("apply", "undo") for node in "abc"
    ]
    assert "dev eth0 root handle 6e5: htb" in (folder / "apply-a.sh").read_text()
    assert 'gesscale-timer "$timer" 1800' in (folder / "apply-a.sh").read_text()
    assert all(os.access(path, os.X_OK) for path in folder.iterdir())


@pytest.mark.parametrize(
    ("options", "text", "code"),
    [
        (("--for", "soon"), HOSTS, "duration-option-invalid"),
        ((), HOSTS.replace("10.9.0.3", "c.local"), "ip-address-invalid"),
        ((), HOSTS.removesuffix("c,10.9.0.3\n"), "hosts-incomplete"),
    ],
)
def test_wrong_input_is_an_input_error(plan, options, text, code):
    result = plan(*options, text=text)
    assert isinstance(result.exception, InputError)
    assert result.exception.code == code


def test_with_skip_missing_nodes_without_a_host_are_skipped(plan):
    result = plan("--skip-missing", text=HOSTS.removesuffix("c,10.9.0.3\n"))
    assert result.exit_code == 0
    assert codes(result.stderr) == ["emulation-node-skipped"]


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
    ("n1", [("Hostname", "n1"), ("InternalIP", "10.7.0.1"), ("InternalIP", "fd00::1")], ["10.42.0.0/24"]),
    ("n2", [("ExternalIP", "192.0.2.2"), ("InternalIP", "10.7.0.2")], []),
)


def test_kubernetes_nodes_are_taken_at_their_internal_address(tmp_path):
    file = tmp_path / "nodes"
    file.write_text(json.dumps(TWO))
    assert read_hosts(file, "ens3") == (
        Host(name="n1", address="10.7.0.1", device="ens3", networks=("fd00::1/128",)),
        Host(name="n2", address="10.7.0.2", device="ens3"),
    )
    assert read_hosts(file, "ens3", pod_networks=True)[0].networks == ("fd00::1/128", "10.42.0.0/24")


def test_packets_go_to_every_address_of_a_node_that_flannel_or_kubernetes_uses(tmp_path):
    """The form of k3s with two stacks, IPv6 first, and a node behind a router (k3s-io/k3s#8794, #12060)."""
    two = kubectl(
        ("n1", [("InternalIP", "fda5::10"), ("InternalIP", "10.3.1.10")], []), ("n2", [("InternalIP", "10.3.1.30")], [])
    )
    flannel = "flannel.alpha.coreos.com"
    two["items"][0]["metadata"]["annotations"] = {
        f"{flannel}/public-ip": "10.3.1.10",
        f"{flannel}/backend-type": "vxlan",
    }
    two["items"][1]["metadata"]["annotations"] = {
        f"{flannel}/public-ip": "10.3.1.30",
        f"{flannel}/public-ip-overwrite": "203.0.113.30",
        f"{flannel}/public-ipv6": "fda5::30",
        f"{flannel}/public-ipv6-overwrite": "2001:db8::30",
    }
    two["items"][1]["spec"] = {"podCIDR": "10.42.2.0/24"}
    file = tmp_path / "nodes.json"
    file.write_text(json.dumps(two))
    first, second = (set(host.destinations) for host in read_hosts(file, "eth0", pod_networks=True))
    assert first == {"fda5::10/128", "10.3.1.10/32"}
    assert second == {*("10.3.1.30/32", "203.0.113.30/32", "fda5::30/128", "2001:db8::30/128"), "10.42.2.0/24"}


def test_halves_of_one_way_delays_that_differ_are_warned_of(plan, tmp_path):
    one_way = "one_way_ms,a,b,c\na,0,5,7\nb,45,0,7\nc,7,7,0\n"
    (tmp_path / "one-way.csv").write_text(one_way)
    (tmp_path / "hosts.csv").write_text(HOSTS)
    given = ["--addresses", str(tmp_path / "hosts.csv"), "--directory", str(tmp_path / "scripts")]
    result = CliRunner().invoke(app, ["plan", str(tmp_path / "one-way.csv"), *given])
    assert result.exit_code == 0
    assert "emulation-directions-halved" in codes(result.stderr)
    # 5 ms there and 45 ms back are 50 ms, 25 ms each way
    assert "delay 25000us" in (tmp_path / "scripts" / "apply-a.sh").read_text()
    assert "emulation-directions-halved" not in codes(plan().stderr)


@pytest.mark.parametrize(
    ("content", "code", "fields"),
    [
        ({"kind": "Node"}, "kubectl-nodes-invalid", {}),
        ({"items": [{"metadata": {}}]}, "kubectl-nodes-invalid", {}),
        (kubectl(("n1", [("Hostname", "n1")], [])), "kubectl-address-missing", {"node": "n1"}),
        (kubectl(("n1", [("InternalIP", "n1.local")], [])), "ip-address-invalid", {"address": "n1.local"}),
    ],
)
def test_nodes_that_cannot_be_reached_are_named(tmp_path, content, code, fields):
    file = tmp_path / "nodes.json"
    file.write_text(json.dumps(content))
    with refused(code, InputError, **fields):
        read_hosts(file, "eth0")
