"""Conditions: state, reason and transition time after a decision."""

import re
from dataclasses import replace

import pytest
from edge import reading
from model_summaries import both_laws, eq1_summary

from gesscale.common.errors import Problem
from gesscale.kubernetes.resource.conditions import TYPES, NodePool, conditions_of, findings_of, findings_of_fault
from gesscale.kubernetes.resource.spec import StreamAutoscalerSpec
from gesscale.kubernetes.resource.translate import FaultReason, ResourceFault
from gesscale.model.decision import Analysis, Decision, Outcome, OutcomeStatus, Plan, Reason, Verdict
from gesscale.model.observation import NodeReading
from perfmodel import Estimate, ModelSummary

NOW = 1_800_000_000.0  # 2027-01-15T08:00:00Z


def decision(reason=Reason.WITHIN_TARGET, *, verdict=Verdict.SAME, seen=True, planned=None, **changes):
    analysis = Analysis(
        operator="op",
        verdict=verdict,
        reason=reason,
        detail="as analyzed",
        reading=reading(placement=("hub", "near")) if seen else None,
        model=changes.pop("model", None),
    )
    plan = Plan(
        operator="op", reason=planned or reason, detail="as planned", before=("hub", "near"), placement=("hub", "near")
    )
    made = Decision(
        at_s=NOW,
        operator="op",
        policy="gesscale",
        analysis=analysis,
        plan=plan,
        outcome=Outcome(status=OutcomeStatus.NOTHING_TO_DO),
    )
    return replace(made, **changes)


def found(made, pool=NodePool(), **spec):  # noqa: B008  a constant
    judged = findings_of(made, StreamAutoscalerSpec.model_validate(spec), NOW, pool)
    assert list(judged) == list(TYPES)
    return {name: (finding.holds, finding.reason) for name, finding in judged.items()}


@pytest.mark.parametrize(
    ("near", "expected"), [(0, (True, "HoldsNoneYet")), (3, (False, "StateShared")), (None, (False, "NoStateSeen"))]
)
def test_a_replica_that_holds_no_state_yet(near, expected):
    hub = None if near is None else 6 - near
    by_node = {
        node: NodeReading(throughput_rows_per_s=1.0, busy_share=0.1, state_partitions=count)
        for node, count in (("hub", hub), ("near", near))
    }
    calm = decision()
    seen = replace(calm.analysis.reading, by_node=by_node)
    made = replace(calm, analysis=replace(calm.analysis, reading=seen))
    assert found(made)["ReplicaWithoutState"] == expected
    finding = findings_of(made, StreamAutoscalerSpec(), NOW)["ReplicaWithoutState"]
    assert finding.message.startswith("near: ") is (near == 0)


def test_the_conditions_of_a_normal_step():
    assert found(decision(model=eq1_summary()), mode="Act") == {
        "Ready": (True, "WithinTarget"),
        "SettingsInvalid": (False, "SettingsValid"),
        "MetricsAvailable": (True, "MetricsFound"),
        "ModelFitted": (True, "PredictsHeldOut"),
        "AbleToScale": (True, "ReadyForNewScale"),
        "ScalingActive": (True, "Acting"),
        "ScalingLimited": (False, "DesiredWithinRange"),
        "Paused": (False, "NotPaused"),
        "Overridden": (False, "NotOverridden"),
        "FixedSlots": (False, "MicroBatches"),
        "ReplicaWithoutState": (False, "NoStateSeen"),
    }


@pytest.mark.parametrize("reason", [Reason.METRICS_MISSING, Reason.METRICS_STALE])
def test_without_metrics_nothing_is_ready(reason):
    judged = found(decision(reason, verdict=Verdict.UNKNOWN, seen=False), mode="Act")
    for name in ("Ready", "MetricsAvailable", "ScalingActive"):
        assert judged[name] == (False, reason.value)


@pytest.mark.parametrize(
    ("within", "batches", "expected"),
    [
        (100.0, 41, (True, "PredictsPresent")),  # 10 % of 1,000
        (250.0, 41, (False, "OnePlacement")),
        (100.0, 9, (False, "OnePlacement")),
    ],
)
def test_a_model_of_one_placement_is_fitted_when_its_interval_is_narrow(within, batches, expected):
    model = eq1_summary(law="batch-time", fitted=False, conditions=0, held_out_error_pct=None, readings=batches)
    made = decision(model=model)
    mst = Estimate(low=1000.0 - within, mid=1000.0, high=1000.0 + within)
    made = replace(made, analysis=replace(made.analysis, mst=mst))
    assert found(made)["ModelFitted"] == expected
    message = findings_of(made, StreamAutoscalerSpec(), NOW)["ModelFitted"].message
    assert {f"{within / 10:.0f}", str(batches)} <= set(re.findall(r"\d+", message))


def test_a_step_without_a_fit_keeps_the_condition():
    fitted = conditions_of(
        findings_of(decision(model=eq1_summary()), StreamAutoscalerSpec(), NOW), {}, generation=1, now_s=NOW
    )
    old = {"conditions": [item.document() for item in fitted]}
    for reason, seen in ((Reason.RECONFIGURING, True), (Reason.METRICS_MISSING, False)):
        judged = findings_of(decision(reason, seen=seen), StreamAutoscalerSpec(), NOW)
        kept = conditions_of(judged, old, generation=1, now_s=NOW + 60)
        assert [each for each in kept if each.type == "ModelFitted"] == [
            each for each in fitted if each.type == "ModelFitted"
        ]


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        (None, (False, "NoEvidence")),
        (ModelSummary(law="eq1", laws=()), (False, "NoEvidence")),
        (both_laws(fitted=False, conditions=0, held_out_error_pct=None), (False, "OnePlacement")),
        (both_laws(fitted=False, conditions=3, held_out_error_pct=21.5), (False, "ErrorHigh")),
        (both_laws(), (True, "PredictsHeldOut")),
    ],
)
def test_a_model_is_fitted_when_it_predicts_held_out_placements(model, expected):
    assert found(decision(model=model))["ModelFitted"] == expected
    if model is not None and model.held_out_error_pct is not None:
        message = findings_of(decision(model=model), StreamAutoscalerSpec(), NOW)["ModelFitted"].message
        assert f"{model.held_out_error_pct} %" in message


@pytest.mark.parametrize(
    ("reason", "planned", "ready"),
    [
        (Reason.RECONFIGURING, Reason.RECONFIGURING, True),  # a pending change is no failure
        (Reason.OVERLOADED, Reason.CHANGE_BUDGET_SPENT, True),  # neither are the changes of others
        (Reason.OVERLOADED, Reason.CLUSTER_UNAVAILABLE, False),
    ],
)
def test_reasons_that_block_a_change(reason, planned, ready):
    judged = found(decision(reason, verdict=Verdict.MORE, planned=planned), mode="Act")
    assert judged["AbleToScale"] == (False, planned.value)
    assert judged["Ready"] == (ready, planned.value)


@pytest.mark.parametrize(
    ("verdict", "reason"),
    [
        (Verdict.MORE, Reason.AT_MAX_REPLICAS),
        (Verdict.FEWER, Reason.AT_MIN_REPLICAS),
        (Verdict.MORE, Reason.NO_CANDIDATE_NODE),
        (Verdict.MORE, Reason.DELAY_EATS_GAIN),
        (Verdict.FEWER, Reason.LATENCY_MAP_STALE),
    ],
)
def test_a_desired_change_that_is_blocked_is_limited(verdict, reason):
    made = decision(Reason.OVERLOADED, verdict=verdict, planned=reason)
    assert found(made)["ScalingLimited"] == (True, reason.value)


def test_an_empty_pool_comes_before_metrics():
    blind = decision(Reason.METRICS_MISSING, verdict=Verdict.UNKNOWN, seen=False)
    judged = found(blind, NodePool(0, "no node has pool=edge"), mode="Act")
    assert judged["Ready"] == judged["AbleToScale"] == (False, "NodePoolEmpty")
    assert judged["ScalingLimited"] == (True, "NodePoolEmpty")


def test_a_maximum_above_the_size_of_the_pool_is_no_limit_in_force():
    assert found(decision(), NodePool(3), maxReplicas=4)["ScalingLimited"] == (False, "NodePoolBelowMax")
    assert found(decision(), NodePool(3), maxReplicas=3)["ScalingLimited"] == (False, "DesiredWithinRange")


def test_an_override_that_cannot_be_met_limits_and_leaves_ready():
    made = decision(Reason.WITHIN_TARGET, planned=Reason.OVERRIDE_UNMET)
    override = {"replicas": 3, "until": "2027-01-15T08:00:01Z"}
    judged = found(made, mode="Act", maxReplicas=3, override=override)
    assert judged["ScalingLimited"] == (True, "OverrideUnmet")
    assert judged["Ready"] == (True, "OverrideUnmet")
    assert judged["Overridden"] == (True, "OverriddenByUser")


def test_an_override_that_has_ended_is_named():
    judged = found(decision(), override={"replicas": 1, "until": "2020-01-01T00:00:00Z"})
    assert judged["Overridden"] == (False, "OverrideExpired")


def test_a_number_from_the_scale_subresource_is_an_override_until_it_is_0():
    assert found(decision(), replicas=3)["Overridden"] == (True, "ReplicasSet")
    assert found(decision(), replicas=0)["Overridden"] == (False, "NotOverridden")


def test_a_pause_for_lost_memory_is_a_pause():
    assert found(decision(planned=Reason.PAUSED), mode="Act")["Paused"] == (True, "MemoryLost")


def test_a_freeze_by_schedule_is_a_pause():
    schedule = {"cron": "0 8 * * *", "duration": "1h", "freeze": True}  # NOW is 08:00
    assert found(decision(planned=Reason.PAUSED), schedules=[schedule])["Paused"] == (True, "ScheduledFreeze")


def test_a_pause_holds_until_its_end():
    judged = found(decision(), mode="Act", pause={"until": "2027-01-15T08:00:01Z"})
    assert judged["Paused"] == (True, "PausedByUser")
    assert judged["ScalingActive"] == (False, "Paused")
    ended = found(decision(), mode="Act", pause={"until": "2027-01-15T08:00:00Z"})
    assert ended["Paused"] == (False, "PauseExpired")
    assert ended["ScalingActive"] == (True, "Acting")


def test_invalid_policy_settings_have_their_own_condition():
    fault = ResourceFault(reason=FaultReason.SETTINGS_INVALID, problems=(Problem("cooldwn"),))
    judged = findings_of_fault(fault)
    assert judged["Ready"][::2] == (False, "cooldwn")
    assert judged["SettingsInvalid"][::2] == (True, "cooldwn")


def test_an_invalid_resource_is_not_ready_and_the_rest_unknown():
    fault = ResourceFault(reason=FaultReason.SETTINGS_DIFFER, problems=(Problem("they differ"),))
    ready, *others = conditions_of(findings_of_fault(fault), {}, generation=4, now_s=NOW)
    assert (ready.type, ready.status, ready.reason, ready.message) == (
        "Ready",
        "False",
        "SettingsDiffer",
        "they differ",
    )
    assert {(item.status, item.reason) for item in others} == {("Unknown", "SettingsDiffer")}
    assert {item.observed_generation for item in (ready, *others)} == {4}


def test_the_time_of_transition_moves_with_the_status_only():
    spec = StreamAutoscalerSpec.model_validate({})
    first = conditions_of(findings_of(decision(), spec, NOW), {}, generation=1, now_s=NOW)
    assert {item.last_transition_time_s for item in first} == {NOW}
    # Another reason with the same status keeps the time.
    old = {"conditions": [item.document() for item in first]}
    second = conditions_of(
        findings_of(decision(Reason.RECONFIGURING), spec, NOW + 60), old, generation=2, now_s=NOW + 60
    )
    moved = {item.type for item in second if item.last_transition_time_s == NOW + 60}
    assert moved == {"AbleToScale"}  # True, then False; Ready stays True with another reason
    ready = second[0]
    assert (ready.reason, ready.observed_generation, ready.last_transition_time_s) == ("Reconfiguring", 2, NOW)


def test_a_long_message_is_truncated():
    fault = ResourceFault(reason=FaultReason.SPEC_INVALID, problems=(Problem("x" * 5000),))
    ready, *_ = conditions_of(findings_of_fault(fault), {}, generation=1, now_s=NOW)
    assert len(ready.message) == 1024
    assert ready.message.endswith("x...")


MISSING = {"far": "the node was deleted"}


def test_a_missing_replica_is_not_ready_and_limited_while_no_node_can_take_it():
    def judged(made):
        findings = findings_of(made, StreamAutoscalerSpec(), NOW, missing=MISSING)
        return [(findings[name].holds, findings[name].reason) for name in ("Ready", "ScalingLimited")]

    assert judged(decision(Reason.REPLICA_LOST)) == [(False, "ReplicaLost"), (False, "DesiredWithinRange")]
    assert judged(decision(planned=Reason.NO_CANDIDATE_NODE)) == [(False, "ReplicaLost"), (True, "NoCandidateNode")]
