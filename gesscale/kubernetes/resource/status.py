"""The ``status`` of a StreamAutoscaler: figures rounded, absent rather than null."""

import math
from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, Field, StringConstraints

from gesscale.common.text import cut_at_word
from gesscale.kubernetes.resource.memory import MemoryStatus
from gesscale.kubernetes.resource.order import MAX_HISTORY, OrderStatus
from gesscale.kubernetes.resource.parts import MAX_LISTED_NODES, Moment, NodeName, Reported

MAX_REJECTED = 16
MAX_MESSAGE_CHARS = 1024
_DIGITS = 3


def rounded(value: float) -> float:
    """Round to three significant digits: smaller changes are noise and not worth a write.

    Examples
    --------
    >>> rounded(1234.5), rounded(0.012345), rounded(0.0)
    (1230.0, 0.0123, 0.0)
    """
    return float(f"{value:.{_DIGITS}g}")


def _at_most(chars: int) -> BeforeValidator:
    return BeforeValidator(lambda value: cut_at_word(value, chars) if isinstance(value, str) else value)


def _finite(value: object) -> object:
    return None if isinstance(value, float) and not math.isfinite(value) else value


Figure = Annotated[float, AfterValidator(rounded)]
#: Absent if it is no number.
OptionalFigure = Annotated[Figure | None, BeforeValidator(_finite)]
Word = Annotated[str, _at_most(64), StringConstraints(max_length=64)]
Sentence = Annotated[str, _at_most(MAX_MESSAGE_CHARS), StringConstraints(max_length=MAX_MESSAGE_CHARS)]
Placement = Annotated[tuple[NodeName, ...], Field(max_length=MAX_LISTED_NODES)]


class DriverStatus(Reported):
    """The Spark driver."""

    pod: str | None = Field(None, max_length=253, description="Its pod; absent for a driver outside the cluster.")
    node: NodeName | None = Field(None, description="Its node.")


class RejectedStatus(Reported):
    """Ineligible nodes, for one reason."""

    reason: Word = Field(description="Reason, one CamelCase word.")
    count: int = Field(ge=1, description="Number of nodes.")
    message: Sentence = Field("", description="One of them, with the cause.")


class NodePoolStatus(Reported):
    """Nodes for one more executor."""

    nodes: int = Field(0, ge=0, description="Number of nodes in the pool; each holds at most one executor.")
    candidates: int = Field(ge=0, description="Number of eligible nodes.")
    rejected: tuple[RejectedStatus, ...] = Field(
        (),
        max_length=MAX_REJECTED,
        json_schema_extra={"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["reason"]},
        description="Ineligible nodes, by reason.",
    )


class EstimateStatus(Reported):
    """A predicted MST, rows per second, with an interval of about 90 % confidence."""

    low: Figure = Field(ge=0, description="Rows per second.")
    mid: Figure = Field(ge=0, description="Rows per second.")
    high: Figure = Field(ge=0, description="Rows per second.")
    reason: Word = Field("", description="Quality of the estimate, such as extrapolated.")


class LoadStatus(Reported):
    """Load of the operator over the last window."""

    input_rows_per_s: OptionalFigure = Field(
        None, alias="inputRowsPerSecond", description="Rows offered; absent if no source reports them."
    )
    throughput_rows_per_s: OptionalFigure = Field(None, alias="throughputRowsPerSecond", description="Rows processed.")
    backlog_rows: OptionalFigure = Field(None, description="Rows offered and not yet processed.")
    busy_share: OptionalFigure = Field(None, description="Share of the window spent in batches, 0..1.")
    saturated_share: OptionalFigure = Field(
        None, description="Share of the window's batches that were saturated, 0..1."
    )


class RowAgeStatus(Reported):
    """Age of the oldest row that is not yet processed, against the objective."""

    seconds: OptionalFigure = Field(None, description="The age; 0 if no row waits, absent if it is not known.")
    is_least: bool = Field(False, description="Whether the row is older than that, from before the known batches.")
    objective_s: Figure = Field(alias="objectiveSeconds", description="Age from which a row of this operator is late.")
    late_s: OptionalFigure = Field(
        None, alias="lateSeconds", description="Time in which rows were late, since the controller began to lead."
    )
    text: Word = Field(description="Age and objective, as in the column.")


class ModelStatus(Reported):
    """The model of capacity; the page and `gesscale explain` have its parameters."""

    law: Word = Field(description="Law in use.")
    fitted: bool = Field(description="Whether the law in use predicts placements that it was not fitted to.")
    held_out_error_pct: OptionalFigure = Field(
        None, alias="heldOutErrorPercent", description="Held-out error of the law in use; absent if none was compared."
    )


class LatencyMapStatus(Reported):
    """The latency map of the last decision."""

    age_seconds: OptionalFigure = Field(None, description="Age since the measurement; absent if not known.")
    stale: bool = Field(description="Whether it is stale: no replica is removed.")
    message: Sentence = Field("", description="Problem of the map.")


class DecisionStatus(Reported):
    """The last decision."""

    at_s: Moment = Field(description="Time.")
    verdict: Word = Field(description="Verdict: More, Fewer, Same or Unknown.")
    reason: Word = Field(description="Reason, one CamelCase word.")
    message: Sentence = Field("", description="Explanation in a sentence.")
    outcome: Word = Field(description="Outcome.")


class RecommendationStatus(Reported):
    """The placement that the controller recommends."""

    replicas: int = Field(ge=0, description="Number of replicas.")
    placement: Placement = Field((), description="Nodes, sorted.")
    reason: Word = Field(description="Reason, one CamelCase word.")
    mst: EstimateStatus | None = Field(None, description="Predicted MST of that placement, rows per second.")
    nd_max_ms: OptionalFigure = Field(None, description="NDmax of that placement, round trip, ms.")


class Condition(Reported):
    """A condition in the standard form of Kubernetes."""

    type: Word = Field(description="Type.")
    status: Literal["True", "False", "Unknown"] = Field(description="True, False or Unknown.")
    reason: str = Field(
        min_length=1,
        max_length=256,
        pattern=r"^[A-Za-z]([A-Za-z0-9_]*[A-Za-z0-9])?$",
        description="Reason, one CamelCase word.",
    )
    message: Sentence = Field("", description="Explanation in a sentence.")
    last_transition_time_s: Moment = Field(description="Time of the last change of the status.")
    observed_generation: int | None = Field(None, ge=0, description="Generation of the spec that it refers to.")


class StreamAutoscalerStatus(Reported):
    """Observed state of one operator."""

    observed_generation: int | None = Field(None, ge=0, description="Generation of the spec that was applied last.")
    lease: str | None = Field(
        None, max_length=320, description="Lease of the controller that wrote this status, ``<namespace>/<name>``."
    )
    replicas: int | None = Field(None, ge=0, description="Running replicas: ready executors.")
    selector: str | None = Field(
        None,
        max_length=1024,
        description="Label selector of the executor pods, for an HPA through the scale subresource.",
    )
    ordered_replicas: int | None = Field(None, ge=0, description="Replicas of the order in force.")
    working_replicas: int | None = Field(
        None, ge=0, description="Running replicas with a task in the newest batches; absent without a recent batch."
    )
    desired_replicas: int | None = Field(None, ge=0, description="Ordered or recommended replicas.")
    placement: Placement = Field((), description="Nodes with a running replica, sorted.")
    driver: DriverStatus | None = Field(None, description="The Spark driver.")
    node_pool: NodePoolStatus | None = Field(None, description="Nodes for one more executor.")
    mst: EstimateStatus | None = Field(None, description="Predicted MST of the current placement, rows per second.")
    load: LoadStatus | None = Field(None, description="Load of the operator over the last window.")
    row_age: RowAgeStatus | None = Field(None, description="How old the rows are.")
    nd_max_ms: OptionalFigure = Field(
        None, description="NDmax of the current placement with the driver's node, round trip, ms."
    )
    model: ModelStatus | None = Field(None, description="The model of capacity after the last fit.")
    latency_map: LatencyMapStatus | None = Field(None, description="The latency map of the last decision.")
    last_decision: DecisionStatus | None = Field(None, description="The last decision.")
    recommendation: RecommendationStatus | None = Field(None, description="The recommended placement.")
    order: OrderStatus | None = Field(None, description="The order in force, which the driver applies.")
    history: tuple[OrderStatus, ...] = Field((), max_length=MAX_HISTORY, description="Former orders, newest first.")
    memory: MemoryStatus | None = Field(None, description="Knowledge for a new controller.")
    conditions: tuple[Condition, ...] = Field(
        (),
        max_length=16,
        json_schema_extra={"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"]},
        description="Conditions by type.",
    )
