"""The standard conditions of a StreamAutoscaler, from a decision and from what people say."""

from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Literal, NamedTuple

from pydantic import ValidationError

from gesscale.kubernetes.resource.parts import format_instant
from gesscale.kubernetes.resource.spec import StreamAutoscalerSpec
from gesscale.kubernetes.resource.status import MESSAGE_LONGEST, Condition, shortened
from gesscale.kubernetes.resource.translate import FaultReason, ResourceFault
from gesscale.model.decision import FIXED_SLOTS, Decision, OutcomeStatus, Reason, Verdict
from gesscale.model.observation import HOLDS_NONE_YET
from gesscale.wire import entries_of

FAILURES = {OutcomeStatus.FAILED, OutcomeStatus.PARTLY_APPLIED}
METRICS_LACKING = {Reason.METRICS_MISSING, Reason.METRICS_STALE}
_CANNOT_CHANGE = {Reason.CLUSTER_UNAVAILABLE, Reason.RECONFIGURING, Reason.POLICY_FAILED, Reason.CHANGE_BUDGET_SPENT}
#: A change that goes on, of this operator or of others, is no fault.
_WAITS = {Reason.RECONFIGURING, Reason.CHANGE_BUDGET_SPENT}
#: Something is wanted that cannot be had.
LIMITS = {
    Reason.AT_MAX_REPLICAS,
    Reason.AT_MIN_REPLICAS,
    Reason.NO_CANDIDATE_NODE,
    Reason.DELAY_EATS_GAIN,
    Reason.LATENCY_MAP_MISSING,
    Reason.LATENCY_MAP_STALE,
    Reason.DELAY_UNKNOWN,
}

#: Every condition with what True means.
MEANING = {
    "Ready": "The operator is watched and could be scaled; its reason is that of the last decision.",
    "SettingsInvalid": "spec.policy.settings holds what the policy does not take, and nothing is changed.",
    "MetricsAvailable": "Its batches are seen (MetricsFound), and they are new enough.",
    "ModelFitted": "The performance model rests on enough readings to predict an MST.",
    "AbleToScale": "A change could be made now: the cluster answers, none is under way, and others leave room for one.",
    "ScalingActive": "Changes are carried out: mode Act, not paused, metrics there.",
    "ScalingLimited": "Something is wanted that cannot be had: a limit of replicas, nodes or what is known of delays.",
    "Paused": "spec.pause holds.",
    "FixedSlots": "The query runs in Real-Time Mode: its replicas are watched, and never changed.",
    "ReplicaWithoutState": "A replica holds no partition of the state yet, while another holds several.",
}
TYPES = tuple(MEANING)

_STATUS: Mapping[bool | None, Literal["True", "False", "Unknown"]] = {True: "True", False: "False", None: "Unknown"}


class Finding(NamedTuple):
    """What is known of one condition; it is not known whether it holds where ``holds`` is None."""

    holds: bool | None
    reason: str
    message: str = ""


def findings_of(decision: Decision, spec: StreamAutoscalerSpec, now_s: float) -> dict[str, Finding]:
    """Judge every condition, by its type, after a step."""
    paused = _paused(spec, now_s)
    metrics, able, slots = _metrics(decision), _able(decision), _fixed_slots(decision)
    return {
        "Ready": _ready(decision, metrics, able),
        "SettingsInvalid": Finding(False, "SettingsValid", "the policy takes its settings"),
        "MetricsAvailable": metrics,
        "ModelFitted": _model(decision),
        "AbleToScale": able,
        "ScalingActive": _active(spec, paused, metrics, slots),
        "ScalingLimited": _limited(decision),
        "Paused": paused,
        "FixedSlots": slots,
        "ReplicaWithoutState": _without_state(decision),
    }


def findings_of_fault(fault: ResourceFault) -> dict[str, Finding]:
    """Judge every condition of a resource that cannot be obeyed: it is not ready, and the rest is unknown."""
    findings = dict.fromkeys(TYPES, Finding(None, fault.reason, "see condition Ready"))
    findings["Ready"] = Finding(False, fault.reason, fault.message)
    if fault.reason is FaultReason.SETTINGS_INVALID:
        findings["SettingsInvalid"] = Finding(True, fault.reason, fault.message)
    return findings


def conditions_of(
    findings: Mapping[str, Finding],
    old: Mapping[str, Any],
    *,
    generation: int,
    now_s: float,
    chars: int = MESSAGE_LONGEST,
) -> tuple[Condition, ...]:
    """Date the findings."""
    since_s: dict[tuple[str, str], float] = {}
    for entry in entries_of(old, "conditions"):
        with suppress(ValidationError):  # another controller may have written anything
            stood = Condition.model_validate(entry)
            since_s[stood.type, stood.status] = stood.last_transition_time_s
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


def _ready(decision: Decision, metrics: Finding, able: Finding) -> Finding:
    if not metrics.holds:
        return metrics
    if not able.holds and able.reason not in _WAITS:
        return able
    return Finding(True, decision.plan.reason, decision.sentence)


def _metrics(decision: Decision) -> Finding:
    analysis = decision.analysis
    if analysis.reading is not None:
        return Finding(True, "MetricsFound", "the driver reports batches")
    reason = analysis.reason if analysis.reason in METRICS_LACKING else Reason.METRICS_MISSING
    return Finding(False, reason, analysis.detail)


def _model(decision: Decision) -> Finding:
    model = decision.analysis.model
    if model is None:
        message = "no model was fitted in the last step: there is no usable evidence, or the policy needs none"
        return Finding(False, Reason.MODEL_UNCALIBRATED, message)
    readings = f"law {model.law}, {model.readings_used} readings"
    if not model.calibrated:
        return Finding(False, Reason.MODEL_UNCALIBRATED, f"{readings}; three distinct ones are needed")
    reason = "ModelDrifted" if model.drift else "ModelCalibrated"
    return Finding(True, reason, "; ".join((readings, *map(str, model.warnings))))


def _able(decision: Decision) -> Finding:
    outcome = decision.outcome
    if outcome.status in FAILURES:
        return Finding(False, "OrderFailed", outcome.detail)
    for said in (decision.plan, decision.analysis):
        if said.reason in _CANNOT_CHANGE:
            return Finding(False, said.reason, said.detail)
    return Finding(True, "ReadyForNewScale", "a change could be made now")


def _active(spec: StreamAutoscalerSpec, paused: Finding, metrics: Finding, slots: Finding) -> Finding:
    if spec.mode != "Act":
        message = f"mode is {spec.mode}: set it to Act to let the controller scale"
        return Finding(False, f"{spec.mode}Only", message)
    if paused.holds:
        return Finding(False, "Paused", paused.message)
    if not metrics.holds:
        return metrics
    if slots.holds:
        return slots._replace(holds=False)
    return Finding(True, "Acting", "the controller scales as it decides")


def _limited(decision: Decision) -> Finding:
    plan = decision.plan
    wanted = decision.analysis.verdict in {Verdict.MORE, Verdict.FEWER}
    if wanted and plan.change is None and plan.reason in LIMITS:
        return Finding(True, plan.reason, plan.detail)
    return Finding(False, "DesiredWithinRange", "what is wanted can be had")


def _fixed_slots(decision: Decision) -> Finding:
    reading = decision.analysis.reading
    if reading is None:
        return Finding(None, decision.analysis.reason, "no batch tells")
    if reading.fixed_slots:
        return Finding(True, "RealTimeMode", FIXED_SLOTS)
    return Finding(False, "MicroBatches", "slots are free between two batches")


def _without_state(decision: Decision) -> Finding:
    reading = decision.analysis.reading
    if reading is None:
        return Finding(None, decision.analysis.reason, "no batch tells")
    if reading.without_state:
        return Finding(True, "HoldsNoneYet", f"{', '.join(reading.without_state)}: {HOLDS_NONE_YET}")
    if all(each.state_partitions is None for each in reading.by_node.values()):
        message = "the query keeps no state, or its driver does not tell who holds it"
        return Finding(False, "NoStateSeen", message)
    return Finding(False, "StateShared", "no replica waits for state")


def _paused(spec: StreamAutoscalerSpec, now_s: float) -> Finding:
    pause = spec.pause
    if pause is None:
        return Finding(False, "NotPaused", "spec.pause is not set")
    because = f": {pause.reason}" if pause.reason else ""
    if pause.until_s is None:
        return Finding(True, "PausedByUser", f"until spec.pause is taken out{because}")
    until = format_instant(pause.until_s)
    if now_s >= pause.until_s:
        return Finding(False, "PauseExpired", f"the pause ended at {until}; take spec.pause out")
    return Finding(True, "PausedByUser", f"until {until}{because}")
