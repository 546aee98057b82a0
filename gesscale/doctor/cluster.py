"""Checks of a cluster: API server, rights and life of the controller, labels and pool of each StreamAutoscaler."""

from collections.abc import Iterator
from typing import Any

from gesscale.common.errors import Problem
from gesscale.doctor.check import Check, failed
from gesscale.errors import GesscaleError, InputError
from gesscale.kubernetes.api.connection import Connection
from gesscale.kubernetes.api.errors import ApiError, Call
from gesscale.kubernetes.api.lease import LEASE_NAME, LEASE_NAMESPACE
from gesscale.kubernetes.api.resources import (
    EVENTS,
    LEASES,
    NODES,
    PODS,
    SELF_REVIEWS,
    STREAM_AUTOSCALERS,
    SUBJECT_REVIEWS,
)
from gesscale.kubernetes.placement.applications import ClusterIndex, find_application
from gesscale.kubernetes.placement.labels import empty_pool
from gesscale.kubernetes.placement.nodes import read_node
from gesscale.kubernetes.placement.pods import read_pod
from gesscale.kubernetes.placement.room import selects
from gesscale.kubernetes.resource.autoscaler import namespaced_name, read_autoscaler
from gesscale.kubernetes.resource.parts import parse_instant_s
from gesscale.wire import group_of, text_of

CONTROLLER = f"system:serviceaccount:{LEASE_NAMESPACE}:gesscale-controller"
#: What the controller requests, as deploy/k3s/controller/rbac.yaml grants it.
RIGHTS = (
    *(Call(verb=verb, resource=kind) for kind in (STREAM_AUTOSCALERS, NODES, PODS) for verb in ("list", "watch")),
    Call(verb="patch", resource=STREAM_AUTOSCALERS, subresource="status"),
    Call(verb="list", resource=LEASES, name=LEASE_NAME),
    *(Call(verb=verb, resource=EVENTS) for verb in ("create", "patch")),
    Call(verb="create", resource=LEASES, namespace=LEASE_NAMESPACE),
    *(Call(verb=verb, resource=LEASES, namespace=LEASE_NAMESPACE, name=LEASE_NAME) for verb in ("get", "update")),
)
#: A controller renews its Lease every few seconds.
_LEASE_OLD_S, _CLOCKS_AGREE_S = 60.0, 2.0


def check_cluster(connection: Connection, namespace: str | None, now_s: float) -> Iterator[Check]:
    """Check a cluster; the API server's errors are results."""
    try:
        resources = _listed(connection, STREAM_AUTOSCALERS, namespace)
    except ApiError as error:
        yield failed(f"API server {connection.url}", error.problem)
        return
    yield Check(f"API server {connection.url}", f"{len(resources)} StreamAutoscalers")
    try:
        yield _check_rights(connection)
        yield from _check_controller(connection, now_s)
        nodes = {node.name: node for node in map(read_node, _listed(connection, NODES))}
        pods = {f"{pod.namespace}/{pod.name}": pod for pod in map(read_pod, _listed(connection, PODS, namespace))}
    except GesscaleError as error:
        yield failed("cluster", error.problem)
        return
    for resource in resources:
        yield from _check_resource(resource, ClusterIndex(nodes, pods))


def _listed(connection: Connection, kind: Any, namespace: str | None = None) -> list[dict[str, Any]]:
    return [item for page in connection.pages(kind, namespace=namespace) for item in page["items"]]


def _check_rights(connection: Connection) -> Check:
    """Check the rights of the controller's account, or of one's own if those of others may not be asked for."""
    try:
        missing, account = [call.right for call in RIGHTS if not _may(connection, call, CONTROLLER)], CONTROLLER
    except ApiError as error:
        if error.status != 403:
            raise
        missing, account = [call.right for call in RIGHTS if not _may(connection, call, "")], "this account"
    if missing:
        return failed("rights", Problem("rights-missing", {"account": account, "rights": missing}))
    return Check("rights", f"{account} has all {len(RIGHTS)}")


def _may(connection: Connection, call: Call, user: str) -> bool:
    attributes = {
        "verb": call.verb,
        "group": call.resource.group,
        "resource": call.resource.plural,
        "subresource": call.subresource,
        "namespace": call.namespace or "",
        "name": call.name,
    }
    kind = SUBJECT_REVIEWS if user else SELF_REVIEWS
    spec = {"resourceAttributes": attributes, **({"user": user} if user else {})}
    answer = connection.create(kind, {"apiVersion": kind.api_version, "kind": kind.kind, "spec": spec})
    return group_of(answer, "status").get("allowed") is True


def _check_controller(connection: Connection, now_s: float) -> Iterator[Check]:
    name = f"{LEASE_NAMESPACE}/{LEASE_NAME}"
    try:
        spec = group_of(connection.get(LEASES, LEASE_NAME, namespace=LEASE_NAMESPACE), "spec")
    except ApiError as error:
        if not error.not_found:
            raise
        yield failed("controller", Problem("controller-lease-missing", {"lease": name}))
        return
    holder, age_s = text_of(spec, "holderIdentity"), now_s - parse_instant_s(text_of(spec, "renewTime"))
    if not holder or age_s > _LEASE_OLD_S:
        yield failed("controller", Problem("controller-not-leading", {"lease": name, "age_s": age_s}))
    else:
        yield Check("controller", f"{holder} leads")
    if age_s < -_CLOCKS_AGREE_S:
        yield failed("clock", Problem("clock-ahead", {"holder": holder, "ahead_s": -age_s}), is_warning=True)


def _check_resource(document: dict[str, Any], index: ClusterIndex) -> Iterator[Check]:
    subject = "/".join(namespaced_name(document))
    try:
        resource = read_autoscaler(document)
    except InputError as error:
        yield from (failed(subject, problem) for problem in error.problems)
        return
    pool = resource.spec.node_pool
    if problem := empty_pool(pool, index.nodes.values()):
        yield failed(f"{subject} pool", problem)
    else:
        yield Check(f"{subject} pool", f"{sum(selects(pool, each.labels) for each in index.nodes.values())} nodes")
    application = find_application(resource, index)
    if application.problem is not None:
        yield failed(f"{subject} driver", application.problem)
    else:
        driver = application.driver.name if application.driver else "outside the cluster"
        yield Check(f"{subject} driver", f"{driver}, {len(application.executors)} executors")
