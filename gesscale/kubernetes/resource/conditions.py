"""The standard conditions of a StreamAutoscaler, from a decision and from what people say."""

from collections.abc import Iterable
from dataclasses import dataclass

from gesscale.kubernetes.resource.parts import format_instant
from gesscale.kubernetes.resource.spec import StreamAutoscalerSpec
from gesscale.kubernetes.resource.status import Condition
from gesscale.kubernetes.resource.translate import FaultReason, ResourceFault
from gesscale.model.decision import FIXED_SLOTS, Decision, OutcomeStatus, Reason, Verdict
from gesscale.model.observation import HOLDS_NONE_YET

_METRICS_LACKING = {Reason.METRICS_MISSING, Reason.METRICS_STALE}
_CANNOT_CHANGE = {
    Reason.CLUSTER_UNAVAILABLE,
    Reason.RECONFIGURING,
    Reason.POLICY_FAILED,
    Reason.CHANGE_BUDGET_SPENT,
}
_WAITS = {Reason.RECONFIGURING, Reason.CHANGE_BUDGET_SPENT}
"""A change that goes on, of this operator or of others, is no fault."""
_LIMITS = {
    Reason.AT_MAX_REPLICAS,
    Reason.AT_MIN_REPLICAS,
    Reason.NO_CANDIDATE_NODE,
    Reason.DELAY_EATS_GAIN,
    Reason.LATENCY_MAP_MISSING,
    Reason.LATENCY_MAP_STALE,
    Reason.DELAY_UNKNOWN,
}
"""Something is wanted that cannot be had."""

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
"""Every condition with what True means."""
TYPES = tuple(MEANING)


@dataclass(frozen=True, slots=True)
class ConditionFinding:
    """One condition before it is known since when it holds.

    Attributes
    ----------
    holds
        None where this is not known.
    """

    type: str
    holds: bool | None
    reason: str
    message: str = ""


def findings_of(decision: Decision, spec: StreamAutoscalerSpec, now_s: float) -> tuple[ConditionFinding, ...]:
    """Judge every condition after a step.

    Parameters
    ----------
    decision
        What the step concluded and did.
    spec
        What people say: mode, pause.
    now_s
        Seconds since the epoch, for pauses that have expired.

    Returns
    -------
    tuple of ConditionFinding
        One of each of `TYPES`.
    """
    paused = _paused(spec, now_s)
    metrics, able, slots = _metrics(decision), _able(decision), _fixed_slots(decision)
    return (
        _ready(decision, metrics, able),
        ConditionFinding("SettingsInvalid", False, "SettingsValid", "the policy takes its settings"),
        metrics,
        _model(decision),
        able,
        _active(spec, paused, metrics, slots),
        _limited(decision),
        paused,
        slots,
        _without_state(decision),
    )


def findings_of_fault(fault: ResourceFault) -> tuple[ConditionFinding, ...]:
    """Judge every condition of a resource that cannot be obeyed: it is not ready, and the rest is unknown."""
    ready = ConditionFinding("Ready", False, fault.reason, fault.message)
    others = [ConditionFinding(name, None, fault.reason, "see condition Ready") for name in TYPES[1:]]
    if fault.reason is FaultReason.SETTINGS_INVALID:
        others[0] = ConditionFinding("SettingsInvalid", True, fault.reason, fault.message)
    return ready, *others


def conditions_of(
    findings: Iterable[ConditionFinding], before: Iterable[Condition], *, generation: int, now_s: float
) -> tuple[Condition, ...]:
    """Date the findings.

    Parameters
    ----------
    findings
        What holds now.
    before
        The conditions as they stood; the time of transition moves only where the status changes.
    generation
        Of the spec that was obeyed.
    now_s
        Seconds since the epoch.

    Returns
    -------
    tuple of Condition
        In the order of the findings.
    """
    stood = {condition.type: condition for condition in before}
    return tuple(_dated(finding, stood.get(finding.type), generation, now_s) for finding in findings)


def _dated(finding: ConditionFinding, stood: Condition | None, generation: int, now_s: float) -> Condition:
    status = {True: "True", False: "False", None: "Unknown"}[finding.holds]
    same = stood is not None and stood.status == status
    return Condition.model_validate(
        {
            "type": finding.type,
            "status": status,
            "reason": finding.reason,
            "message": finding.message,
            "last_transition_time_s": stood.last_transition_time_s if stood and same else float(now_s),
            "observed_generation": generation,
        }
    )


def _ready(decision: Decision, metrics: ConditionFinding, able: ConditionFinding) -> ConditionFinding:
    if not metrics.holds:
        return ConditionFinding("Ready", False, metrics.reason, metrics.message)
    if not able.holds and able.reason not in _WAITS:
        return ConditionFinding("Ready", False, able.reason, able.message)
    return ConditionFinding("Ready", True, decision.plan.reason, decision.sentence)


def _metrics(decision: Decision) -> ConditionFinding:
    analysis = decision.analysis
    if analysis.reading is not None:
        return ConditionFinding("MetricsAvailable", True, "MetricsFound", "the driver reports batches")
    reason = analysis.reason if analysis.reason in _METRICS_LACKING else Reason.METRICS_MISSING
    return ConditionFinding("MetricsAvailable", False, reason, analysis.detail)


def _model(decision: Decision) -> ConditionFinding:
    model = decision.analysis.model
    if model is None:
        return ConditionFinding(
            "ModelFitted",
            False,
            Reason.MODEL_UNCALIBRATED,
            "no model was fitted in the last step: there is no usable evidence, or the policy needs none",
        )
    readings = f"law {model.law}, {model.readings_used} readings"
    if not model.calibrated:
        message = f"{readings}; three distinct ones are needed"
        return ConditionFinding("ModelFitted", False, Reason.MODEL_UNCALIBRATED, message)
    reason = "ModelDrifted" if model.drift else "ModelCalibrated"
    return ConditionFinding("ModelFitted", True, reason, "; ".join((readings, *model.warnings)))


def _able(decision: Decision) -> ConditionFinding:
    outcome, plan = decision.outcome, decision.plan
    if outcome.status in {OutcomeStatus.FAILED, OutcomeStatus.PARTLY_APPLIED}:
        return ConditionFinding("AbleToScale", False, "OrderFailed", outcome.detail)
    for said in (plan, decision.analysis):
        if said.reason in _CANNOT_CHANGE:
            return ConditionFinding("AbleToScale", False, said.reason, said.detail)
    return ConditionFinding("AbleToScale", True, "ReadyForNewScale", "a change could be made now")


def _active(
    spec: StreamAutoscalerSpec, paused: ConditionFinding, metrics: ConditionFinding, slots: ConditionFinding
) -> ConditionFinding:
    if spec.mode != "Act":
        message = f"mode is {spec.mode}: set it to Act to let the controller scale"
        return ConditionFinding("ScalingActive", False, f"{spec.mode}Only", message)
    if paused.holds:
        return ConditionFinding("ScalingActive", False, "Paused", paused.message)
    if not metrics.holds:
        return ConditionFinding("ScalingActive", False, metrics.reason, metrics.message)
    if slots.holds:
        return ConditionFinding("ScalingActive", False, slots.reason, slots.message)
    return ConditionFinding("ScalingActive", True, "Acting", "the controller scales as it decides")


def _limited(decision: Decision) -> ConditionFinding:
    plan = decision.plan
    wanted = decision.analysis.verdict in {Verdict.MORE, Verdict.FEWER}
    if wanted and plan.change is None and plan.reason in _LIMITS:
        return ConditionFinding("ScalingLimited", True, plan.reason, plan.detail)
    return ConditionFinding("ScalingLimited", False, "DesiredWithinRange", "what is wanted can be had")


def _fixed_slots(decision: Decision) -> ConditionFinding:
    reading = decision.analysis.reading
    if reading is None:
        return ConditionFinding("FixedSlots", None, decision.analysis.reason, "no batch tells")
    if reading.fixed_slots:
        return ConditionFinding("FixedSlots", True, "RealTimeMode", FIXED_SLOTS)
    return ConditionFinding("FixedSlots", False, "MicroBatches", "slots are free between two batches")


def _without_state(decision: Decision) -> ConditionFinding:
    reading = decision.analysis.reading
    if reading is None:
        return ConditionFinding("ReplicaWithoutState", None, decision.analysis.reason, "no batch tells")
    if reading.without_state:
        message = f"{', '.join(reading.without_state)}: {HOLDS_NONE_YET}"
        return ConditionFinding("ReplicaWithoutState", True, "HoldsNoneYet", message)
    if all(each.state_partitions is None for each in reading.by_node.values()):
        message = "the query keeps no state, or its driver does not tell who holds it"
        return ConditionFinding("ReplicaWithoutState", False, "NoStateSeen", message)
    return ConditionFinding("ReplicaWithoutState", False, "StateShared", "no replica waits for state")


def _paused(spec: StreamAutoscalerSpec, now_s: float) -> ConditionFinding:
    pause = spec.pause
    if pause is None:
        return ConditionFinding("Paused", False, "NotPaused", "spec.pause is not set")
    if pause.until_s is not None and now_s >= pause.until_s:
        message = f"the pause ended at {format_instant(pause.until_s)}; take spec.pause out"
        return ConditionFinding("Paused", False, "PauseExpired", message)
    until = (
        "until spec.pause is taken out" if pause.until_s is None else f"until {format_instant(pause.until_s)}"
    )
    because = f": {pause.reason}" if pause.reason else ""
    return ConditionFinding("Paused", True, "PausedByUser", f"{until}{because}")
