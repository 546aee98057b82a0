"""`gesscale.doctor.cluster` with a scripted API server."""

import json
from pathlib import Path

import pytest
import yaml
from scripted_api import as_json, connection_to, refusal, scripted_api

from gesscale.doctor.cluster import CONTROLLER, RIGHTS, check_cluster
from gesscale.kubernetes.resource.parts import format_instant

NOW_S = 1_795_000_000.0
RBAC = Path(__file__).parents[4] / "deploy" / "k3s" / "controller" / "rbac.yaml"
NODE = {"metadata": {"name": "pi", "labels": {"gesscale.dev/pool": "edge"}}, "status": {}}


def answering(*, denied=(), subject_reviews=True, lease_age_s=3.0, resources=(), pods=()):
    """Return a function that answers each request of the checks."""

    def answer(request):
        kind = request.path.rpartition("/")[2]
        if kind.endswith("subjectaccessreviews"):
            spec = request.body["spec"]
            if "user" in spec and not subject_reviews:
                return refusal(403, "Forbidden", "you cannot create resource")
            return as_json({"status": {"allowed": spec["resourceAttributes"]["resource"] not in denied}})
        if kind == "gesscale-controller":
            if lease_age_s is None:
                return refusal(404, "NotFound", "no lease")
            renewed = format_instant(NOW_S - lease_age_s)
            return as_json({"spec": {"holderIdentity": "pod_1", "renewTime": renewed}})
        listed = {"streamautoscalers": resources, "nodes": [NODE], "pods": pods}[kind]
        return as_json({"items": list(listed), "metadata": {}})

    return answer


def checks(**world):
    with scripted_api() as script:
        answer = answering(**world)
        script.next_answer = answer
        return {each.check: each for each in check_cluster(connection_to(script.url), None, NOW_S)}


def resource(**spec):
    return {"apiVersion": "gesscale.dev/v1alpha1", "kind": "StreamAutoscaler",
            "metadata": {"namespace": "streams", "name": "taxi"}, "spec": spec}  # fmt: skip


def codes_of(found):
    return {name: each.problem.code for name, each in found.items() if each.problem}


def test_a_cluster_in_order_has_no_problem():
    found = checks()
    assert codes_of(found) == {}
    assert set(found) == {"API server", "rights", "controller"}


def test_missing_rights_are_those_of_the_controller():
    problem = checks(denied={"nodes"})["rights"].problem
    assert (problem.code, problem.fields["account"]) == ("rights-missing", CONTROLLER)
    assert problem.fields["rights"] == ["list nodes", "watch nodes"]


def test_without_the_right_to_ask_for_others_their_rights_are_a_warning():
    found = checks(subject_reviews=False)["rights"]
    assert (found.problem.code, found.result) == ("kubernetes-forbidden", "warning")


@pytest.mark.parametrize(
    ("age_s", "code"), [(None, "controller-not-leading"), (61.0, "controller-not-leading"), (59.0, None)]
)
def test_the_controller_lives_while_it_renews_its_lease(age_s, code):
    problem = checks(lease_age_s=age_s)["controller"].problem
    assert (problem.code if problem else None) == code


def test_a_lease_of_the_future_is_a_warning_about_the_clock():
    found = checks(lease_age_s=-10.0)["controller"]
    assert (found.problem.code, found.result) == ("clock-ahead", "warning")


def test_pool_and_driver_of_each_resource_are_checked():
    found = checks(resources=[resource(nodePool={"matchLabels": {"pool": "edge"}})])
    assert codes_of(found) == {"streams/taxi pool": "node-pool-empty", "streams/taxi driver": "driver-pod-missing"}
    found = checks(resources=[resource(nodePool={"matchLabels": {"gesscale.dev/pool": "edge"}})])
    assert codes_of(found) == {"streams/taxi driver": "driver-pod-missing"}


def test_an_invalid_resource_is_reported():
    assert set(codes_of(checks(resources=[resource(maxReplicas="many")]))) == {"streams/taxi"}


def test_an_api_server_that_does_not_know_the_resource_is_one_problem():
    with scripted_api() as script:
        script.next_answer = lambda _: refusal(404, "NotFound", "no such kind")
        (found,) = check_cluster(connection_to(script.url), None, NOW_S)
    assert found.problem.code == "kubernetes-kind-unknown"


def test_the_rights_are_those_of_the_manifests():
    granted = set()
    for document in yaml.safe_load_all(RBAC.read_text("utf-8")):
        for rule in document.get("rules", ()):
            granted |= {
                json.dumps([verb, group, kind, rule.get("resourceNames", [""])[0]])
                for verb in rule["verbs"] for group in rule["apiGroups"] for kind in rule["resources"]
            }  # fmt: skip
    assert {json.dumps([each.verb, each.resource.group, each.target, each.name]) for each in RIGHTS} == granted
