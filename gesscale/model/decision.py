"""Results of a step: analysis, plan, outcome, and the decision that joins them."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, computed_field

from gesscale.common.errors import InvalidValueError
from gesscale.fields import EpochSeconds
from gesscale.formatting import format_duration
from gesscale.model.observation import Bounded, OperatorReading, Possible, RowAge
from perfmodel import Estimate, ModelSummary, Reading


class Reason(StrEnum):
    """Reason of a decision, spelled the same in code, knowledge, events, metrics and output."""

    # something changes
    OVERLOADED = "Overloaded"
    UNDERUSED = "Underused"
    BETTER_NODES = "BetterNodes"
    IDLE_REPLICA = "IdleReplica"
    REPLICA_LOST = "ReplicaLost"
    FIRST_PLACEMENT = "FirstPlacement"
    OVERRIDDEN = "Overridden"
    SCHEDULE_LIMIT = "ScheduleLimit"
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
    OVERRIDE_UNMET = "OverrideUnmet"
    NODE_POOL_EMPTY = "NodePoolEmpty"
    AT_MAX_REPLICAS = "AtMaxReplicas"
    AT_MIN_REPLICAS = "AtMinReplicas"
    NO_CANDIDATE_NODE = "NoCandidateNode"
    DELAY_EATS_GAIN = "DelayEatsGain"
    SINK_LIMIT = "SinkLimit"
    HOT_PARTITION = "HotPartition"
    PARTITION_LIMIT = "PartitionLimit"
    IDLE_LIMIT = "IdleLimit"
    CAP_LIMITS = "CapLimits"
    CLUSTER_UNAVAILABLE = "ClusterUnavailable"
    # why a candidate lost
    FARTHER = "Farther"
    NOT_READY = "NotReady"
    CORDONED = "Cordoned"
    NO_ROOM = "NoRoom"
    EXCLUDED = "Excluded"
    WRONG_ARCHITECTURE = "WrongArchitecture"
    NOT_IN_POOL = "NotInPool"
    POD_REFUSED = "PodRefused"
    DELAY_UNKNOWN = "DelayUnknown"
    NOT_SELECTED = "NotSelected"


#: Reasons for which replicas that are needed cannot be added.
GROWTH_LIMITS = {
    Reason.AT_MAX_REPLICAS,
    Reason.NO_CANDIDATE_NODE,
    Reason.DELAY_EATS_GAIN,
    Reason.SINK_LIMIT,
    Reason.HOT_PARTITION,
    Reason.PARTITION_LIMIT,
    Reason.IDLE_LIMIT,
    Reason.CAP_LIMITS,
    Reason.LATENCY_MAP_MISSING,
}

#: Reasons that block a desired change.
LIMITS = GROWTH_LIMITS | {Reason.AT_MIN_REPLICAS, Reason.LATENCY_MAP_STALE, Reason.DELAY_UNKNOWN}

#: Reason of a plan that is advice only, in any mode.
FIXED_SLOTS = "the query runs in Real-Time Mode: its tasks hold their slots until a long batch ends"


class Verdict(StrEnum):
    """Conclusion of Analyze about an operator."""

    MORE = "More"
    FEWER = "Fewer"
    SAME = "Same"
    UNKNOWN = "Unknown"


def _is_empty(value: object) -> bool:
    return not value


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejection:
    """A rejected candidate and its reason."""

    node: str
    reason: Reason
    #: Figures, in a sentence.
    detail: str = ""
    #: Number of further candidates with this reason that are not listed.
    others: Annotated[int, Field(ge=0, exclude_if=_is_empty)] = 0
    #: Their names, if the reason is a property of the nodes and not their distance.
    other_nodes: Annotated[tuple[str, ...], Field(exclude_if=_is_empty)] = ()


def _read_estimate(document: Any) -> Any:
    """Read null as infinity: JSON has no infinite numbers."""
    if not isinstance(document, Mapping):
        return document
    return {name: math.inf if value is None else value for name, value in document.items()}


OptionalEstimate = Annotated[Estimate | None, BeforeValidator(_read_estimate)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Analysis:
    """Result of Analyze for one operator."""

    operator: str
    #: Verdict, with its reason in a word and in a sentence.
    verdict: Verdict
    reason: Reason
    detail: str = ""
    #: The reading; None if it is missing.
    reading: OperatorReading | None = None
    #: Readings for the performance model that this window yielded.
    evidence: tuple[Reading, ...] = ()
    #: The model fitted with that evidence; None before any evidence, or if the policy has none.
    model: ModelSummary | None = None
    #: Predicted MST of the present placement, rows/s.
    mst: OptionalEstimate = None
    #: NDmax of the present placement with the driver's node, round trip.
    nd_max_ms: float | None = None
    #: DT of Algorithm 2, per cent.
    headroom_pct: float | None = None
    #: Desired number of replicas; None if the policy has no such number.
    desired_replicas: int | None = None
    #: JSON that the policy receives for this operator in its next step (`gesscale.ports.Knowledge.memos`). None
    #: keeps the previous memo.
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
        """Return the change from one placement to another, nodes sorted; None if they are equal."""
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
class Candidate:
    """A number of replicas that a policy compared with others."""

    #: Number of replicas.
    replicas: int
    #: Predicted MST at its best placement, rows/s; None if a delay is unknown.
    mst: OptionalEstimate = None
    #: How long the last row of the next bucket would wait if the load is high, and by how much it would be late,
    #: seconds (wait_s, late_s).
    wait_s: Possible = 0.0
    late_s: Possible = 0.0
    #: Replicas that move to another node.
    moved: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Result of Plan for one operator."""

    operator: str
    #: Reason in a word, and in a sentence.
    reason: Reason
    #: The nodes that hold its replicas now, sorted.
    before: tuple[str, ...]
    #: The nodes that will hold them, sorted; equal if nothing changes.
    placement: tuple[str, ...]
    detail: str = ""
    #: Predicted MST of that placement, rows/s; None without a model.
    mst: OptionalEstimate = None
    #: NDmax of that placement with the driver's node, round trip; None if unknown.
    nd_max_ms: float | None = None
    #: Rejected candidates, the nearest of each reason.
    rejections: tuple[Rejection, ...] = ()
    #: The numbers of replicas that were compared; empty if the policy compares none.
    candidates: tuple[Candidate, ...] = ()
    #: Seconds until the next step, if the policy requests it early; None means the regular period.
    next_step_after_s: float | None = None

    @computed_field  # type: ignore[prop-decorator]
    @property
    def change(self) -> Change | None:
        """The change of the placement; None if there is none."""
        return None if self.before == self.placement else Change.between(self.before, self.placement)

    def candidate_of(self, placement: Sequence[str]) -> Candidate | None:
        """Return the candidate of a placement; None if the policy did not compare it."""
        moved = min(len(self.before), len(placement)) - len(set(self.before) & set(placement))
        same = (each for each in self.candidates if (each.replicas, each.moved) == (len(placement), moved))
        return next(same, None)


class OutcomeStatus(StrEnum):
    """Result of executing a plan.

    Ordered: the cluster has accepted the order and applies it later. Rehearsed: the cluster only checked the order.
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
    """Result of Execute."""

    status: OutcomeStatus
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    #: Time from the order until the last replica was ready or gone.
    seconds: Possible = 0.0
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class MapStatus:
    """Status of the latency map."""

    #: Seconds since it was measured; None if unknown.
    age_s: Bounded | None = None
    #: Reason why no replica may be removed; empty if the map is fresh.
    stale: str = ""
    #: Error of the last refresh, or doubts about the map; empty if there are none.
    problem: str = ""

    @property
    def sentence(self) -> str:
        """Age and problems in one line; empty if there are none."""
        age = "" if self.age_s is None else f"measured {format_duration(self.age_s)} ago"
        return "; ".join(part for part in (self.stale or age, self.problem) if part)


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """One step of the loop for one operator: analysis, plan and outcome, with the status of the latency map."""

    at_s: EpochSeconds
    operator: str
    policy: str
    analysis: Analysis
    plan: Plan
    outcome: Outcome
    latency_map: MapStatus = MapStatus()
    #: The nodes that could take no replica of the operator, regardless of the plan.
    ineligible: tuple[Rejection, ...] = ()
    #: The age of the operator's rows; None if it is not measured.
    row_age: RowAge | None = None

    @computed_field  # type: ignore[prop-decorator]
    @property
    def reason(self) -> Reason:
        """Reason of the plan."""
        return self.plan.reason

    @computed_field  # type: ignore[prop-decorator]
    @property
    def acted(self) -> bool:
        """Whether replicas were started or removed."""
        return bool(self.outcome.added or self.outcome.removed)

    @property
    def blocked_by(self) -> Reason | None:
        """Reason that blocks a desired change or an override; None if nothing is desired or blocked."""
        if self.plan.reason is Reason.OVERRIDE_UNMET:
            return self.plan.reason
        desired = self.analysis.verdict in {Verdict.MORE, Verdict.FEWER}
        return self.plan.reason if desired and self.plan.change is None and self.plan.reason in LIMITS else None

    @computed_field  # type: ignore[prop-decorator]
    @property
    def sentence(self) -> str:
        """The decision in one line."""
        after = len(self.plan.placement)
        before = self.analysis.reading.replicas if self.analysis.reading else after
        change = self.plan.change
        nodes = "".join(
            f", {sign}{node}"
            for sign, names in (("+", change.add if change else ()), ("-", change.remove if change else ()))
            for node in names
        )
        detail = self.plan.detail or self.analysis.detail
        if not after:
            replicas = "replicas unknown"
        else:
            replicas = format_replicas(after) if before == after else f"replicas {before} -> {after}"
        return f"{replicas} ({self.plan.reason.value}{nodes}): {detail}"
