"""Documents of the page's API: their types, and their conversion from the model.

``docs/reference/json.md`` and its JSON schemas are generated from these types. Times are seconds since the epoch.
Unknown values are null.
"""

import math
from collections.abc import Collection, Mapping, Sequence
from typing import Annotated, Any

from pydantic import Field
from typing_extensions import TypedDict  # pydantic asks for this one before Python 3.12

from gesscale.common.errors import Problem, catalogue
from gesscale.model.decision import Decision
from gesscale.model.document import as_document
from gesscale.model.observation import Batch, OperatorReading
from gesscale.model.order import Order
from gesscale.model.undone_changes import ChangesLastHour
from gesscale.model.workflow import Workflow
from gesscale.monitor.record_files import LATENCY_MAP
from gesscale.plan.settling import longest_stop_s
from gesscale.ports import ClusterState, Latencies, Node
from gesscale.settings import Settings
from latency_map.writing import map_to_matrix

#: Name of the workflow of a settings file, which has no name.
ONLY_WORKFLOW = "workflow"

#: An operator is lagging if at least this share of its recent batches was saturated.
LAGGING_SHARE = 0.5

#: An operator is busy if batches took at least this share of the window.
BUSY_SHARE = 0.7

#: Maximum number of nodes whose delays the page receives; nodes in use come first.
MAX_NODES = 150


def _description(text: str) -> Any:
    return Field(description=text)


class CapacityEstimate(TypedDict):
    """The predicted MST of a placement, rows/s."""

    low: Annotated[float | None, _description("Lower bound with about 90 % confidence.")]
    mid: Annotated[float | None, _description("Best estimate.")]
    high: Annotated[float | None, _description("Upper bound with about 90 % confidence.")]


class OrderCost(TypedDict):
    """Downtime of an order."""

    at_s: Annotated[float, _description("When it was written.")]
    downtime_s: Annotated[float | None, _description("Longest time after it in which rows waited and no batch ran.")]
    first_tasks_s: Annotated[float | None, _description("Time until the first batch on exactly its nodes began.")]


class RecentChanges(TypedDict):
    """Changes of an operator in the hour before an instant."""

    ordered: Annotated[int, _description("Number of changes.")]
    undone: Annotated[int, _description("Those that later changes undid within ten minutes.")]


class RowAgeFigures(TypedDict):
    """Age of the oldest row that is not yet processed, against the objective."""

    seconds: Annotated[float | None, _description("The age; 0 if no row waits.")]
    is_least: Annotated[bool, _description("Whether the row is older than that.")]
    objective_s: Annotated[float, _description("Age from which a row is late.")]
    late_s: Annotated[float | None, _description("Time in which rows were late, since the scaler started.")]
    text: Annotated[str, _description("Age and objective, such as 12s/60s.")]


class DecisionPoint(TypedDict):
    """Summary of a decision."""

    at_s: Annotated[float, _description("When it was made.")]
    operator: Annotated[str, _description("Name of the operator.")]
    policy: Annotated[str, _description("Name of the policy.")]
    state: Annotated[str, _description("lagging, busy, steady, idle or unknown.")]
    verdict: Annotated[str, _description("What the operator needs: More, Fewer, Same or Unknown.")]
    reason: Annotated[str, _description("Reason of the plan, in one CamelCase word.")]
    detail: Annotated[str, _description("Reason of the plan, in a sentence.")]
    acted: Annotated[bool, _description("Whether replicas were started or removed.")]
    outcome: Annotated[str, _description("Result of the plan.")]
    problem: Annotated[str, _description("Error of the change; empty without one.")]
    seconds: Annotated[float | None, _description("Duration of the change.")]
    before: Annotated[list[str], _description("Nodes that hold replicas before the change.")]
    placement: Annotated[list[str], _description("Nodes that hold replicas after the change.")]
    add: Annotated[list[str], _description("Nodes that get a replica.")]
    remove: Annotated[list[str], _description("Nodes that lose their replica.")]
    input_rows_per_s: Annotated[float | None, _description("Offered load.")]
    throughput_rows_per_s: Annotated[float | None, _description("Rows processed per second.")]
    backlog_rows: Annotated[float | None, _description("Rows that are offered but not processed.")]
    row_age: Annotated[RowAgeFigures | None, _description("How old its rows are; null if it was not measured.")]
    saturated_share: Annotated[float | None, _description("Share of the recent batches that were saturated, 0 to 1.")]
    busy_share: Annotated[float | None, _description("Share of the window that batches took, 0 to 1.")]
    cpu_share: Annotated[float | None, _description("CPU utilisation, mean over the replicas, 0 to 1.")]
    mst: Annotated[CapacityEstimate | None, _description("The capacity of `before`, rows/s.")]
    nd_max_ms: Annotated[float | None, _description("NDmax of `before`.")]
    planned_nd_max_ms: Annotated[float | None, _description("NDmax of `placement`.")]
    metrics_age_s: Annotated[float | None, _description("Age of the newest batch.")]
    map_age_s: Annotated[float | None, _description("Age of the latency map.")]
    map_problem: Annotated[
        str, _description("Why the latency map is stale, unavailable or doubtful; empty if it is not.")
    ]
    order: Annotated[OrderCost | None, _description("Newest order of the operator.")]
    changes: Annotated[
        RecentChanges | None, _description("Its changes in the last hour; null for decisions of an earlier process.")
    ]


class OperatorDocument(TypedDict):
    """An operator of a workflow."""

    name: str
    upstream: Annotated[list[str], _description("Operators whose output it reads.")]
    driver_node: Annotated[str, _description("The node of its driver.")]
    min_replicas: int
    max_replicas: int


class WorkflowDocument(TypedDict):
    """Description of a workflow."""

    name: Annotated[str, _description("`namespace/name` on Kubernetes, else `workflow`.")]
    period_s: Annotated[float, _description("Seconds between two steps.")]
    policy: Annotated[str, _description("Name of the policy.")]
    last_step_s: Annotated[float, _description("When its last step ran.")]
    operators: Annotated[list[OperatorDocument], _description("Operators in topological order.")]


class RunningWorkflow(WorkflowDocument):
    """A workflow with its current state."""

    points: Annotated[list[DecisionPoint], _description("The newest point of each operator.")]


class ProblemDocument(TypedDict):
    """A problem of the scaler."""

    code: Annotated[str, _description("Its code in docs/reference/errors.md.")]
    message: Annotated[str, _description("A sentence.")]
    action: Annotated[str, _description("What to do about it.")]


class Head(TypedDict):
    """State of the whole scaler."""

    apiVersion: Annotated[str, _description("gesscale.dev/v1.")]
    version: Annotated[str, _description("Version of gesscale.")]
    build: Annotated[str, _description("Identifies the version of the page.")]
    now_s: Annotated[float, _description("The scaler's clock.")]
    problems: Annotated[list[ProblemDocument], _description("Problems of the scaler itself.")]


class Run(Head):
    """The scaler and its workflows."""

    workflows: list[RunningWorkflow]


class DecisionPoints(TypedDict):
    """Summaries of decisions."""

    points: Annotated[list[DecisionPoint], _description("All kept decisions, oldest first.")]


class StepEvent(TypedDict):
    """Decisions of a step."""

    workflow: str
    points: Annotated[list[DecisionPoint], _description("New decisions, oldest first.")]


class IneligibleNode(TypedDict):
    """A node that can take no replica, with the reason."""

    reason: Annotated[str, _description("One CamelCase word.")]
    detail: Annotated[str, _description("A sentence.")]


class NodesDocument(TypedDict):
    """The nodes of the newest step; null before the first."""

    names: Annotated[list[str], _description("At most 150 nodes of the latency map, those in use first.")]
    rtt_ms: Annotated[list[list[float | None]], _description("The round trip from each to each of `names`.")]
    omitted: Annotated[int, _description("Number of nodes of the map that are not in `names`.")]
    not_in_map: Annotated[list[str], _description("Nodes of the cluster that the map lacks.")]
    ineligible: Annotated[dict[str, IneligibleNode], _description("By node, why it can take no replica.")]
    ineligible_for: Annotated[
        dict[str, dict[str, IneligibleNode]],
        _description("By operator and node, why it can take no replica of this operator."),
    ]
    problem: Annotated[str, _description("Why the cluster could not be read; empty if it was read.")]


class RecordDocument(TypedDict):
    """A record of a workflow without its batches: the kept decisions, and what they depend on."""

    settings: Annotated[dict[str, Any], _description("Settings as in a settings file.")]
    latency_map: Annotated[str, _description("The newest latency map, as CSV in ms; empty without one.")]
    clusters: Annotated[
        list[dict[str, Any]], _description("What the steps saw of the cluster, each state until the next one.")
    ]
    decisions: Annotated[list[dict[str, Any]], _description("All kept decisions, oldest first.")]


def point_of(
    decision: Decision,
    cost: OrderCost | None = None,
    metrics_age_s: float | None = None,
    changes: ChangesLastHour | None = None,
) -> DecisionPoint:
    """Return the summary of a decision for graphs, charts and tables.

    Parameters
    ----------
    cost
        The operator's newest order, see `cost_of`; None without one.
    metrics_age_s
        Age of the operator's newest batch; None without one.
    changes
        Its changes in the last hour; None if unknown.
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
        "row_age": None if decision.row_age is None else as_document(decision.row_age),
        "saturated_share": _figure(reading, "saturated_share"),
        "busy_share": _figure(reading, "busy_share"),
        "cpu_share": _figure(reading, "cpu_share"),
        "mst": None if mst is None else {"low": _finite(mst.low), "mid": _finite(mst.mid), "high": _finite(mst.high)},
        "nd_max_ms": _finite(analysis.nd_max_ms),
        "planned_nd_max_ms": _finite(plan.nd_max_ms),
        "metrics_age_s": metrics_age_s,
        "map_age_s": _finite(latency_map.age_s),
        "map_problem": "; ".join(filter(None, (latency_map.stale, latency_map.problem))),
        "order": cost,
        "changes": None if changes is None else {"ordered": changes.ordered, "undone": changes.undone},
    }


def state_of(reading: OperatorReading | None) -> str:
    """Return lagging, busy, steady or idle; unknown without a reading, or if neither load nor work is known."""
    if reading is None:
        return "unknown"
    if reading.saturated_share >= LAGGING_SHARE:
        return "lagging"
    if reading.busy_share >= BUSY_SHARE:
        return "busy"
    if reading.input_rows_per_s or reading.throughput_rows_per_s:
        return "steady"
    return "unknown" if reading.input_rows_per_s is None else "idle"


def cost_of(order: Order, batches: Sequence[Batch]) -> OrderCost:
    """Return the downtime of an order."""
    at_s, ordered = order.at_s, set(order.placement)
    reaches_back = bool(batches) and batches[0].ended_at_s <= at_s
    first = next(
        (batch for batch in batches if reaches_back and batch.began_s >= at_s and set(batch.nodes) == ordered), None
    )
    downtime_s, first_tasks_s = order.downtime_s, order.first_tasks_s
    if first is not None and order.is_pending:
        downtime_s = longest_stop_s([batch for batch in batches if batch.ended_at_s <= first.ended_at_s], at_s)
        first_tasks_s = first.began_s - at_s
    return {"at_s": at_s, "downtime_s": downtime_s, "first_tasks_s": first_tasks_s}


def workflow_document(
    name: str, workflow: Workflow, *, period_s: float, policy: str, last_step_s: float
) -> WorkflowDocument:
    """Return a workflow for the page's graph.

    Parameters
    ----------
    last_step_s
        When its last step ran, seconds since the epoch.
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


def nodes_document(latencies: Latencies, cluster: ClusterState, used: Collection[str]) -> NodesDocument:
    """Return the nodes, their delays, and why they can take no replica."""
    known = () if latencies.map is None else latencies.map.names
    names = sorted(known, key=lambda node: (node not in used, node))[:MAX_NODES]
    return {
        "names": names,
        "rtt_ms": [] if latencies.map is None else as_document(latencies.map.subset(names).rtt_ms.round(3)),
        "omitted": len(known) - len(names),
        "not_in_map": sorted({*cluster.nodes} - {*known}),
        "ineligible": _ineligible(cluster.nodes) | _outside(names, cluster),
        "ineligible_for": {operator: _ineligible(nodes) for operator, nodes in cluster.ineligible.items()},
        "problem": cluster.problem,
    }


#: Settings that a replay does not use.
_NOT_RECORDED = {"latency_map", "execute", "knowledge"}


def record_document(
    settings: Settings, latencies: Latencies, clusters: list[dict[str, Any]], decisions: list[dict[str, Any]]
) -> RecordDocument:
    """Return the record of a workflow."""
    document = settings.model_dump(mode="json", by_alias=True, exclude_defaults=True, exclude=_NOT_RECORDED)
    return {
        "settings": {**document, "latency_map": {"file": LATENCY_MAP, "unit": "ms", "kind": "rtt", "max_age": None}},
        "latency_map": "" if latencies.map is None else map_to_matrix(latencies.map),
        "clusters": clusters,
        "decisions": decisions,
    }


def problem_document(problem: Problem) -> ProblemDocument:
    """Return a problem with the action of its catalogue entry."""
    entry = catalogue().get(problem.code)
    return {"code": problem.code, "message": str(problem), "action": entry.action if entry else ""}


def _outside(names: Sequence[str], cluster: ClusterState) -> dict[str, IneligibleNode]:
    """Return the nodes of the latency map that the cluster does not have, such as a control plane without a kubelet."""
    absent: IneligibleNode = {"reason": "NotInCluster", "detail": "the cluster has no such node"}
    return {name: absent for name in names if cluster.nodes and name not in cluster.nodes}


def _ineligible(nodes: Mapping[str, Node]) -> dict[str, IneligibleNode]:
    return {name: {"reason": node.reason.value, "detail": node.problem} for name, node in nodes.items() if node.problem}


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


def _figure(reading: OperatorReading | None, name: str) -> float | None:
    return None if reading is None else _finite(getattr(reading, name))
