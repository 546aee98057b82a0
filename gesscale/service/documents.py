"""What the page shows, as JSON: a point for each decision, a workflow, its nodes. Their form: `schema`."""

import math
from collections.abc import Collection, Mapping, Sequence
from itertools import pairwise
from typing import Any

from gesscale.model.document import as_document
from gesscale.model.observation import Batch
from gesscale.model.order import Order
from gesscale.model.workflow import Workflow
from gesscale.ports import ClusterState, Latencies, Node
from gesscale.service.schema import Capacity, Nodes, OrderCost, Point, Unfit, WorkflowDocument

ONLY_WORKFLOW = "workflow"
"""What a workflow is called that comes from settings: these describe one, which has no name."""

LAGGING_SHARE = 0.5
"""An operator lags where at least this share of its recent batches was saturated."""

BUSY_SHARE = 0.7
"""It is busy where at least this share of the window was spent inside batches."""

MOST_NODES = 150
"""Nodes whose delays are sent to a page; a map of more is cut down to those that matter."""


def point_of(
    document: Mapping[str, Any],
    cost: OrderCost | None = None,
    metrics_age_s: float | None = None,
) -> Point:
    """Return a decision in short: what a graph, a chart or a line of a table shows of it.

    Parameters
    ----------
    document
        The decision, as `gesscale.model.document.decision_document` writes it; one of an old record may lack parts.
    cost
        What the operator's newest order cost, as `cost_of` tells it; None where nothing was ordered.
    metrics_age_s
        How old the operator's newest batch was; None where there was none.
    """
    analysis, plan, outcome, latency_map = (
        _part(document, name) for name in ("analysis", "plan", "outcome", "latency_map")
    )
    reading, mst, change = _part(analysis, "reading"), _part(analysis, "mst"), _part(plan, "change")
    placement = _names(plan.get("placement"))
    added, removed = _names(change.get("add")), _names(change.get("remove"))
    return {
        "at_s": document["at_s"],
        "operator": document["operator"],
        "policy": str(document.get("policy", "")),
        "state": state_of(reading),
        "verdict": str(analysis.get("verdict", "")),
        "reason": str(plan.get("reason", "")),
        "detail": str(plan.get("detail") or analysis.get("detail") or ""),
        "acted": document.get("acted") is True,
        "outcome": str(outcome.get("status", "")),
        "problem": str(outcome.get("detail", "")),
        "seconds": _number(outcome.get("seconds")),
        "before": sorted({*placement, *removed} - {*added}),
        "placement": placement,
        "add": added,
        "remove": removed,
        "input_rows_per_s": _number(reading.get("input_rows_per_s")),
        "throughput_rows_per_s": _number(reading.get("throughput_rows_per_s")),
        "backlog_rows": _number(reading.get("backlog_rows")),
        "saturated_share": _number(reading.get("saturated_share")),
        "busy_share": _number(reading.get("busy_share")),
        "mst": _capacity(mst) if mst else None,
        "nd_max_ms": _number(analysis.get("nd_max_ms")),
        "planned_nd_max_ms": _number(plan.get("nd_max_ms")),
        "metrics_age_s": metrics_age_s,
        "map_age_s": _number(latency_map.get("age_s")),
        "map_problem": "; ".join(
            str(latency_map[name]) for name in ("stale", "problem") if latency_map.get(name)
        ),
        "order": cost,
    }


def state_of(reading: Mapping[str, Any]) -> str:
    """Return lagging, busy, waiting or idle; unknown without a reading.

    Parameters
    ----------
    reading
        Of the operator, as a document; empty where there is none.

    Examples
    --------
    >>> state_of({"saturated_share": 1.0, "busy_share": 1.0})
    'lagging'
    >>> state_of({"saturated_share": 0.0, "busy_share": 0.4, "input_rows_per_s": 9.0})
    'waiting'
    """
    busy, saturated = _number(reading.get("busy_share")), _number(reading.get("saturated_share"))
    if busy is None or saturated is None:
        return "unknown"
    if saturated >= LAGGING_SHARE:
        return "lagging"
    if busy >= BUSY_SHARE:
        return "busy"
    rates = (reading.get("input_rows_per_s"), reading.get("throughput_rows_per_s"))
    return "waiting" if any(_number(rate) for rate in rates) else "idle"


def cost_of(order: Order, batches: Sequence[Batch]) -> OrderCost:
    """Return what an order cost.

    Parameters
    ----------
    order
        Its own figures come first, where it has settled.
    batches
        Of the operator, oldest first. Where they do not reach back to the order, they tell nothing of it.

    Returns
    -------
    OrderCost
        The downtime is the longest time between two ends of batches around it. None where not known.
    """
    at_s, ordered = order.at_s, set(order.placement)
    reaches_back = bool(batches) and batches[0].ended_at_s <= at_s
    first = next(
        (
            batch
            for batch in batches
            if reaches_back and batch.ended_at_s - batch.seconds >= at_s and set(batch.nodes) == ordered
        ),
        None,
    )
    downtime_s, first_tasks_s = order.downtime_s, order.first_tasks_s
    if first is not None and order.is_pending:
        ends_s = [batch.ended_at_s for batch in batches]
        downtime_s = max(
            later - before for before, later in pairwise(ends_s) if at_s < later <= first.ended_at_s
        )
        first_tasks_s = first.ended_at_s - first.seconds - at_s
    return {"at_s": at_s, "downtime_s": downtime_s, "first_tasks_s": first_tasks_s}


def workflow_document(
    name: str, workflow: Workflow, *, period_s: float, policy: str, last_step_s: float
) -> WorkflowDocument:
    """Return a workflow as the page's graph needs it.

    Parameters
    ----------
    name
        By which the API knows it: ``namespace/name`` on Kubernetes.
    workflow
        Its operators.
    period_s
        Seconds between two steps.
    policy
        Who decides.
    last_step_s
        When it was stepped last, seconds since the epoch.
    """
    return {
        "name": name,
        "period_s": period_s,
        "policy": policy,
        "last_step_s": last_step_s,
        "operators": [
            {
                "name": each,
                "upstream": list(workflow.upstream(each)),
                "driver_node": workflow.operators[each].driver_node,
                "min_replicas": workflow.operators[each].min_replicas,
                "max_replicas": workflow.operators[each].max_replicas,
            }
            for each in workflow.topological_order
        ],
    }


def nodes_document(latencies: Latencies, cluster: ClusterState, used: Collection[str]) -> Nodes:
    """Return the nodes: their delays, and why they can take no replica.

    Parameters
    ----------
    latencies
        The latency map, if there is one.
    cluster
        The nodes as the cluster knows them.
    used
        Nodes that hold a driver or a replica; they are never cut off.

    Returns
    -------
    Nodes
        A round trip that is not known is None.
    """
    known = () if latencies.map is None else latencies.map.names
    names = sorted(known, key=lambda node: (node not in used, node))[:MOST_NODES]
    return {
        "names": names,
        "rtt_ms": [] if latencies.map is None else as_document(latencies.map.subset(names).rtt_ms.round(3)),
        "left_out": len(known) - len(names),
        "not_in_map": sorted({*cluster.nodes} - {*known}),
        "unfit": _unfit(cluster.nodes),
        "unfit_for": {operator: _unfit(nodes) for operator, nodes in cluster.unfit.items()},
        "problem": cluster.problem,
    }


def _capacity(mst: Mapping[str, Any]) -> Capacity:
    low, mid, high = (_number(mst.get(name)) for name in ("low", "mid", "high"))
    return {"low": low, "mid": mid, "high": high}


def _unfit(nodes: Mapping[str, Node]) -> dict[str, Unfit]:
    return {
        name: {"reason": node.reason.value, "detail": node.problem}
        for name, node in nodes.items()
        if node.problem
    }


def _part(document: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    part = document.get(name)
    return part if isinstance(part, Mapping) else {}


def _names(value: object) -> list[str]:
    return [str(each) for each in value] if isinstance(value, list | tuple) else []


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return value if math.isfinite(value) else None
