"""The conditions of a StreamAutoscaler, from a decision and the spec."""

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal, NamedTuple

from pydantic import ValidationError

from gesscale.common.yaml_text import read_yaml
from gesscale.kubernetes.resource.parts import format_instant
from gesscale.kubernetes.resource.spec import StreamAutoscalerSpec
from gesscale.kubernetes.resource.status import MAX_MESSAGE_CHARS, Condition, shortened
from gesscale.kubernetes.resource.translate import FaultReason, ResourceFault
from gesscale.model.decision import FIXED_SLOTS, Decision, OutcomeStatus, Reason
from gesscale.model.model_text import fit_reason, fit_sentence
from gesscale.model.observation import HOLDS_NONE_YET
from gesscale.wire import entries_of

FAILURES = {OutcomeStatus.FAILED, OutcomeStatus.PARTLY_APPLIED}
METRICS_UNAVAILABLE = {Reason.METRICS_MISSING, Reason.METRICS_STALE}
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


def findings_of(decision: Decision, spec: StreamAutoscalerSpec, now_s: float) -> dict[str, ConditionFinding]:
    """Return the state of every condition, by type, after a step."""
    paused = _paused(spec, now_s)
    metrics, able, slots = _metrics(decision), _able(decision), _fixed_slots(decision)
    return {
        "Ready": _ready(decision, metrics, able),
        "SettingsInvalid": ConditionFinding(False, "SettingsValid", "the settings of the policy are valid"),
        "MetricsAvailable": metrics,
        "ModelFitted": _model(decision),
        "AbleToScale": able,
        "ScalingActive": _active(spec, paused, metrics, slots),
        "ScalingLimited": _limited(decision),
        "Paused": paused,
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
    findings: Mapping[str, ConditionFinding],
    old: Mapping[str, Any],
    *,
    generation: int,
    now_s: float,
    chars: int = MAX_MESSAGE_CHARS,
) -> tuple[Condition, ...]:
    """Return the conditions; a transition time changes with the status only."""
    since_s: dict[tuple[str, str], float] = {}
    for entry in entries_of(old, "conditions"):
        with suppress(ValidationError):  # another controller may have written anything
            former = Condition.model_validate(entry)
            since_s[former.type, former.status] = former.last_transition_time_s
    return tuple(
        Condition(
            type=name,
            status=_STATUS[finding.holds],
            reason=finding.reason,
            message=shortened(finding.message, chars),
            last_transition_time_s=since_s.get((name, _STATUS[finding.holds]), float(now_s)),
            observed_generation=generation,
        )
        for name, finding in findings.items()
    )


def _ready(decision: Decision, metrics: ConditionFinding, able: ConditionFinding) -> ConditionFinding:
    if not metrics.holds:
        return metrics
    if not able.holds and able.reason not in _WAITS:
        return able
    return ConditionFinding(True, decision.plan.reason, decision.sentence)


def _metrics(decision: Decision) -> ConditionFinding:
    analysis = decision.analysis
    if analysis.reading is not None:
        return ConditionFinding(True, "MetricsFound", "the driver reports batches")
    reason = analysis.reason if analysis.reason in METRICS_UNAVAILABLE else Reason.METRICS_MISSING
    return ConditionFinding(False, reason, analysis.detail)


def _model(decision: Decision) -> ConditionFinding:
    model = decision.analysis.model
    message = "; ".join((fit_sentence(model), *(model.warnings if model else ())))
    return ConditionFinding(model is not None and model.fitted, fit_reason(model), message)


def _able(decision: Decision) -> ConditionFinding:
    outcome = decision.outcome
    if outcome.status in FAILURES:
        return ConditionFinding(False, "OrderFailed", outcome.detail)
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


def _limited(decision: Decision) -> ConditionFinding:
    if decision.blocked_by is not None:
        return ConditionFinding(True, decision.blocked_by, decision.plan.detail)
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


def _paused(spec: StreamAutoscalerSpec, now_s: float) -> ConditionFinding:
    pause = spec.pause
    if pause is None:
        return ConditionFinding(False, "NotPaused", "spec.pause is not set")
    because = f": {pause.reason}" if pause.reason else ""
    if pause.until_s is None:
        return ConditionFinding(True, "PausedByUser", f"until spec.pause is removed{because}")
    until = format_instant(pause.until_s)
    if now_s >= pause.until_s:
        return ConditionFinding(False, "PauseExpired", f"the pause expired at {until}; spec.pause can be removed")
    return ConditionFinding(True, "PausedByUser", f"until {until}{because}")
