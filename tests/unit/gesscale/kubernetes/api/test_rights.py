"""Rights granted by deploy/k3s, docs and test bed; tests/real/kubernetes/test_rights.py shows that they are needed."""

import subprocess

import yaml
from accounts import CONTROLLER_RBAC as RBAC
from accounts import ROOT, controller_roles, rights_of

from gesscale.kubernetes.controller.latencies import map_command
from testbed.kubernetes.kubectl import driver_account

DRIVER = {
    ("gesscale.dev", "streamautoscalers", ("taxi",)): ["get", "watch"],
    ("", "pods", ()): ["create", "get", "list", "watch", "delete", "deletecollection"],
}


def by_target(rules):
    return {(each.group, each.target, each.names): list(each.verbs) for each in rights_of(rules)}


def rules(kind, text):
    (role,) = [each for each in yaml.safe_load_all(text) if each["kind"] == kind]
    return by_target(role["rules"])


def test_the_controller_has_only_the_verbs_that_it_uses():
    assert rules("ClusterRole", RBAC.read_text()) == {
        ("gesscale.dev", "streamautoscalers", ()): ["list", "watch"],
        ("gesscale.dev", "streamautoscalers/status", ()): ["patch"],
        ("", "nodes", ()): ["list", "watch"],
        ("", "pods", ()): ["list", "watch"],
        ("coordination.k8s.io", "leases", ("gesscale-controller",)): ["list"],
        ("", "events", ()): ["create", "patch"],
    }
    assert rules("Role", RBAC.read_text()) == {
        ("coordination.k8s.io", "leases", ()): ["create"],
        ("coordination.k8s.io", "leases", ("gesscale-controller",)): ["get", "update"],
    }


def test_bindings_give_the_roles_to_the_controllers_account_only():
    assert list(yaml.safe_load_all(controller_roles("gesscale", "gesscale-controller"))) == list(
        yaml.safe_load_all(RBAC.read_text())
    )
    for each in yaml.safe_load_all(controller_roles("edge", "scaler")):
        assert each["metadata"]["name"] == "scaler"
        assert each["metadata"].get("namespace", "edge") == "edge"
        if each["kind"].endswith("Binding"):
            assert each["roleRef"]["kind"] == each["kind"].removesuffix("Binding")
            assert each["subjects"] == [{"kind": "ServiceAccount", "name": "scaler", "namespace": "edge"}]


def test_a_driver_may_read_its_resource_and_run_pods_only():
    account, role, binding = yaml.safe_load(driver_account("taxi", "taxi-driver"))["items"]
    assert by_target(role["rules"]) == DRIVER
    assert {each["metadata"]["name"] for each in (account, role, binding)} == {"taxi-driver"}
    assert binding["roleRef"]["name"] == "taxi-driver"
    assert binding["subjects"] == [{"kind": "ServiceAccount", "name": "taxi-driver"}]


def test_the_grant_of_a_map_covers_one_config_map():
    manifest = ROOT / "deploy" / "k3s" / "example" / "latency-map.yaml"
    assert "kubectl -n taxi create configmap latency-map" in manifest.read_text()
    role, binding = yaml.safe_load_all(manifest.read_text())
    assert by_target(role["rules"]) == {("", "configmaps", ("latency-map",)): ["get"]}
    assert binding["roleRef"]["name"] == role["metadata"]["name"]
    assert {each["metadata"]["namespace"] for each in (role, binding)} == {"taxi"}
    account = {"kind": "ServiceAccount", "name": "gesscale-controller", "namespace": "gesscale"}
    assert binding["subjects"] == [account]


def test_the_commands_that_grant_a_map_are_quoted(tmp_path):
    # The user name comes from the API server; a shell that runs the commands must run kubectl twice and nothing else.
    stub = tmp_path / "kubectl"
    stub.write_text('#!/bin/sh\nprintf "%s\\n" "$@" -- >> "$OUT"\n')
    stub.chmod(0o755)
    hostile = "anne'; touch PWNED; $(touch PWNED)"
    done = subprocess.run(
        ("sh", "-c", map_command("delays", "taxi", hostile)),
        cwd=tmp_path, env={"PATH": f"{tmp_path}:/usr/bin:/bin", "OUT": str(tmp_path / "out")}, timeout=30, check=False,
    )  # fmt: skip
    assert done.returncode == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["kubectl", "out"]
    role, binding, rest = (tmp_path / "out").read_text().split("--\n")
    assert role.split() == [
        "-n", "taxi", "create", "role", "read-delays", "--verb=get", "--resource=configmaps",
        "--resource-name=delays",
    ]  # fmt: skip
    assert binding.splitlines()[-1] == f"--user={hostile}"
    assert rest == ""
