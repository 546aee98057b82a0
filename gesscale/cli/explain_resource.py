"""Tables of the last decision in the status of a StreamAutoscaler."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from rich.table import Table

from gesscale.cli.output import format_estimate, format_placement, join_nonempty, rate, stderr_console, table, with_unit
from gesscale.errors import InputError
from gesscale.kubernetes.resource.order import OrderStatus, order_of, past_orders
from gesscale.kubernetes.resource.parts import format_instant
from gesscale.kubernetes.resource.status import ModelStatus
from gesscale.model.model_text import model_lines

#: Forwards the page of the leading controller to this machine.
_PORT_FORWARD = (
    "kubectl -n gesscale port-forward "
    "\"$(kubectl -n gesscale get lease gesscale-controller -o jsonpath='{.spec.holderIdentity}' | cut -d_ -f1)\" 8080"
)

_COLUMNS = ("at", "replicas", "reason", "outcome", "downtime")


def print_page_hint() -> None:
    """Print on stderr how to open the controller's page from this machine."""
    stderr_console.print(f"to open the page: {_PORT_FORWARD}\nthen http://localhost:8080 in a browser")


def read_resources(
    name: str | None, *, namespace: str | None, kubeconfig: Path | None, context: str | None
) -> tuple[Mapping[str, Any], ...]:
    """Read StreamAutoscalers.

    Parameters
    ----------
    name
        Name of one; None for all of the namespace, or of all namespaces.

    Raises
    ------
    InputError
        If the kubeconfig is unusable, or there is no such resource.
    ClusterError
        If the API server refuses.
    """
    from gesscale.kubernetes.api.credentials import connect
    from gesscale.kubernetes.api.errors import ApiError
    from gesscale.kubernetes.api.resources import STREAM_AUTOSCALERS

    connection = connect(kubeconfig, context)
    try:
        if name is not None:
            found = [connection.get(STREAM_AUTOSCALERS, name, namespace=namespace or connection.namespace)]
        else:
            pages = connection.pages(STREAM_AUTOSCALERS, namespace=namespace)
            found = [item for page in pages for item in page["items"]]
    except ApiError as error:
        if error.status != 404:
            raise
        where = namespace or connection.namespace
        raise InputError("resource-missing", namespace=where, name=name) from error
    finally:
        connection.close()
    return tuple(sorted(found, key=lambda each: (each["metadata"]["namespace"], each["metadata"]["name"])))


def explanation_tables(resource: Mapping[str, Any]) -> Iterator[Table]:
    """Yield the tables that explain one resource."""
    status = resource.get("status") or {}
    decision = status.get("lastDecision") or {}
    decided = join_nonempty(decision.get("at", ""), decision.get("message", "no decision yet"))
    metadata = resource["metadata"]
    title = f"{metadata['namespace']}/{metadata['name']}: {decided}"
    yield table(title, ("of the status", ""), [row for row in _rows(status, decision) if row[1]])
    present = order_of(resource)
    rows = [_order(order, "superseded") for order in past_orders(status)]
    if present is not None:
        rows.insert(0, _order(present, "pending"))
    if rows:
        yield table(f"{metadata['name']}: last orders", _COLUMNS, rows)


def _rows(status: Mapping[str, Any], decision: Mapping[str, Any]) -> Iterable[tuple[str, str]]:
    load, order, pool = (status.get(key) or {} for key in ("load", "order", "nodePool"))
    advised = status.get("recommendation") or {}
    yield "analysis", join_nonempty(", ".join(filter(None, (decision.get("verdict"), decision.get("reason")))))
    yield "input rate (IR)", rate(load.get("inputRowsPerSecond"))
    yield "throughput (CT)", rate(load.get("throughputRowsPerSecond"))
    yield "backlog", with_unit(load.get("backlogRows"), "rows")
    yield "placement", format_placement(status.get("placement", ()), status.get("ndMaxMs"))
    yield "MST", format_estimate(status.get("mst"))
    yield "model", _model(status.get("model"))
    yield "latency map", _latency_map(status.get("latencyMap") or {})
    yield "recommendation", format_placement(advised.get("placement", ()), advised.get("ndMaxMs"))
    yield "MST recommended", format_estimate(advised.get("mst"))
    yield "order", join_nonempty(order.get("id", ""), ", ".join(order.get("placement", ())))
    yield "outcome", decision.get("outcome", "")
    yield "candidates", with_unit(pool.get("candidates"), "nodes")
    for lost in pool.get("rejected", ()):
        yield f"{lost['count']} not usable", join_nonempty(lost["reason"], lost.get("message", ""))
    for condition in status.get("conditions", ()):
        state = f"{condition['status']} ({condition['reason']})"
        yield condition["type"], join_nonempty(state, condition.get("message", ""))


def _model(model: Mapping[str, Any] | None) -> str:
    if not model:
        return ""
    return "\n".join(model_lines(ModelStatus.model_validate(model).summary()))


def _latency_map(status: Mapping[str, Any]) -> str:
    age_s = status.get("ageSeconds")
    return join_nonempty("" if age_s is None else f"measured {age_s:.0f} s ago", status.get("message", ""))


def _order(order: OrderStatus, outcome: str) -> tuple[str, ...]:
    before = "unknown" if order.before is None else order.before
    if not order.is_pending:
        outcome = "given up" if order.given_up else "settled"
    replicas = f"{before} -> {len(order.placement)}"
    return format_instant(order.at_s), replicas, order.reason, outcome, with_unit(order.downtime_s, "s")
