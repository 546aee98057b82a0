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
        Host(name="n1", address="10.7.0.1", device="ens3"),
        Host(name="n2", address="10.7.0.2", device="ens3"),
    )
    assert read_hosts(file, "ens3", pod_networks=True)[0].networks == ("10.42.0.0/24",)


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
