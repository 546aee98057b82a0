"""What the loop concludes: analysis, plan, outcome, and the decision that keeps all three with its reason."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any, Self

from pydantic import BeforeValidator, Field, GetPydanticSchema, PlainSerializer, computed_field

from gesscale.common.errors import InvalidValueError
from gesscale.fields import MAX_EXACT_INTEGER, EpochSeconds
from gesscale.formatting import format_duration
from gesscale.model.observation import Bounded, OperatorReading, Possible
from perfmodel import Estimate, Model, Reading


class Reason(StrEnum):
    """Why a decision is what it is: one spelling in code, knowledge, events, metrics and output."""

    # something changes
    OVERLOADED = "Overloaded"
    UNDERUSED = "Underused"
    BETTER_NODES = "BetterNodes"
    IDLE_REPLICA = "IdleReplica"
    REPLICA_LOST = "ReplicaLost"
    FIRST_PLACEMENT = "FirstPlacement"
    OVERRIDDEN = "Overridden"
    # nothing needs to change
    WITHIN_TARGET = "WithinTarget"
    CHEAPER_TO_WAIT = "CheaperToWait"
    NOT_ROOT_OF_OVERLOAD = "NotRootOfOverload"
    DRAINING_BACKLOG = "DrainingBacklog"
    FEWER_WOULD_NOT_SUSTAIN = "FewerWouldNotSustain"
    NEVER_CHANGES = "NeverChanges"
    # nothing may change yet
    METRICS_MISSING = "MetricsMissing"
    METRICS_STALE = "MetricsStale"
    LATENCY_MAP_MISSING = "LatencyMapMissing"
    LATENCY_MAP_STALE = "LatencyMapStale"
    RECONFIGURING = "Reconfiguring"
    COOLING_DOWN = "CoolingDown"
    POLICY_FAILED = "PolicyFailed"
    MODEL_UNCALIBRATED = "ModelUncalibrated"
    PAUSED = "Paused"
    CHANGE_BUDGET_SPENT = "ChangeBudgetSpent"
    # nothing can change
    AT_MAX_REPLICAS = "AtMaxReplicas"
    AT_MIN_REPLICAS = "AtMinReplicas"
    NO_CANDIDATE_NODE = "NoCandidateNode"
    DELAY_EATS_GAIN = "DelayEatsGain"
    CLUSTER_UNAVAILABLE = "ClusterUnavailable"
    # why a candidate lost
    FARTHER = "Farther"
    NOT_READY = "NotReady"
    CORDONED = "Cordoned"
    NO_ROOM = "NoRoom"
    EXCLUDED = "Excluded"
    WRONG_ARCHITECTURE = "WrongArchitecture"
    NOT_IN_POOL = "NotInPool"
    DELAY_UNKNOWN = "DelayUnknown"
    NOT_SELECTED = "NotSelected"


#: Why a plan is advice only, whatever the mode.
FIXED_SLOTS = "the query runs in Real-Time Mode: its tasks hold their slots until a long batch ends"


class Verdict(StrEnum):
    """What Analyze says an operator needs."""

    MORE = "More"
    FEWER = "Fewer"
    SAME = "Same"
    UNKNOWN = "Unknown"


def _is_empty(value: object) -> bool:
    return not value


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejection:
    """A candidate that was not chosen, and why."""

    node: str
    reason: Reason
    #: The figures, in a sentence.
    detail: str = ""
    #: How many more candidates lost for this reason, and are not listed.
    others: Annotated[int, Field(ge=0, exclude_if=_is_empty)] = 0
    #: Their names, where the reason is what these nodes are and not how far they are.
    other_nodes: Annotated[tuple[str, ...], Field(exclude_if=_is_empty)] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class LearnedParameter:
    """A parameter of what a policy has learned by itself, without a `perfmodel.Model`."""

    #: With its unit.
    name: str
    #: What is believed, and the standard deviation of that (value, deviation).
    value: Possible
    deviation: Possible
    #: The same before any evidence: one that has hardly shrunk is still a first guess.
    deviation_at_first: Possible


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSummary:
    """What a person needs to judge a fitted model."""

    law: str
    #: In the law's units.
    parameters: Mapping[str, float | None]
    #: Those of them that the evidence identifies.
    fitted: tuple[str, ...]
    #: How many readings it was fitted on.
    readings_used: Annotated[int, Field(ge=0, le=MAX_EXACT_INTEGER)]
    #: Whether there were enough of them, and whether newer ones contradicted older ones (calibrated, drift).
    calibrated: bool
    drift: bool
    warnings: tuple[str, ...]

    @classmethod
    def of(cls, model: Model) -> Self:
        """Return the summary of a model."""
        return cls(
            law=model.law,
            parameters=model.parameters,
            fitted=tuple(sorted(model.fitted)),
            readings_used=model.readings_used,
            calibrated=model.calibrated,
            drift=model.drift,
            warnings=tuple(map(str, model.warnings)),
        )


def _summary(model: Any) -> ModelSummary | None:
    return None if model is None else ModelSummary.of(model)


def _read_estimate(document: Any) -> Any:
    """Read null, which JSON says for a figure without a bound, as that."""
    if not isinstance(document, Mapping):
        return document
    return {name: math.inf if value is None else value for name, value in document.items()}


#: A fitted model; in JSON, and as it is read again, a `ModelSummary`.
KnownModel = Annotated[
    Model | None, GetPydanticSchema(lambda _, schema_of: schema_of(ModelSummary | None)), PlainSerializer(_summary)
]
OptionalEstimate = Annotated[Estimate | None, BeforeValidator(_read_estimate)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Analysis:
    """What Analyze concluded about one operator."""

    operator: str
    #: What it needs, why in one word, and in one sentence (verdict, reason, detail).
    verdict: Verdict
    reason: Reason
    detail: str = ""
    #: What it was concluded from; None where there was none.
    reading: OperatorReading | None = None
    #: Readings for the performance model that this window yielded.
    evidence: tuple[Reading, ...] = ()
    #: The model as fitted with that evidence; None where nothing could be fitted or the policy uses none.
    model: KnownModel = None
    #: What stands in the place of a model; empty where there is one, or nothing was learned.
    learned: tuple[LearnedParameter, ...] = ()
    #: Predicted MST of the present placement, rows/s.
    mst: OptionalEstimate = None
    #: NDmax of the present placement with the driver's node, round trip.
    nd_max_ms: float | None = None
    #: DT of Algorithm 2, per cent.
    headroom_pct: float | None = None
    #: How many replicas it should have, by a policy that says a number; None by one that does not.
    desired_replicas: int | None = None
    #: What the policy gets back for this operator in its next step (`gesscale.ports.Knowledge.memos`): JSON
    #: that only the policy reads. None keeps the memo before.
    memo: Annotated[str | None, Field(exclude=True)] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """Replicas to start and to remove, by node; never empty, never both on one node."""

    add: tuple[str, ...] = ()
    remove: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        nodes = (*self.add, *self.remove)
        if not nodes or len(set(nodes)) != len(nodes):
            raise InvalidValueError("change-invalid", add=self.add, remove=self.remove)

    @classmethod
    def between(cls, before: Iterable[str], after: Iterable[str]) -> "Change | None":
        """Return what leads from one placement to another, nodes sorted; None where they are the same."""
        old, new = set(before), set(after)
        return None if old == new else cls(add=tuple(sorted(new - old)), remove=tuple(sorted(old - new)))


def format_replicas(count: int) -> str:
    """Return a number of replicas with its noun.

    Examples
    --------
    >>> format_replicas(1), format_replicas(2)
    ('1 replica', '2 replicas')
    """
    return "1 replica" if count == 1 else f"{count} replicas"


@dataclass(frozen=True, slots=True, kw_only=True)
class CandidateCost:
    """Expected cost of a number of replicas over a policy's horizon."""

    #: Replicas until the next step: the candidate.
    replicas: int
    #: Replica-minutes, including those that the remaining backlog will need.
    replica_minutes: Possible
    #: Minutes in which a row is older than the objective.
    late_minutes: Possible
    #: Changes of the placement.
    changes: Possible
    #: The sum of all three at their prices, replica-minutes.
    total: Possible
    #: Replicas that move to another node.
    moved: int = 0

    def breakdown(self, late_minute_price: float, change_price: float) -> str:
        """Return the sum and its terms in one line.

        Examples
        --------
        >>> cost = CandidateCost(replicas=3, replica_minutes=30, late_minutes=12, changes=1, total=151)
        >>> cost.breakdown(10, 1)
        '3 replicas: 30 replica-min + 12.0 late min x 10 + 1.0 changes x 1 = 151'
        """
        moved = f", {self.moved} moved" if self.moved else ""
        parts = (
            f"{self.replica_minutes:.0f} replica-min",
            f"{self.late_minutes:.1f} late min x {late_minute_price:g}",
            f"{self.changes:.1f} changes x {change_price:g}",
        )
        return f"{format_replicas(self.replicas)}{moved}: {' + '.join(parts)} = {self.total:.0f}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What Plan concluded for one operator."""

    operator: str
    #: Why this and not something else (reason, detail).
    reason: Reason
    #: The nodes that hold its replicas now, sorted.
    before: tuple[str, ...]
    #: The nodes that are to hold them, sorted; the same where nothing changes.
    placement: tuple[str, ...]
    detail: str = ""
    #: Predicted MST of that placement, rows/s; None without a model.
    mst: OptionalEstimate = None
    #: NDmax of that placement with the driver's node, round trip; None where it is not known.
    nd_max_ms: float | None = None
    #: The candidates that lost, the nearest of each reason.
    rejections: tuple[Rejection, ...] = ()
    #: Expected cost of each number of replicas; empty if the policy estimates none.
    costs: tuple[CandidateCost, ...] = ()
    #: Seconds until the next step, if the policy requests it early; None means the regular period.
    next_step_after_s: float | None = None

    @computed_field  # type: ignore[prop-decorator]
    @property
    def change(self) -> Change | None:
        """What it takes to get there; None where nothing changes."""
        return None if self.before == self.placement else Change.between(self.before, self.placement)


class OutcomeStatus(StrEnum):
    """What became of a plan.

    Ordered: the cluster has the order and carries it out later. Rehearsed: it only checked the order.
    """

    NOTHING_TO_DO = "NothingToDo"
    NOT_ALLOWED = "NotAllowed"
    REHEARSED = "Rehearsed"
    ORDERED = "Ordered"
    APPLIED = "Applied"
    PARTLY_APPLIED = "PartlyApplied"
    FAILED = "Failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What Execute did."""

    status: OutcomeStatus
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    #: How long the cluster took, from the order to the last replica ready or gone.
    seconds: Possible = 0.0
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class MapStatus:
    """How far the latency map could be relied on."""

    #: Seconds since it was measured; None where that is not known.
    age_s: Bounded | None = None
    #: Why no replica may be removed by it; empty where one may.
    stale: str = ""
    #: What went wrong when it was last asked for; empty where nothing did.
    problem: str = ""

    @property
    def sentence(self) -> str:
        """Age and doubts in one line, for people; empty where there is nothing to say."""
        age = "" if self.age_s is None else f"measured {format_duration(self.age_s)} ago"
        return "; ".join(part for part in (self.stale or age, self.problem) if part)


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """One step of the loop for one operator: what was seen, concluded, planned and done, by which latency map."""

    at_s: EpochSeconds
    operator: str
    policy: str
    analysis: Analysis
    plan: Plan
    outcome: Outcome
    latency_map: MapStatus = MapStatus()
    #: The nodes that could take no replica of the operator then, whatever was planned.
    ineligible: tuple[Rejection, ...] = ()

    @computed_field  # type: ignore[prop-decorator]
    @property
    def reason(self) -> Reason:
        """Why this plan, in a word."""
        return self.plan.reason

    @computed_field  # type: ignore[prop-decorator]
    @property
    def acted(self) -> bool:
        """Whether replicas were started or removed."""
        return bool(self.outcome.added or self.outcome.removed)

    @computed_field  # type: ignore[prop-decorator]
    @property
    def sentence(self) -> str:
        """The decision in one line, for people."""
        after = len(self.plan.placement)
        before = self.analysis.reading.replicas if self.analysis.reading else after
        change = self.plan.change
        nodes = "".join(
            f", {sign}{node}"
            for sign, names in (("+", change.add if change else ()), ("-", change.remove if change else ()))
            for node in names
        )
        detail = self.plan.detail or self.analysis.detail
        replicas = f"replicas {before} -> {after}" if after else "replicas unknown"
        return f"{replicas} ({self.plan.reason.value}{nodes}): {detail}"
