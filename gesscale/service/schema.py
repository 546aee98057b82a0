"""The form of what the page's API answers: each member's type, and what it is.

``docs/reference/json.md`` and the JSON schemas next to it are written from these types. Times are seconds since the
epoch. What is not known is null.
"""

from typing import Annotated, Any

from pydantic import Field
from typing_extensions import TypedDict  # pydantic asks for this one before Python 3.12


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
    saturated_share: Annotated[
        float | None, _said("Share of the recent batches that were saturated, 0 to 1.")
    ]
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


class Unfit(TypedDict):
    """Why a node can take no replica."""

    reason: Annotated[str, _said("In a word.")]
    detail: Annotated[str, _said("In a sentence.")]


class Nodes(TypedDict):
    """The nodes of the newest step; null before the first."""

    names: Annotated[list[str], _said("Nodes of the latency map, 150 at most, those in use first.")]
    rtt_ms: Annotated[list[list[float | None]], _said("The round trip from each to each of `names`.")]
    left_out: Annotated[int, _said("How many nodes of the map are not in `names`.")]
    not_in_map: Annotated[list[str], _said("Nodes of the cluster that the map lacks.")]
    unfit: Annotated[dict[str, Unfit], _said("By node, why it can take no replica at all.")]
    unfit_for: Annotated[
        dict[str, dict[str, Unfit]], _said("By operator and node, why it can take none of this one.")
    ]
    problem: Annotated[str, _said("Why the cluster could not be read; empty where it could.")]
