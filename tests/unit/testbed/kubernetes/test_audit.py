"""The API server's record of requests, as tests of rights read it."""

import json

import pytest
import yaml
from accounts import Right, refused, unused
from audited_requests import requests_of

from testbed.kubernetes.control_plane import Files, write_audit_policy

USER = "system:serviceaccount:own:driver"


def event(verb, namespace="own", name="", *, user=USER, allowed=True, **named):
    reason = "authorization.k8s.io/reason"
    return {
        "user": {"username": user},
        "verb": verb,
        "objectRef": {"resource": "pods", "namespace": namespace, "name": name, **named},
        "annotations": {
            "authorization.k8s.io/decision": "allow" if allowed else "forbid",
            reason: "RBAC: allowed by RoleBinding" if allowed else "",
        },
    }


@pytest.fixture
def recorded(tmp_path):
    """Write events as the API server does; return who asked what."""
    files = Files(directory=tmp_path)

    def record(*events, cut_off=""):
        files.audit_log.write_text("".join(f"{json.dumps(each)}\n" for each in events) + cut_off)
        return requests_of(files, "own", "driver")

    return record


def test_only_service_accounts_are_recorded_and_no_contents(tmp_path):
    files = Files(directory=tmp_path)
    write_audit_policy(files)
    rules = yaml.safe_load(files.audit_policy.read_text())["rules"]
    assert rules == [{"level": "Metadata", "userGroups": ["system:serviceaccounts"]}, {"level": "None"}]


def test_one_accounts_requests_are_told_apart_and_a_line_that_is_being_written_is_left(recorded):
    asked = recorded(
        event("list"),
        event("get", user="system:serviceaccount:own:other"),
        {"user": {"username": USER}, "verb": "get", "requestURI": "/version"},  # no object
        cut_off=json.dumps(event("watch")),
    )
    assert [(each.verb, each.target, each.allowed) for each in asked] == [("list", "pods", True)]


def right(*verbs, own=True, names=(), target="pods"):
    return Right(group="", target=target, verbs=verbs, own=own, names=names)


@pytest.mark.parametrize(
    ("given", "done", "left"),
    [
        (right("get", "list"), event("get"), ["list pods"]),
        (right("get"), event("get", allowed=False), ["get pods"]),
        (right("get", target="pods/log"), event("get"), ["get pods/log"]),
        (right("get", target="pods/log"), event("get", subresource="log"), []),
        (right("get", names=("a",)), event("get", name="b"), ["get pods a"]),
        (right("get", names=("a",)), event("get", name="a"), []),
        (right("get"), event("get", apiGroup="metrics.k8s.io"), ["get pods"]),
        (right("list", own=False), event("list"), ["list pods"]),  # a Role would have been enough
        (right("list", own=False), event("list", ""), []),
        (right("get", own=False), event("get", "other"), []),
    ],
)
def test_a_right_is_unused_unless_a_request_needed_it_as_it_is(recorded, given, done, left):
    assert unused([given], recorded(done), own_namespace="own") == left


def test_what_was_refused_is_named(recorded):
    asked = recorded(event("get", name="a", allowed=False), event("list"))
    assert refused(asked) == ["get pods own/a"]
