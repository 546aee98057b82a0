"""Checks of a cluster: API server, rights and life of the controller, labels and pool of each StreamAutoscaler."""

from collections.abc import Iterator
from typing import Any

from gesscale.common.errors import Problem
from gesscale.doctor.check import Check, failed
from gesscale.errors import GesscaleError, InputError
from gesscale.kubernetes.api import resources
from gesscale.kubernetes.api.connection import Connection
from gesscale.kubernetes.api.errors import ApiError, Call
from gesscale.kubernetes.api.lease import LEASE_NAME, LEASE_NAMESPACE
from gesscale.kubernetes.placement.applications import ClusterIndex, find_application
from gesscale.kubernetes.placement.labels import empty_pool
from gesscale.kubernetes.placement.nodes import read_node
from gesscale.kubernetes.placement.pods import read_pod
from gesscale.kubernetes.resource.autoscaler import namespaced_name, read_autoscaler
from gesscale.kubernetes.resource.parts import parse_instant_s
from gesscale.wire import group_of, text_of

CONTROLLER = f"system:serviceaccount:{LEASE_NAMESPACE}:gesscale-controller"
#: Verb, kind, part, namespace and name of what the controller requests; deploy/k3s/controller/rbac.yaml grants them.
RIGHTS = tuple(
    Call(verb=verb, resource=kind, subresource=part, namespace=namespace, name=name)
    for verbs, kind, part, namespace, name in (
        ("list watch", resources.STREAM_AUTOSCALERS, "", None, ""),
        ("list watch", resources.NODES, "", None, ""),
        ("list watch", resources.PODS, "", None, ""),
        ("patch", resources.STREAM_AUTOSCALERS, "status", None, ""),
        ("create patch", resources.EVENTS, "", None, ""),
        ("list", resources.LEASES, "", None, LEASE_NAME),
        ("create", resources.LEASES, "", LEASE_NAMESPACE, ""),
        ("get update", resources.LEASES, "", LEASE_NAMESPACE, LEASE_NAME),
    )
    for verb in verbs.split()
)
#: A controller renews its Lease every few seconds.
_LEASE_OLD_S, _CLOCKS_AGREE_S = 60.0, 2.0


def check_cluster(connection: Connection, namespace: str | None, now_s: float) -> Iterator[Check]:
    """Check a cluster; the API server's errors are results."""
    try:
        found = _listed(connection, resources.STREAM_AUTOSCALERS, namespace)
        yield Check("API server", f"{connection.url}: {len(found)} StreamAutoscalers")
        yield _check_rights(connection)
        yield from _check_controller(connection, now_s)
        nodes = {node.name: node for node in map(read_node, _listed(connection, resources.NODES))}
        pods = {
            f"{pod.namespace}/{pod.name}": pod for pod in map(read_pod, _listed(connection, resources.PODS, namespace))
        }
    except GesscaleError as error:
        yield failed("API server", error.problem)
        return
    for resource in found:
        yield from _check_resource(resource, ClusterIndex(nodes, pods))


def _listed(connection: Connection, kind: resources.Resource, namespace: str | None = None) -> list[dict[str, Any]]:
    return [item for page in connection.pages(kind, namespace=namespace) for item in page["items"]]


def _check_rights(connection: Connection) -> Check:
    try:
        missing = [call.right for call in RIGHTS if not _may(connection, call)]
    except ApiError as error:  # only an administrator may ask for the rights of others
        return failed("rights", error.problem, is_warning=True)
    if missing:
        return failed("rights", Problem("rights-missing", {"account": CONTROLLER, "rights": missing}))
    return Check("rights", f"{CONTROLLER} has all {len(RIGHTS)}")


def _may(connection: Connection, call: Call) -> bool:
    asked = {"verb": call.verb, "group": call.resource.group, "resource": call.resource.plural, "name": call.name}
    asked |= {"subresource": call.subresource, "namespace": call.namespace or ""}
    kind = resources.SUBJECT_REVIEWS
    body = {
        "apiVersion": kind.api_version,
        "kind": kind.kind,
        "spec": {"user": CONTROLLER, "resourceAttributes": asked},
    }
    return group_of(connection.create(kind, body), "status").get("allowed") is True


def _check_controller(connection: Connection, now_s: float) -> Iterator[Check]:
    try:
        spec = group_of(connection.get(resources.LEASES, LEASE_NAME, namespace=LEASE_NAMESPACE), "spec")
    except ApiError as error:
        if not error.not_found:
            raise
        spec = {}
    lease, holder = f"{LEASE_NAMESPACE}/{LEASE_NAME}", text_of(spec, "holderIdentity")
    age_s = now_s - parse_instant_s(text_of(spec, "renewTime")) if holder else float("inf")
    if age_s > _LEASE_OLD_S:
        yield failed("controller", Problem("controller-not-leading", {"lease": lease, "holder": holder or "nobody"}))
    elif age_s < -_CLOCKS_AGREE_S:
        yield failed("controller", Problem("clock-ahead", {"holder": holder, "ahead_s": -age_s}), is_warning=True)
    else:
        yield Check("controller", f"{holder} leads")


def _check_resource(document: dict[str, Any], index: ClusterIndex) -> Iterator[Check]:
    name = "/".join(namespaced_name(document))
    try:
        resource = read_autoscaler(document)
    except InputError as error:
        yield from (failed(name, problem) for problem in error.problems)
        return
    empty, application = empty_pool(resource.spec.node_pool, index.nodes.values()), find_application(resource, index)
    yield failed(f"{name} pool", empty) if empty else Check(f"{name} pool", "has nodes")
    if application.problem is not None:
        yield failed(f"{name} driver", application.problem)
    else:
        yield Check(f"{name} driver", f"{len(application.executors)} executors")
