"""Rights as manifests and docs state them; service accounts with these rights, and which of them they used."""

import contextlib
import json
import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import yaml
from audited_requests import AuditedRequest
from kubernetes.client import Configuration

from gesscale.kubernetes.api.connection import Connection
from gesscale.kubernetes.api.resources import Resource
from gesscale.kubernetes.controller.controller import Controller, ControllerOptions
from gesscale.kubernetes.controller.targets import AllowedTarget

ROOT = Path(__file__).parents[1]
CONTROLLER_RBAC = ROOT / "deploy" / "k3s" / "controller" / "rbac.yaml"
_REVIEWS = Resource(
    group="authorization.k8s.io", plural="selfsubjectaccessreviews", kind="SelfSubjectAccessReview", namespaced=False
)


@dataclass(frozen=True, kw_only=True)
class Right:
    """A rule of a role: what may be done to which objects."""

    group: str
    target: str
    verbs: tuple[str, ...]
    names: tuple[str, ...] = ()
    own: bool = True


def rights_of(rules: Iterable[dict], *, own: bool = True) -> list[Right]:
    """Return the rules of a role, each of one group and kind."""
    rights = []
    for rule in rules:
        (group,), (target,) = rule["apiGroups"], rule["resources"]
        names, verbs = tuple(rule.get("resourceNames", ())), tuple(rule["verbs"])
        assert set(rule) <= {"apiGroups", "resources", "resourceNames", "verbs"}
        rights.append(Right(group=group, target=target, verbs=verbs, names=names, own=own))
    return rights


def rights_in(manifest: str) -> list[Right]:
    """Return the rights of all roles of a manifest."""
    return [
        right
        for each in yaml.safe_load_all(manifest)
        for right in rights_of(each.get("rules", ()), own=each["kind"] == "Role")
    ]


def controller_rights() -> list[Right]:
    """Return what deploy/k3s gives to the controller."""
    return rights_in(CONTROLLER_RBAC.read_text())


def controller_roles(namespace: str, account: str) -> str:
    """Return deploy/k3s' account and roles of the controller under another name, in another namespace."""
    documents = list(yaml.safe_load_all(CONTROLLER_RBAC.read_text()))
    for each in documents:
        for holder in (each["metadata"], each.get("roleRef", {}), *each.get("subjects", ())):
            holder.update({"name": account} if "name" in holder else {})
            holder.update({"namespace": namespace} if "namespace" in holder else {})
    return yaml.safe_dump_all(documents)


def missing_rights(connection: Connection, rights: Iterable[Right]) -> list[Right]:
    """Ask the API server which verbs of rights a connection's account lacks; return a right for each."""
    return [
        Right(group=right.group, target=right.target, verbs=(verb,), names=right.names, own=right.own)
        for right in rights
        for verb in right.verbs
        if not all(_allowed(connection, right, verb, name) for name in right.names or ("",))
    ]


def _allowed(connection: Connection, right: Right, verb: str, name: str) -> bool:
    plural, _, subresource = right.target.partition("/")
    attributes = {
        "group": right.group,
        "resource": plural,
        "subresource": subresource,
        "verb": verb,
        "name": name,
        "namespace": connection.namespace if right.own else "",
    }
    review = {
        "apiVersion": _REVIEWS.api_version,
        "kind": _REVIEWS.kind,
        "spec": {"resourceAttributes": {key: value for key, value in attributes.items() if value}},
    }
    return bool(connection.create(_REVIEWS, review).get("status", {}).get("allowed"))


def connect_as(cluster, namespace: str, account: str, folder: Path) -> Connection:
    """Return a connection with the rights of a service account."""
    token = cluster.run_kubectl("create", "token", account, "-n", namespace).strip()
    text = cluster.run_kubectl("get", "configmap", "kube-root-ca.crt", "-n", "default", "-o", "json")
    authority = folder / f"{account}.crt"
    authority.write_text(json.loads(text)["data"]["ca.crt"])
    configuration = Configuration(host=cluster.api.url, ssl_ca_cert=str(authority))
    configuration.api_key["BearerToken"] = f"Bearer {token}"
    return Connection(configuration, namespace=namespace, user_agent="gesscale/test")


@contextlib.contextmanager
def controller_as(
    cluster, namespace: str, account: str, folder: Path, *, watched: str | None = None
) -> Iterator[Controller]:
    """Run a controller with the rights of an account, with a lease of its own where it may have one."""
    connection = connect_as(cluster, namespace, account, folder)
    allowed = (AllowedTarget.parse("127.0.0.1"),)
    options = ControllerOptions(namespace=watched, lease_namespace=namespace, allowed_targets=allowed)
    running = Controller(connection, options, version=version("gesscale"))
    thread = threading.Thread(target=running.run, name=account)
    thread.start()
    try:
        yield running
    finally:
        running.stop()
        thread.join(30)
        connection.close()
        assert not thread.is_alive()


def unused(rights: Iterable[Right], asked: Iterable[AuditedRequest], *, own_namespace: str) -> list[str]:
    """Return the verbs of rights that no request needed.

    A right in all namespaces is needed where somebody asks without a namespace, or in another one than its own.
    """
    given = [(right, verb) for right in rights for verb in right.verbs]
    allowed = [request for request in asked if request.allowed]
    return [
        f"{verb} {right.target} {', '.join(right.names)}".strip()
        for right, verb in given
        if not any(_needs(request, right, verb, own_namespace) for request in allowed)
    ]


def _needs(request: AuditedRequest, right: Right, verb: str, own_namespace: str) -> bool:
    if (request.verb, request.group, request.target) != (verb, right.group, right.target):
        return False
    if right.own:
        # The API server names the object of a create in its record only where the path does.
        return request.namespace == own_namespace and (not right.names or request.name in right.names)
    return request.namespace != own_namespace


def refused(asked: Iterable[AuditedRequest]) -> list[str]:
    """Return what was asked for without the right to it."""
    return sorted(f"{each.verb} {each.target} {each.namespace}/{each.name}" for each in asked if not each.allowed)
