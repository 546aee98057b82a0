"""The record of a live run as files: batches.jsonl and decisions.jsonl, a JSON object a line.

A line that is torn or corrupt is left out, counted and named; the rest of the record stays usable.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, ValidationError
from pydantic_core import from_json

from gesscale.decision import Change, MapStanding
from gesscale.errors import InputError
from gesscale.monitor.records import BatchFigures, first_fault
from gesscale.observation import Batch, NodeReading, OperatorReading, Unseen

BATCHES, DECISIONS, SETTINGS = "batches.jsonl", "decisions.jsonl", "gesscale.yaml"

T = TypeVar("T")


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
    seen: OperatorReading | Unseen
    batches_seen: int
    rejections: Mapping[str, tuple[str, str]]
    latency_map: MapStanding
    document: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """A recorded run.

    Attributes
    ----------
    batches
        By operator, in the order in which they ended; not screened.
    decisions
        In order of time.
    complaints
        One for each line that was left out: file, line, and what is wrong.
    """

    batches: Mapping[str, tuple[Batch, ...]]
    decisions: tuple[LiveDecision, ...] = ()
    complaints: tuple[str, ...] = ()

    def instants_s(self, period_s: float) -> tuple[float, ...]:
        """Return when the loop stepped: at each decision; without any, once per period from the first batch on."""
        if self.decisions:
            return tuple(sorted({decision.at_s for decision in self.decisions}))
        ends = [batch.ended_at_s for listed in self.batches.values() for batch in listed]
        steps = int((max(ends) - min(ends)) // period_s)
        return tuple(min(ends) + period_s * step for step in range(steps + 1))


def read_recording(folder: Path, operators: Collection[str]) -> Recording:
    """Read the record of a run.

    Parameters
    ----------
    folder
        Holds batches.jsonl and, where decisions were kept, decisions.jsonl.
    operators
        The names that the settings know, at least one. A batch that names none is the only one's.

    Returns
    -------
    Recording
        With at least one batch.

    Raises
    ------
    InputError
        When the folder or its batches are missing, nothing there can be used, or it is another operator's.
    """
    file = folder / BATCHES
    batches, torn = _understood(file, _batch)
    if not batches:
        message = f"{file}: expected a batch a line, got {torn[0] if torn else 'none'}"
        raise InputError(message)
    decisions, torn_decisions = _understood(folder / DECISIONS, _decision, optional=True)
    _check_names({name for name, _ in batches} | {each.operator for each in decisions}, operators, folder)
    (any_name, *_) = operators
    grouped: dict[str, list[Batch]] = {name: [] for name in operators}
    for name, batch in batches:
        grouped[name or any_name].append(batch)
    return Recording(
        batches={
            name: tuple(sorted(listed, key=attrgetter("ended_at_s"))) for name, listed in grouped.items()
        },
        decisions=tuple(sorted(decisions, key=attrgetter("at_s"))),
        complaints=(*torn, *torn_decisions),
    )


def _check_names(recorded: Iterable[str | None], operators: Collection[str], folder: Path) -> None:
    known = ", ".join(operators)
    if strangers := sorted({name for name in recorded if name is not None} - {*operators}):
        message = (
            f"record {folder} is of operator {strangers[0]!r}, but the settings describe {known}; name the settings "
            "of that run by --config"
        )
        raise InputError(message)
    if None in recorded and len(operators) > 1:
        message = (
            f"{folder / BATCHES}: the settings describe several operators ({known}), so each line needs the key "
            "operator; one has none"
        )
        raise InputError(message)


def _understood(
    file: Path, understand: Callable[[Any], T], *, optional: bool = False
) -> tuple[list[T], list[str]]:
    """Return what each line says, and what is wrong with the lines that say nothing."""
    try:
        lines = file.read_bytes().splitlines()
    except OSError as error:
        if optional and isinstance(error, FileNotFoundError):
            return [], []
        message = f"{file}: {error.strerror or error}; a record is a folder as the demo writes it"
        raise InputError(message) from error
    found: list[T] = []
    faults: list[str] = []
    for number, line in enumerate(lines, start=1):
        try:
            if line.strip():
                found.append(understand(from_json(line)))
        except ValidationError as error:
            faults.append(f"{file}, line {number}: {first_fault(error)}")
        except (ValueError, InputError) as error:
            faults.append(f"{file}, line {number}: {error}")
    return found, faults


class _BatchLine(BatchFigures):
    nodes: tuple[str, ...]
    operator: str | None = None


def _batch(document: object) -> tuple[str | None, Batch]:
    line = _BatchLine.model_validate(document)
    figures = line.model_dump(exclude={"nodes", "operator"})
    return line.operator, Batch(**figures, nodes=tuple(sorted(set(line.nodes))))


class _Part(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)


class _NodePart(_Part):
    throughput_rows_per_s: FiniteFloat
    cpu_share: FiniteFloat


class _ReadingPart(_Part):
    placement: tuple[str, ...]
    throughput_rows_per_s: FiniteFloat
    saturated_share: FiniteFloat
    busy_share: FiniteFloat
    input_rows_per_s: FiniteFloat | None = None
    backlog_rows: FiniteFloat | None = None
    output_rows_per_s: FiniteFloat | None = None
    cpu_share: FiniteFloat | None = None
    by_node: Mapping[str, _NodePart] = Field(default_factory=dict)
    trigger_s: FiniteFloat | None = None
    batches: int = Field(ge=0)


class _AnalysisPart(_Part):
    reason: str
    detail: str
    reading: _ReadingPart | None


class _ChangePart(_Part):
    add: tuple[str, ...]
    remove: tuple[str, ...]


class _RejectionPart(_Part):
    node: str
    reason: str
    detail: str


class _PlanPart(_Part):
    reason: str
    detail: str
    placement: tuple[str, ...]
    change: _ChangePart | None
    rejections: tuple[_RejectionPart, ...]


class _OutcomePart(_Part):
    status: str


class _StandingPart(_Part):
    age_s: FiniteFloat | None = None
    stale: str = ""
    problem: str = ""


class _DecisionLine(_Part):
    at_s: FiniteFloat
    operator: str
    policy: str
    acted: bool
    analysis: _AnalysisPart
    plan: _PlanPart
    outcome: _OutcomePart
    latency_map: _StandingPart = _StandingPart()


def _decision(document: dict[str, Any]) -> LiveDecision:
    line = _DecisionLine.model_validate(document)
    plan, part = line.plan, line.analysis.reading
    change = None if plan.change is None else Change(add=plan.change.add, remove=plan.change.remove)
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
        rejections={each.node: (each.reason, each.detail) for each in plan.rejections},
        latency_map=MapStanding(**line.latency_map.model_dump()),
        document=document,
    )


def _seen(line: _DecisionLine, part: _ReadingPart | None) -> OperatorReading | Unseen:
    if part is None:
        stale = line.analysis.reason == "MetricsStale"
        return Unseen(operator=line.operator, detail=line.analysis.detail, stale=stale)
    figures = part.model_dump(exclude={"batches", "by_node"})
    by_node = {node: NodeReading(**each.model_dump()) for node, each in part.by_node.items()}
    return OperatorReading(operator=line.operator, at_s=line.at_s, **figures, by_node=by_node)
