"""The conditions of a StreamAutoscaler, from a decision and the spec."""

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

from pydantic import ValidationError

from gesscale.common.yaml_text import read_yaml
from gesscale.kubernetes.resource.parts import format_instant
from gesscale.kubernetes.resource.spec import OverrideSpec, PauseSpec, StreamAutoscalerSpec
from gesscale.kubernetes.resource.status import Condition
from gesscale.kubernetes.resource.translate import FaultReason, ResourceFault
from gesscale.model.decision import FIXED_SLOTS, Decision, OutcomeStatus, Reason
from gesscale.model.model_text import fit_verdict
from gesscale.model.observation import HOLDS_NONE_YET
from gesscale.wire import entries_of

#: Reason of ScalingLimited while the pool has fewer nodes than max_replicas: a warning, not a limit in force.
POOL_BELOW_MAX = "NodePoolBelowMax"
_FAILURES = {OutcomeStatus.FAILED, OutcomeStatus.PARTLY_APPLIED}
_METRICS_UNAVAILABLE = {Reason.METRICS_MISSING, Reason.METRICS_STALE}
_CANNOT_CHANGE = {Reason.CLUSTER_UNAVAILABLE, Reason.RECONFIGURING, Reason.POLICY_FAILED, Reason.CHANGE_BUDGET_SPENT}
#: A change in progress, of this operator or of others, is no failure.
_WAITS = {Reason.RECONFIGURING, Reason.CHANGE_BUDGET_SPENT}
#: The meaning of True, by type of condition.
MEANING: Mapping[str, str] = read_yaml(Path(__file__).with_name("conditions.yaml"))
TYPES = tuple(MEANING)

_STATUS: Mapping[bool | None, Literal["True", "False", "Unknown"]] = {True: "True", False: "False", None: "Unknown"}


class ConditionFinding(NamedTuple):
    """State of one condition; ``holds`` is None if it is unknown."""

    holds: bool | None
    reason: str
    message: str = ""


class NodePool(NamedTuple):
    """The nodes of an operator's pool."""

    #: Number of its nodes; None if not known.
    nodes: int | None = None
    #: Reason why no node is in it; empty if one is.
    empty: str = ""


#: The model is not fitted in this step; the former condition stays.
_NOT_FITTED_NOW = ConditionFinding(None, "NoRecentBatch", "no recent batch, or a change is settling")
_UNKNOWN_POOL = NodePool()


def findings_of(
    decision: Decision,
    spec: StreamAutoscalerSpec,
    now_s: float,
    pool: NodePool = _UNKNOWN_POOL,
    missing: Mapping[str, str] = MappingProxyType({}),
) -> dict[str, ConditionFinding]:
    """Return the state of every condition, by type, after a step.

    Parameters
    ----------
    missing
        Ordered nodes without a replica, with the cause.
    """
    paused = _directed("pause", spec.pause, now_s)
    if decision.plan.reason is Reason.PAUSED and not paused.holds:
        frozen = any(each.freeze and each.build().ends_at_s(now_s) for each in spec.schedules)
        paused = ConditionFinding(True, "ScheduledFreeze" if frozen else "MemoryLost", decision.plan.detail)
    metrics, slots = _metrics(decision), _fixed_slots(decision)
    able = ConditionFinding(False, Reason.NODE_POOL_EMPTY, pool.empty) if pool.empty else _able(decision)
    return {
        "Ready": _ready(decision, metrics, able, missing),
        "SettingsInvalid": ConditionFinding(False, "SettingsValid", "the settings of the policy are valid"),
        "MetricsAvailable": metrics,
        "ModelFitted": _model(decision),
        "AbleToScale": able,
        "ScalingActive": _active(spec, paused, metrics, slots),
        "ScalingLimited": _limited(decision, spec, pool, missing),
        "Paused": paused,
        "Overridden": _overridden(spec, now_s),
        "FixedSlots": slots,
        "ReplicaWithoutState": _without_state(decision),
    }


def findings_of_fault(fault: ResourceFault) -> dict[str, ConditionFinding]:
    """Return the state of every condition of an invalid resource: not ready, and the rest unknown."""
    findings = dict.fromkeys(TYPES, ConditionFinding(None, fault.reason, "see condition Ready"))
    findings["Ready"] = ConditionFinding(False, fault.reason, fault.message)
    if fault.reason is FaultReason.SETTINGS_INVALID:
        findings["SettingsInvalid"] = ConditionFinding(True, fault.reason, fault.message)
    return findings


def conditions_of(
    findings: Mapping[str, ConditionFinding], old: Mapping[str, Any], *, generation: int, now_s: float
) -> tuple[Condition, ...]:
    """Return the conditions; a transition time changes with the status only."""
    former: dict[str, Condition] = {}
    for entry in entries_of(old, "conditions"):
        with suppress(ValidationError):  # another controller may have written anything
            condition = Condition.model_validate(entry)
            former[condition.type] = condition
    since_s = {(each.type, each.status): each.last_transition_time_s for each in former.values()}
    return tuple(
        former[name]
        if finding is _NOT_FITTED_NOW and name in former
        else Condition(
            type=name,
            status=_STATUS[finding.holds],
            reason=finding.reason,
            message=finding.message,
            last_transition_time_s=since_s.get((name, _STATUS[finding.holds]), float(now_s)),
            observed_generation=generation,
        )
        for name, finding in findings.items()
    )


def _ready(
    decision: Decision, metrics: ConditionFinding, able: ConditionFinding, missing: Mapping[str, str]
) -> ConditionFinding:
    if able.reason == Reason.NODE_POOL_EMPTY:
        return able
    if not metrics.holds:
        return metrics
    if not able.holds and able.reason not in _WAITS:
        return able
    if missing:
        lost = "; ".join(f"{node}: {cause}" for node, cause in sorted(missing.items()))
        return ConditionFinding(False, Reason.REPLICA_LOST, f"ordered and missing: {lost}")
    return ConditionFinding(True, decision.plan.reason, decision.sentence)


def _metrics(decision: Decision) -> ConditionFinding:
    analysis = decision.analysis
    if analysis.reading is not None:
        return ConditionFinding(True, "MetricsFound", "the driver reports batches")
    reason = analysis.reason if analysis.reason in _METRICS_UNAVAILABLE else Reason.METRICS_MISSING
    return ConditionFinding(False, reason, analysis.detail)


def _model(decision: Decision) -> ConditionFinding:
    analysis = decision.analysis
    if analysis.model is None and (analysis.reading is None or analysis.reason is Reason.RECONFIGURING):
        return _NOT_FITTED_NOW
    return ConditionFinding(*fit_verdict(analysis.model, analysis.mst))


def _able(decision: Decision) -> ConditionFinding:
    outcome = decision.outcome
    if outcome.status in _FAILURES:
        return ConditionFinding(False, "FailedRescale", outcome.detail)
    for part in (decision.plan, decision.analysis):
        if part.reason in _CANNOT_CHANGE:
            return ConditionFinding(False, part.reason, part.detail)
    return ConditionFinding(True, "ReadyForNewScale", "no change in progress")


def _active(
    spec: StreamAutoscalerSpec, paused: ConditionFinding, metrics: ConditionFinding, slots: ConditionFinding
) -> ConditionFinding:
    if spec.mode != "Act":
        message = f"spec.mode is {spec.mode}; Act enables scaling"
        return ConditionFinding(False, f"{spec.mode}Only", message)
    if paused.holds:
        return ConditionFinding(False, "Paused", paused.message)
    if not metrics.holds:
        return metrics
    if slots.holds:
        return slots._replace(holds=False)
    return ConditionFinding(True, "Acting", "decisions are applied")


def _limited(
    decision: Decision, spec: StreamAutoscalerSpec, pool: NodePool, missing: Mapping[str, str]
) -> ConditionFinding:
    plan = decision.plan
    if pool.empty:
        return ConditionFinding(True, Reason.NODE_POOL_EMPTY, pool.empty)
    if decision.blocked_by is not None:
        return ConditionFinding(True, decision.blocked_by, plan.detail)
    if missing and plan.reason is Reason.NO_CANDIDATE_NODE:
        return ConditionFinding(True, plan.reason, plan.detail)
    if pool.nodes is not None and pool.nodes < spec.max_replicas:
        held = f"the node pool has {pool.nodes}, and each node holds one executor of an operator"
        return ConditionFinding(False, POOL_BELOW_MAX, f"maxReplicas is {spec.max_replicas}; {held}")
    return ConditionFinding(False, "DesiredWithinRange", "desired replicas are within the limits")


def _fixed_slots(decision: Decision) -> ConditionFinding:
    reading = decision.analysis.reading
    if reading is None:
        return ConditionFinding(None, decision.analysis.reason, "no recent batch")
    if reading.fixed_slots:
        return ConditionFinding(True, "RealTimeMode", FIXED_SLOTS)
    return ConditionFinding(False, "MicroBatches", "the query runs in micro-batches")


def _without_state(decision: Decision) -> ConditionFinding:
    reading = decision.analysis.reading
    if reading is None:
        return ConditionFinding(None, decision.analysis.reason, "no recent batch")
    if reading.without_state:
        return ConditionFinding(True, "HoldsNoneYet", f"{', '.join(reading.without_state)}: {HOLDS_NONE_YET}")
    if all(each.state_partitions is None for each in reading.by_node.values()):
        message = "the query has no state, or its driver does not report the state partitions"
        return ConditionFinding(False, "NoStateSeen", message)
    return ConditionFinding(False, "StateShared", "every replica holds state")


def _overridden(spec: StreamAutoscalerSpec, now_s: float) -> ConditionFinding:
    found = _directed("override", spec.override, now_s)
    if found.holds or not spec.replicas:
        return found
    return ConditionFinding(True, "ReplicasSet", f"spec.replicas is {spec.replicas}; 0 lets the policy decide")


def _directed(name: str, part: PauseSpec | OverrideSpec | None, now_s: float) -> ConditionFinding:
    """Return whether the pause or the override of a spec is in force."""
    participle = {"pause": "Paused", "override": "Overridden"}[name]
    if part is None:
        return ConditionFinding(False, f"Not{participle}", f"spec.{name} is not set")
    why = part.reason if isinstance(part, PauseSpec) else ""
    because = f": {why}" if why else ""
    if part.until_s is None:
        return ConditionFinding(True, f"{participle}ByUser", f"until spec.{name} is removed{because}")
    until = format_instant(part.until_s)
    if now_s >= part.until_s:
        ended = f"spec.{name} ended at {until} and has no effect; remove it"
        return ConditionFinding(False, f"{name.capitalize()}Expired", ended)
    return ConditionFinding(True, f"{participle}ByUser", f"until {until}{because}")
