"""The rights that are needed: written into the roles, and asked for one by one."""

import json
from pathlib import Path

import pytest
import yaml
from scripted_api import as_json, refusal

from gesscale.kubernetes.api import ApiError, missing_rights
from gesscale.kubernetes.api.rights import CONTROLLER_RIGHTS, Scope, in_words
from gesscale.kubernetes.api.roles import controller_roles, driver_roles

RBAC = Path(__file__).parents[5] / "deploy" / "k3s" / "controller" / "rbac.yaml"


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
        ("", "configmaps", ()): ["get"],
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
