"""What is reported of one operator: the ``status`` of a StreamAutoscaler; figures rounded, absent rather than null."""

import math
from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, Field, StringConstraints

from gesscale.kubernetes.resource.memory import MemoryStatus
from gesscale.kubernetes.resource.order import HISTORY_AT_MOST, OrderStatus
from gesscale.kubernetes.resource.parts import NODES_AT_MOST, Moment, NodeName, Reported

REJECTED_AT_MOST = 16
MESSAGE_LONGEST = 1024
_DIGITS = 3


def rounded(value: float) -> float:
    """Round to three significant digits: the noise behind them is not worth a write.

    Examples
    --------
    >>> rounded(1234.5), rounded(0.012345), rounded(0.0)
    (1230.0, 0.0123, 0.0)
    """
    return float(f"{value:.{_DIGITS}g}")


def shortened(text: str, chars: int) -> str:
    """Return a text of bounded length.

    Examples
    --------
    >>> shortened("the API server is out of reach", 20)
    'the API server is...'
    """
    return text if len(text) <= chars else text[: chars - 3] + "..."


def _at_most(chars: int) -> BeforeValidator:
    return BeforeValidator(lambda value: shortened(value, chars) if isinstance(value, str) else value)


def _finite(value: object) -> object:
    return None if isinstance(value, float) and not math.isfinite(value) else value


Figure = Annotated[float, AfterValidator(rounded)]
#: Absent where it is no number.
OptionalFigure = Annotated[Figure | None, BeforeValidator(_finite)]
Word = Annotated[str, _at_most(64), StringConstraints(max_length=64)]
Sentence = Annotated[str, _at_most(MESSAGE_LONGEST), StringConstraints(max_length=MESSAGE_LONGEST)]
Placement = Annotated[tuple[NodeName, ...], Field(max_length=NODES_AT_MOST)]


class DriverStatus(Reported):
    """The Spark driver that was found."""

    pod: str | None = Field(None, max_length=253, description="Its pod; absent outside the cluster.")
    node: NodeName | None = Field(None, description="Its node.")


class RejectedStatus(Reported):
    """Nodes that cannot take an executor, for one reason."""

    reason: Word = Field(description="Why, in a word.")
    count: int = Field(ge=1, description="How many nodes.")
    message: Sentence = Field("", description="One of them, and why, in a sentence.")


class NodePoolStatus(Reported):
    """Which nodes could take one more executor."""

    candidates: int = Field(ge=0, description="How many nodes can take an executor of this operator.")
    rejected: tuple[RejectedStatus, ...] = Field(
        (),
        max_length=REJECTED_AT_MOST,
        json_schema_extra={"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["reason"]},
        description="The others, by reason.",
    )


class EstimateStatus(Reported):
    """A predicted MST, rows per second; the true one lies between low and high with about 90 % confidence."""

    low: Figure = Field(ge=0, description="Rows per second.")
    mid: Figure = Field(ge=0, description="Rows per second.")
    high: Figure = Field(ge=0, description="Rows per second.")
    reason: Word = Field("", description="What is special about it, such as extrapolated.")


class LoadStatus(Reported):
    """The operator over the last window."""

    input_rows_per_s: OptionalFigure = Field(
        None, alias="inputRowsPerSecond", description="Rows offered; absent where no source tells."
    )
    throughput_rows_per_s: OptionalFigure = Field(None, alias="throughputRowsPerSecond", description="Rows processed.")
    backlog_rows: OptionalFigure = Field(None, description="Rows offered and not yet processed.")
    busy_share: OptionalFigure = Field(None, description="Share of the window spent inside batches, 0..1.")
    saturated_share: OptionalFigure = Field(
        None, description="Share of the window's batches in which it was saturated, 0..1."
    )


class ModelStatus(Reported):
    """The performance model as fitted last."""

    law: Word = Field(description="Its law.")
    alpha: OptionalFigure = Field(None, description="Eq. 1: rows per second of one replica.")
    beta: OptionalFigure = Field(None, description="Eq. 1: exponent of the replicas.")
    gamma: OptionalFigure = Field(None, description="Eq. 1: rows per second that a millisecond of NDmax costs.")
    parameters: dict[Annotated[str, StringConstraints(max_length=64)], Figure] = Field(
        default_factory=dict, max_length=16, description="Parameters of another law, by name."
    )
    calibrated: bool = Field(description="Whether it rests on three distinct readings at least.")
    readings: int = Field(ge=0, description="Readings it was fitted on.")


class LatencyMapStatus(Reported):
    """The latency map that the last decision was made by."""

    age_seconds: OptionalFigure = Field(None, description="Since it was measured; absent where that is not known.")
    stale: bool = Field(description="Whether no replica is removed by it.")
    message: Sentence = Field("", description="What is wrong with it.")


class DecisionStatus(Reported):
    """The last decision."""

    at_s: Moment = Field(description="When.")
    verdict: Word = Field(description="What the operator needs: More, Fewer, Same or Unknown.")
    reason: Word = Field(description="Why, in a word.")
    message: Sentence = Field("", description="Why, in a sentence.")
    outcome: Word = Field(description="What became of it.")


class RecommendationStatus(Reported):
    """What the controller would have."""

    replicas: int = Field(ge=0, description="How many replicas.")
    placement: Placement = Field((), description="On which nodes, sorted.")
    reason: Word = Field(description="Why, in a word.")
    mst: EstimateStatus | None = Field(None, description="Predicted MST of that placement, rows per second.")
    nd_max_ms: OptionalFigure = Field(None, description="NDmax of that placement, round trip, ms.")


class Condition(Reported):
    """One condition, in the shape that all of Kubernetes uses."""

    type: Word = Field(description="Which condition.")
    status: Literal["True", "False", "Unknown"] = Field(description="Whether it holds.")
    reason: str = Field(
        min_length=1, max_length=256, pattern=r"^[A-Za-z]([A-Za-z0-9_]*[A-Za-z0-9])?$", description="Why, in a word."
    )
    message: Sentence = Field("", description="Why, in a sentence.")
    last_transition_time_s: Moment = Field(description="When its status last changed.")
    observed_generation: int | None = Field(None, ge=0, description="The generation of the spec it is about.")


class StreamAutoscalerStatus(Reported):
    """What is reported of one operator."""

    observed_generation: int | None = Field(None, ge=0, description="The generation of the spec that was obeyed last.")
    replicas: int | None = Field(None, ge=0, description="Live replicas.")
    desired_replicas: int | None = Field(None, ge=0, description="Replicas that are ordered or advised.")
    placement: Placement = Field((), description="Nodes that hold a live replica, sorted.")
    driver: DriverStatus | None = Field(None, description="The Spark driver that was found.")
    node_pool: NodePoolStatus | None = Field(None, description="Which nodes could take one more executor.")
    mst: EstimateStatus | None = Field(None, description="Predicted MST of the present placement, rows per second.")
    load: LoadStatus | None = Field(None, description="The operator over the last window.")
    nd_max_ms: OptionalFigure = Field(
        None, description="NDmax of the present placement with the driver's node, round trip, ms."
    )
    model: ModelStatus | None = Field(None, description="The performance model as fitted last.")
    latency_map: LatencyMapStatus | None = Field(None, description="The latency map of the last decision.")
    last_decision: DecisionStatus | None = Field(None, description="The last decision.")
    recommendation: RecommendationStatus | None = Field(None, description="What the controller would have.")
    order: OrderStatus | None = Field(None, description="The order that the driver carries out.")
    history: tuple[OrderStatus, ...] = Field(
        (), max_length=HISTORY_AT_MOST, description="The orders before it, newest first."
    )
    memory: MemoryStatus | None = Field(None, description="What a new controller resumes from.")
    conditions: tuple[Condition, ...] = Field(
        (),
        max_length=16,
        json_schema_extra={"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"]},
        description="Conditions by type.",
    )
