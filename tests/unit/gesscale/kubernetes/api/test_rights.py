"""The rights that are needed: written into the roles, and asked for one by one."""

import json
import re
import subprocess
from pathlib import Path

import pytest
import yaml
from scripted_api import as_json, refusal

from gesscale.kubernetes.api import ApiError, missing_rights
from gesscale.kubernetes.api.rights import (
    CONTROLLER_RIGHTS,
    FEW_RIGHTS_SETTINGS,
    SPARK_DEFAULT_RIGHTS,
    Scope,
    driver_rights,
    in_words,
)
from gesscale.kubernetes.api.roles import controller_roles, driver_roles, map_command, map_role

ROOT = Path(__file__).parents[5]
RBAC = ROOT / "deploy" / "k3s" / "controller" / "rbac.yaml"


def rules(kind, text):
    (role,) = [each for each in yaml.safe_load_all(text) if each["kind"] == kind]
    return {
        (rule["apiGroups"][0], rule["resources"][0], tuple(rule.get("resourceNames", ()))): rule["verbs"]
        for rule in role["rules"]
    }


def test_the_manifest_is_the_list_of_rights():
    assert RBAC.read_text() == controller_roles()


def test_the_controller_has_no_verb_more_than_it_uses():
    assert rules("ClusterRole", controller_roles()) == {
        ("gesscale.dev", "streamautoscalers", ()): ["list", "watch"],
        ("gesscale.dev", "streamautoscalers/status", ()): ["patch"],
        ("", "nodes", ()): ["list", "watch"],
        ("", "pods", ()): ["list", "watch"],
        ("events.k8s.io", "events", ()): ["create", "patch"],
    }
    assert rules("Role", controller_roles()) == {
        ("coordination.k8s.io", "leases", ()): ["create"],
        ("coordination.k8s.io", "leases", ("gesscale-controller",)): ["get", "update"],
    }


def test_bindings_give_the_roles_to_the_controllers_account_only():
    for each in yaml.safe_load_all(controller_roles("edge", "scaler")):
        assert each["metadata"]["name"] == "scaler"
        assert each["metadata"].get("namespace", "edge") == "edge"
        if each["kind"].endswith("Binding"):
            assert each["roleRef"]["kind"] == each["kind"].removesuffix("Binding")
            assert each["subjects"] == [{"kind": "ServiceAccount", "name": "scaler", "namespace": "edge"}]


def test_a_driver_reads_its_own_streamautoscaler_and_no_other():
    found = rules("Role", driver_roles("taxi", "streams", "taxi-driver"))
    assert found["gesscale.dev", "streamautoscalers", ("taxi",)] == ["get", "watch"]
    assert [key for key in found if key[0] == "gesscale.dev"] == [
        ("gesscale.dev", "streamautoscalers", ("taxi",))
    ]
    assert not any(
        each["kind"].startswith("Cluster") for each in yaml.safe_load_all(driver_roles("a", "b", "c"))
    )


def test_a_driver_runs_pods_and_touches_nothing_else_of_its_namespace():
    # What it may do is needed, all of it: tests/real/kubernetes/test_rights.py.
    assert rules("Role", driver_roles("taxi", "streams", "taxi-driver")) == {
        ("gesscale.dev", "streamautoscalers", ("taxi",)): ["get", "watch"],
        ("", "pods", ()): ["create", "get", "list", "watch", "delete", "deletecollection"],
    }


def test_the_docs_tell_a_drivers_rights_with_and_without_the_settings_that_make_them_few():
    text = (ROOT / "docs" / "spark_on_kubernetes.md").read_text()
    section = text.partition("## Rights of the driver")[2].partition("\n## ")[0]
    few, more = (yaml.safe_load(block) for block in re.findall(r"```yaml\n(.*?)```", section, re.DOTALL))
    for written, needed in ((few["rules"], driver_rights("taxi")), (more, SPARK_DEFAULT_RIGHTS)):
        assert written == [
            {
                "apiGroups": [right.resource.group],
                "resources": [right.target],
                **({"resourceNames": list(right.names)} if right.names else {}),
                "verbs": list(right.verbs),
            }
            for right in needed
        ]
    settings = dict(re.findall(r"^    (spark\.\S+) +(\S+)$", section, re.MULTILINE))
    assert settings == FEW_RIGHTS_SETTINGS


def test_the_owner_of_a_namespace_grants_one_map_and_no_other_config_map():
    manifest = ROOT / "deploy" / "k3s" / "example" / "latency-map.yaml"
    _, about, written = re.split(r"\A((?:#.*\n)+)", manifest.read_text())
    assert "kubectl -n taxi create configmap latency-map" in about
    assert written == map_role("latency-map", "taxi"), "write it anew by gesscale.kubernetes.api.roles"
    role, binding = yaml.safe_load_all(map_role("delays", "taxi"))
    assert role["rules"] == [
        {"apiGroups": [""], "resources": ["configmaps"], "resourceNames": ["delays"], "verbs": ["get"]}
    ]
    assert binding["roleRef"]["name"] == role["metadata"]["name"]
    assert {each["metadata"]["namespace"] for each in (role, binding)} == {"taxi"}
    account = {"kind": "ServiceAccount", "name": "gesscale-controller", "namespace": "gesscale"}
    assert binding["subjects"] == [account]


def test_the_commands_that_grant_a_map_are_single_words_whoever_asks(tmp_path):
    # The user's name is the API server's word; a shell that is given the commands runs kubectl twice and nothing else.
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


def test_every_right_has_its_reason_above_its_rule():
    lines = controller_roles().splitlines()
    reasons = [line.strip() for line in lines if line.startswith("  # ")]
    assert reasons == [
        f"# {right.why}" for scope in Scope for right in CONTROLLER_RIGHTS if right.scope is scope
    ]


def allowing(server, allowed):
    def answer(handler):
        attributes = server.asked[-1].body["spec"]["resourceAttributes"]
        as_json({"status": {"allowed": allowed(attributes)}}, 201)(handler)

    server.says(answer)


def test_each_verb_is_asked_for_where_it_is_needed(server, connection):
    allowing(server, lambda _attributes: True)
    assert missing_rights(connection) == ()
    asked = [each.body["spec"]["resourceAttributes"] for each in server.asked]
    assert len(asked) == sum(len(right.verbs) for right in CONTROLLER_RIGHTS)
    assert {
        "group": "gesscale.dev",
        "version": "v1alpha1",
        "resource": "streamautoscalers",
        "subresource": "status",
        "verb": "patch",
    } in asked
    assert {
        "group": "coordination.k8s.io",
        "version": "v1",
        "resource": "leases",
        "verb": "update",
        "name": "gesscale-controller",
        "namespace": "gesscale",
    } in asked


@pytest.mark.parametrize(
    ("refused", "words"),
    [
        (
            {"subresource": "status"},
            ["patch streamautoscalers/status (gesscale.dev) in all namespaces: its report, and the order"],
        ),
        ({"resource": "nodes", "verb": "watch"}, ["watch nodes: which nodes are ready"]),
        (
            {"resource": "leases"},
            [
                "create leases (coordination.k8s.io) in its own namespace: the Lease",
                "get, update leases (coordination.k8s.io) named gesscale-controller in its own namespace: winning",
            ],
        ),
    ],
)
def test_a_missing_verb_is_named_with_its_reason(server, connection, refused, words):
    allowing(server, lambda attributes: not refused.items() <= attributes.items())
    found = [in_words(right) for right in missing_rights(connection)]
    assert len(found) == len(words)
    assert all(said.startswith(start) for said, start in zip(found, words, strict=True)), json.dumps(found)


def test_a_server_that_does_not_answer_is_no_missing_right(server, connection):
    server.says(refusal(500, "InternalError", "boom"))
    with pytest.raises(ApiError, match="cannot create selfsubjectaccessreviews"):
        missing_rights(connection)
