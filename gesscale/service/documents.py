"""What the page's API answers: the form of each document, and how it comes of the model.

``docs/reference/json.md`` and the JSON schemas next to it are written from these types. Times are seconds since the
epoch. What is not known is null.
"""

import math
from collections.abc import Collection, Mapping, Sequence
from itertools import pairwise
from typing import Annotated, Any

from pydantic import Field
from typing_extensions import TypedDict  # pydantic asks for this one before Python 3.12

from gesscale.model.decision import Decision
from gesscale.model.document import as_document
from gesscale.model.observation import Batch, OperatorReading
from gesscale.model.order import Order
from gesscale.model.workflow import Workflow
from gesscale.ports import ClusterState, Latencies, Node

#: What a workflow is called that comes from settings: these describe one, which has no name.
ONLY_WORKFLOW = "workflow"

#: An operator lags where at least this share of its recent batches was saturated.
LAGGING_SHARE = 0.5

#: It is busy where at least this share of the window was spent inside batches.
BUSY_SHARE = 0.7

#: Nodes whose delays are sent to a page; a map of more is cut down to those that matter.
MOST_NODES = 150


def _said(text: str) -> Any:
    return Field(description=text)


class Capacity(TypedDict):
    """The predicted MST of a placement, rows/s."""

    low: Annotated[float | None, _said("With about 90 % confidence it is not below this.")]
    mid: Annotated[float | None, _said("The best guess.")]
    high: Annotated[float | None, _said("With about 90 % confidence it is not above this.")]


class OrderCost(TypedDict):
    """What an order cost."""

    at_s: Annotated[float, _said("When it was given.")]
    downtime_s: Annotated[float | None, _said("The longest time without a finished batch around it.")]
    first_tasks_s: Annotated[float | None, _said("Until the first batch on just its nodes began.")]


class Point(TypedDict):
    """A decision in short."""

    at_s: Annotated[float, _said("When it was made.")]
    operator: Annotated[str, _said("Whose it is.")]
    policy: Annotated[str, _said("Who made it.")]
    state: Annotated[str, _said("lagging, busy, waiting, idle or unknown.")]
    verdict: Annotated[str, _said("What the operator needs: More, Fewer, Same or Unknown.")]
    reason: Annotated[str, _said("Why this plan, in a word.")]
    detail: Annotated[str, _said("Why this plan, in a sentence.")]
    acted: Annotated[bool, _said("Whether replicas were started or removed.")]
    outcome: Annotated[str, _said("What became of the plan.")]
    problem: Annotated[str, _said("What went wrong; empty where nothing did.")]
    seconds: Annotated[float | None, _said("How long the change took.")]
    before: Annotated[list[str], _said("Nodes that held replicas.")]
    placement: Annotated[list[str], _said("Nodes that are to hold them.")]
    add: Annotated[list[str], _said("Nodes that get a replica.")]
    remove: Annotated[list[str], _said("Nodes that lose theirs.")]
    input_rows_per_s: Annotated[float | None, _said("The load.")]
    throughput_rows_per_s: Annotated[float | None, _said("Rows processed per second.")]
    backlog_rows: Annotated[float | None, _said("Rows offered and not processed.")]
    saturated_share: Annotated[float | None, _said("Share of the recent batches that were saturated, 0 to 1.")]
    busy_share: Annotated[float | None, _said("Share of the window that was spent inside batches, 0 to 1.")]
    mst: Annotated[Capacity | None, _said("The capacity of `before`, rows/s.")]
    nd_max_ms: Annotated[float | None, _said("NDmax of `before`.")]
    planned_nd_max_ms: Annotated[float | None, _said("NDmax of `placement`.")]
    metrics_age_s: Annotated[float | None, _said("How old the newest batch was then.")]
    map_age_s: Annotated[float | None, _said("How old the latency map was then.")]
    map_problem: Annotated[str, _said("Why the latency map could not be relied on; empty where it could.")]
    order: Annotated[OrderCost | None, _said("What the operator's newest order cost.")]


class OperatorDocument(TypedDict):
    """An operator of a workflow."""

    name: str
    upstream: Annotated[list[str], _said("Operators whose output it reads.")]
    driver_node: Annotated[str, _said("The node of its driver.")]
    min_replicas: int
    max_replicas: int


class WorkflowDocument(TypedDict):
    """A workflow as it was described to the scaler."""

    name: Annotated[str, _said("`namespace/name` on Kubernetes, else `workflow`.")]
    period_s: Annotated[float, _said("Seconds between two steps.")]
    policy: Annotated[str, _said("Who decides.")]
    last_step_s: Annotated[float, _said("When it was stepped last.")]
    operators: Annotated[list[OperatorDocument], _said("Each after those that feed it.")]


class RunningWorkflow(WorkflowDocument):
    """A workflow, and how it is."""

    points: Annotated[list[Point], _said("The newest point of each operator.")]


class Head(TypedDict):
    """What is true of the scaler as a whole."""

    apiVersion: Annotated[str, _said("gesscale.dev/v1.")]
    version: Annotated[str, _said("Of gesscale.")]
    build: Annotated[str, _said("Tells one version of the page from another.")]
    now_s: Annotated[float, _said("The scaler's clock.")]
    problems: Annotated[list[str], _said("What is wrong with the scaler itself, in sentences.")]


class Run(Head):
    """The scaler and its workflows."""

    workflows: list[RunningWorkflow]


class Points(TypedDict):
    """Decisions in short."""

    points: Annotated[list[Point], _said("All that are kept, oldest first.")]


class Step(TypedDict):
    """What a step brought."""

    workflow: str
    points: Annotated[list[Point], _said("What is new, oldest first.")]


class IneligibleNode(TypedDict):
    """Why a node can take no replica."""

    reason: Annotated[str, _said("In a word.")]
    detail: Annotated[str, _said("In a sentence.")]


class Nodes(TypedDict):
    """The nodes of the newest step; null before the first."""

    names: Annotated[list[str], _said("Nodes of the latency map, 150 at most, those in use first.")]
    rtt_ms: Annotated[list[list[float | None]], _said("The round trip from each to each of `names`.")]
    left_out: Annotated[int, _said("How many nodes of the map are not in `names`.")]
    not_in_map: Annotated[list[str], _said("Nodes of the cluster that the map lacks.")]
    ineligible: Annotated[dict[str, IneligibleNode], _said("By node, why it can take no replica at all.")]
    ineligible_for: Annotated[
        dict[str, dict[str, IneligibleNode]], _said("By operator and node, why it can take none of this one.")
    ]
    problem: Annotated[str, _said("Why the cluster could not be read; empty where it could.")]


def point_of(decision: Decision, cost: OrderCost | None = None, metrics_age_s: float | None = None) -> Point:
    """Return a decision in short: what a graph, a chart or a line of a table shows of it.

    Parameters
    ----------
    cost
        What the operator's newest order cost, as `cost_of` tells it; None where nothing was ordered.
    metrics_age_s
        How old the operator's newest batch was; None where there was none.
    """
    analysis, plan, outcome, latency_map = (decision.analysis, decision.plan, decision.outcome, decision.latency_map)
    reading, mst, change = analysis.reading, analysis.mst, plan.change
    return {
        "at_s": decision.at_s,
        "operator": decision.operator,
        "policy": decision.policy,
        "state": state_of(reading),
        "verdict": analysis.verdict.value,
        "reason": plan.reason.value,
        "detail": plan.detail or analysis.detail,
        "acted": decision.acted,
        "outcome": outcome.status.value,
        "problem": outcome.detail,
        "seconds": _finite(outcome.seconds),
        "before": list(plan.before),
        "placement": list(plan.placement),
        "add": list(change.add) if change else [],
        "remove": list(change.remove) if change else [],
        "input_rows_per_s": _figure(reading, "input_rows_per_s"),
        "throughput_rows_per_s": _figure(reading, "throughput_rows_per_s"),
        "backlog_rows": _figure(reading, "backlog_rows"),
        "saturated_share": _figure(reading, "saturated_share"),
        "busy_share": _figure(reading, "busy_share"),
        "mst": None if mst is None else {"low": _finite(mst.low), "mid": _finite(mst.mid), "high": _finite(mst.high)},
        "nd_max_ms": _finite(analysis.nd_max_ms),
        "planned_nd_max_ms": _finite(plan.nd_max_ms),
        "metrics_age_s": metrics_age_s,
        "map_age_s": _finite(latency_map.age_s),
        "map_problem": "; ".join(filter(None, (latency_map.stale, latency_map.problem))),
        "order": cost,
    }


def state_of(reading: OperatorReading | None) -> str:
    """Return lagging, busy, waiting or idle; unknown without a reading."""
    if reading is None:
        return "unknown"
    if reading.saturated_share >= LAGGING_SHARE:
        return "lagging"
    if reading.busy_share >= BUSY_SHARE:
        return "busy"
    return "waiting" if reading.input_rows_per_s or reading.throughput_rows_per_s else "idle"


def cost_of(order: Order, batches: Sequence[Batch]) -> OrderCost:
    """Return what an order cost."""
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
        downtime_s = max(later - before for before, later in pairwise(ends_s) if at_s < later <= first.ended_at_s)
        first_tasks_s = first.ended_at_s - first.seconds - at_s
    return {"at_s": at_s, "downtime_s": downtime_s, "first_tasks_s": first_tasks_s}


def workflow_document(
    name: str, workflow: Workflow, *, period_s: float, policy: str, last_step_s: float
) -> WorkflowDocument:
    """Return a workflow as the page's graph needs it.

    Parameters
    ----------
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
    """Return the nodes: their delays, and why they can take no replica."""
    known = () if latencies.map is None else latencies.map.names
    names = sorted(known, key=lambda node: (node not in used, node))[:MOST_NODES]
    return {
        "names": names,
        "rtt_ms": [] if latencies.map is None else as_document(latencies.map.subset(names).rtt_ms.round(3)),
        "left_out": len(known) - len(names),
        "not_in_map": sorted({*cluster.nodes} - {*known}),
        "ineligible": _ineligible(cluster.nodes),
        "ineligible_for": {operator: _ineligible(nodes) for operator, nodes in cluster.ineligible.items()},
        "problem": cluster.problem,
    }


def _ineligible(nodes: Mapping[str, Node]) -> dict[str, IneligibleNode]:
    return {name: {"reason": node.reason.value, "detail": node.problem} for name, node in nodes.items() if node.problem}


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


def _figure(reading: OperatorReading | None, name: str) -> float | None:
    return None if reading is None else _finite(getattr(reading, name))
