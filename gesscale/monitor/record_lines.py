"""The lines of a record: a finished batch, or what was decided; their times and figures are bounded."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import AfterValidator, Field, FiniteFloat, create_model

from gesscale.fields import SHORTEST_S, EpochSeconds
from gesscale.model.decision import Change, MapStatus
from gesscale.model.observation import Batch, MissingReading, NodeReading, OperatorReading
from gesscale.monitor.records import READ_AS, Part, figures_read_as

LONGEST_RUN_S = 31 * 86400.0
"""From the first to the last of what a record tells; in one that tells of more, some time is wrong."""

_LARGEST = 1e18


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveDecision:
    """What was decided live for one operator at one instant, and from what.

    Attributes
    ----------
    at_s
        When, seconds since the epoch.
    reason, detail
        Those of the plan.
    placement
        The nodes that held its replicas then, sorted.
    change
        What was wanted; None for nothing.
    planned
        The nodes that were to hold its replicas from then on, sorted.
    acted
        Whether replicas were started or removed.
    status
        What became of the plan, such as Applied.
    seen
        What was read, without its batches, or why nothing was.
    batches_seen
        From how many batches it was read.
    rejections
        The candidates that lost: reason and detail by node.
    latency_map
        How far the latency map could be relied on.
    document
        The whole line.
    """

    at_s: float
    operator: str
    policy: str
    reason: str
    detail: str
    placement: tuple[str, ...]
    change: Change | None
    planned: tuple[str, ...]
    acted: bool
    status: str
    seen: OperatorReading | MissingReading
    batches_seen: int
    rejections: Mapping[str, tuple[str, str]]
    latency_map: MapStatus
    document: Mapping[str, Any]


def _within(least: float, most: float) -> AfterValidator:
    def check(value: float | None) -> float | None:
        if value is not None and (least > value > 0 or value > most):
            message = f"expected {least:g} to {most:g}"
            raise ValueError(message)
        # What is not above 0 the screening judges.
        return None if value is None or math.isnan(value) else value

    return AfterValidator(check)


_Seconds = Annotated[float | None, _within(SHORTEST_S, LONGEST_RUN_S)]
_Rows = Annotated[float | None, _within(0.0, _LARGEST)]


class _OnNodes(Part):
    nodes: tuple[str, ...]
    operator: str | None = None


_BatchLine = create_model(
    "_BatchLine",
    __base__=_OnNodes,
    **figures_read_as(
        {
            **READ_AS,
            float | None: _Rows,
            "ended_at_s": EpochSeconds,
            "seconds": Annotated[float, Field(le=LONGEST_RUN_S)],
            "trigger_s": _Seconds,
        }
    ),
)


def batch_of(document: object) -> tuple[str | None, Batch]:
    """Return the operator that a line of batches names, if any, and the batch.

    Raises
    ------
    ValueError
        It is no such line.
    """
    line = _BatchLine.model_validate(document)
    figures = line.model_dump(exclude={"nodes", "operator"})
    return line.operator, Batch(**figures, nodes=tuple(sorted(set(line.nodes))))


_Figure = Annotated[FiniteFloat, Field(ge=-_LARGEST, le=_LARGEST)]


class _NodePart(Part):
    throughput_rows_per_s: _Figure
    cpu_share: _Figure
    state_partitions: Annotated[int, Field(ge=0)] | None = None


class _ReadingPart(Part):
    placement: tuple[str, ...]
    throughput_rows_per_s: _Figure
    saturated_share: _Figure
    busy_share: _Figure
    input_rows_per_s: _Figure | None = None
    backlog_rows: _Figure | None = None
    output_rows_per_s: _Figure | None = None
    cpu_share: _Figure | None = None
    by_node: Mapping[str, _NodePart] = Field(default_factory=dict)
    trigger_s: _Seconds = None
    batches: int = Field(ge=0)


class _AnalysisPart(Part):
    reason: str
    detail: str
    reading: _ReadingPart | None


class _ChangePart(Part):
    add: tuple[str, ...]
    remove: tuple[str, ...]


class _RejectionPart(Part):
    node: str
    reason: str
    detail: str
    other_nodes: tuple[str, ...] = ()


class _PlanPart(Part):
    reason: str
    detail: str
    placement: tuple[str, ...]
    change: _ChangePart | None
    rejections: tuple[_RejectionPart, ...]


class _OutcomePart(Part):
    status: str


class _StandingPart(Part):
    age_s: _Figure | None = None
    stale: str = ""
    problem: str = ""


class _DecisionLine(Part):
    at_s: EpochSeconds
    operator: str
    policy: str
    acted: bool
    analysis: _AnalysisPart
    plan: _PlanPart
    outcome: _OutcomePart
    latency_map: _StandingPart = _StandingPart()


def decision_of(document: dict[str, Any]) -> LiveDecision:
    """Return what a line of decisions tells.

    Raises
    ------
    ValueError
        It is no such line.
    InputError
        Its change contradicts itself.
    """
    line = _DecisionLine.model_validate(document)
    plan, part = line.plan, line.analysis.reading
    change = (
        None
        if plan.change is None
        else Change(add=tuple(sorted(plan.change.add)), remove=tuple(sorted(plan.change.remove)))
    )
    before = {*plan.placement, *change.remove} - {*change.add} if change else {*plan.placement}
    return LiveDecision(
        at_s=line.at_s,
        operator=line.operator,
        policy=line.policy,
        reason=plan.reason,
        detail=plan.detail,
        placement=tuple(sorted(before)),
        change=change,
        planned=plan.placement,
        acted=line.acted,
        status=line.outcome.status,
        seen=_seen(line, part),
        batches_seen=0 if part is None else part.batches,
        rejections=_rejections(plan.rejections),
        latency_map=MapStatus(**line.latency_map.model_dump()),
        document=document,
    )


def _rejections(listed: Iterable[_RejectionPart]) -> Mapping[str, tuple[str, str]]:
    """Return reason and detail by node; of those that are only named the detail is not known."""
    return {
        node: (each.reason, each.detail if node == each.node else "")
        for each in listed
        for node in (each.node, *each.other_nodes)
    }


def _seen(line: _DecisionLine, part: _ReadingPart | None) -> OperatorReading | MissingReading:
    if part is None:
        stale = line.analysis.reason == "MetricsStale"
        return MissingReading(operator=line.operator, detail=line.analysis.detail, stale=stale)
    figures = part.model_dump(exclude={"batches", "by_node"})
    by_node = {node: NodeReading(**each.model_dump()) for node, each in part.by_node.items()}
    return OperatorReading(operator=line.operator, at_s=line.at_s, **figures, by_node=by_node)
