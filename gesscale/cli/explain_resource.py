"""``gesscale explain --kubernetes``: decisions from the controller's page, or the last one from the status."""

import http
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.table import Table

from gesscale.cli.decision_table import decision_table
from gesscale.cli.output import stderr_console, table, warn, with_unit
from gesscale.common.errors import Problem
from gesscale.errors import ClusterError, InputError
from gesscale.kubernetes.api.connection import Connection
from gesscale.kubernetes.api.credentials import connect
from gesscale.kubernetes.api.errors import ApiError
from gesscale.kubernetes.api.lease import LEASE_NAME, LEASE_NAMESPACE
from gesscale.kubernetes.api.resources import LEASES, PODS, STREAM_AUTOSCALERS
from gesscale.kubernetes.resource.order import OrderStatus, order_of, past_orders
from gesscale.kubernetes.resource.parts import format_instant, parse_instant_s
from gesscale.service.client import read_page
from gesscale.validation import nearest
from gesscale.wire import group_of

Resource = Mapping[str, Any]
_PAGE = "http://localhost:8080"
_ORDERS = ("at", "replicas", "reason", "outcome", "downtime")


def explain_resources(
    name: str | None,
    limit: int,
    page: str | None,
    *,
    namespace: str | None,
    kubeconfig: Path | None,
    context: str | None,
) -> tuple[Mapping[str, Any], list[Table]]:
    """Return the document and the tables of one StreamAutoscaler, or of all.

    Parameters
    ----------
    limit
        Maximum number of decisions, and of orders, of each.
    page
        Address of the controller's page; None to try that of a port-forward.

    Raises
    ------
    InputError
        If the kubeconfig is unusable, or there is no such resource.
    ClusterError
        If the API server refuses, or the named page does not respond.
    """
    connection = connect(kubeconfig, context)
    try:
        found = resources(connection, name, namespace)
        decisions = [_decisions(each, page, limit) for each in found]
        if not all(decisions):
            _print_hint(connection)
    finally:
        connection.close()
    tables = []
    for resource, made in zip(found, decisions, strict=True):
        shown = made or [last_decision(resource)] if group_of(resource, "status").get("lastDecision") else made
        tables += [*map(decision_table, shown), *_status_tables(resource, limit)]
    listed = [decision for made in decisions for decision in made]
    return {"streamautoscalers": found, "decisions": listed}, tables


def resources(connection: Connection, name: str | None, namespace: str | None) -> Sequence[Resource]:
    """Return the StreamAutoscalers of a namespace or of all, or the one of a name."""
    where = namespace or (connection.namespace if name else None)
    try:
        pages = list(connection.pages(STREAM_AUTOSCALERS, namespace=where))
    except ApiError as error:
        if error.status != http.HTTPStatus.FORBIDDEN:
            raise
        scope = "all namespaces" if where is None else f"namespace {where}"
        raise ClusterError("explain-forbidden", scope=scope, cause=error.fields["cause"]) from error
    found = [item for page in pages for item in page["items"]]
    names = [each["metadata"]["name"] for each in found]
    if name and name not in names:
        raise InputError("resource-missing", namespace=where, name=name, nearest=nearest(name, names))
    if not found:
        warn([Problem("resources-absent", {"scope": f"namespace {where}" if where else "any namespace"})])
    chosen = [each for each in found if name in {None, each["metadata"]["name"]}]
    return sorted(chosen, key=lambda each: (each["metadata"]["namespace"], each["metadata"]["name"]))


def _decisions(resource: Resource, page: str | None, limit: int) -> list[dict[str, Any]]:
    """Return the newest decisions that the page has of a resource, newest first; none if it serves another cluster."""
    metadata, last = resource["metadata"], group_of(group_of(resource, "status"), "lastDecision")
    workflow = f"{metadata['namespace']}/{group_of(resource, 'spec').get('workflow') or metadata['name']}"
    key = {"workflow": workflow, "operator": metadata["name"]}
    try:
        moments_s = [point["at_s"] for point in read_page(page or _PAGE, "points", **key)["points"]]
        if page is None and all(format_instant(each) != last.get("at") for each in moments_s):
            return []
        return [read_page(page or _PAGE, "decision", **key, at_s=each) for each in reversed(moments_s[-limit:])]
    except ClusterError:
        if page is not None:
            raise
        return []


def _print_hint(connection: Connection) -> None:
    """Print on stderr how to open the page of the leader, if it is a pod."""
    space = LEASE_NAMESPACE
    try:
        lease = connection.get(LEASES, LEASE_NAME, namespace=space)
        pod = str(group_of(lease, "spec").get("holderIdentity") or "").partition("_")[0]
        connection.get(PODS, pod or "none", namespace=space)
    except ApiError:
        return
    forward = f"kubectl -n {space} port-forward {pod} 8080"
    stderr_console.print(f"for all figures of the newest decisions, run in another terminal: {forward}")


def last_decision(resource: Resource) -> dict[str, Any]:
    """Return what the status keeps of the last decision, in the form of a decision."""
    status, metadata = group_of(resource, "status"), resource["metadata"]
    last, load, advised, pool, latency_map, row_age = (
        group_of(status, key) for key in ("lastDecision", "load", "recommendation", "nodePool", "latencyMap", "rowAge")
    )
    reading = {
        "input_rows_per_s": load.get("inputRowsPerSecond"),
        "throughput_rows_per_s": load.get("throughputRowsPerSecond"),
        "backlog_rows": load.get("backlogRows"),
        "saturated_share": load.get("saturatedShare"),
        "placement": status.get("placement", ()),
    }
    analysis = {"verdict": "", "reason": "", "detail": "", "headroom_pct": None, "reading": reading, "model": None}
    return {
        "at_s": parse_instant_s(last["at"]),
        "operator": f"{metadata['namespace']}/{metadata['name']}",
        "policy": group_of(group_of(resource, "spec"), "policy").get("name", ""),
        "sentence": last.get("message", ""),
        "analysis": analysis | {"nd_max_ms": status.get("ndMaxMs"), "mst": status.get("mst")},
        "plan": {"placement": (), "rejections": (), "nd_max_ms": advised.get("ndMaxMs"), "mst": None, **advised},
        "outcome": {"status": last.get("outcome", ""), "detail": "", "seconds": None},
        "reason": last.get("reason", ""),
        "latency_map": {"age_s": latency_map.get("ageSeconds"), "problem": latency_map.get("message", "")},
        "row_age": {
            "text": row_age.get("text", ""),
            "late_s": row_age.get("lateSeconds"),
            "seconds": row_age.get("seconds"),
            "objective_s": row_age.get("objectiveSeconds"),
        },
        "ineligible": [
            {"node": node, "reason": each["reason"], "detail": detail.strip(), "others": each["count"] - 1}
            for each in pool.get("rejected", ())
            for node, _, detail in [each.get("message", "").partition(":")]
        ],
    }


def _status_tables(resource: Resource, limit: int) -> Iterator[Table]:
    """Yield the conditions and the newest orders of a resource."""
    status, name = group_of(resource, "status"), resource["metadata"]["name"]
    rows = [
        (each["type"], each["status"], each["reason"], each.get("message", "")) for each in status.get("conditions", ())
    ]
    yield table(f"{name}: conditions", ("condition", "status", "reason", "message"), rows)
    present = order_of(resource)
    orders = [*([(present, "pending")] if present else []), *((each, "superseded") for each in past_orders(status))]
    if orders:
        yield table(f"{name}: last orders", _ORDERS, [_order(*each) for each in orders[:limit]])


def _order(order: OrderStatus, outcome: str) -> tuple[str, ...]:
    before, after = "unknown" if order.before is None else str(order.before), str(len(order.placement))
    if not order.is_pending:
        outcome = "given up" if order.given_up else "settled"
    replicas = after if before == after else f"{before} -> {after}"
    return format_instant(order.at_s), replicas, order.reason, outcome, with_unit(order.downtime_s, "s")
