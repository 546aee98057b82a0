"""Events of conditions that changed."""

import pytest
from model_summaries import eq1_summary
from recorded_steps import ACTING, T0_S, after, decided, reasons, report_of

from gesscale.kubernetes.resource.spec import StreamAutoscalerSpec
from gesscale.model.decision import Reason, Verdict


@pytest.mark.parametrize(
    ("reason", "verdict", "event"),
    [
        (Reason.AT_MAX_REPLICAS, Verdict.MORE, ["AtMaxReplicas"]),
        (Reason.NO_CANDIDATE_NODE, Verdict.MORE, ["NoCandidateNode"]),
        (Reason.DELAY_EATS_GAIN, Verdict.MORE, ["DelayEatsGain"]),
        (Reason.OVERRIDE_UNMET, Verdict.SAME, ["OverrideUnmet"]),
        (Reason.CLUSTER_UNAVAILABLE, Verdict.MORE, ["ClusterUnavailable"]),
        (Reason.RECONFIGURING, Verdict.SAME, []),
        (Reason.REPLICA_LOST, Verdict.SAME, []),  # the events of replicas name the nodes
        (Reason.LATENCY_MAP_STALE, Verdict.SAME, []),  # no change desired
        (Reason.AT_MIN_REPLICAS, Verdict.FEWER, []),  # normal at low load
    ],
)
def test_a_condition_that_changes_is_an_event_with_its_reason(reason, verdict, event):
    old = report_of({}, after(decided())).status
    first = report_of(old, after(decided(T0_S + 60, reason=reason, verdict=verdict)))
    assert reasons(first) == event
    assert reasons(report_of(first.status, after(decided(T0_S + 120, reason=reason, verdict=verdict)))) == []


def blind(at_s, detail="no pod", reason=Reason.METRICS_MISSING):
    lost = decided(at_s, reason=reason, verdict=Verdict.UNKNOWN, seen=False, placement=(), detail=detail)
    return after(lost, live=None, driver=None)


def kinds(report):
    return [(event.kind.value, event.reason) for event in report.events]


def test_a_driver_that_starts_is_no_warning_and_one_that_does_not_is():
    began = report_of({}, blind(T0_S))
    assert kinds(began) == [("Normal", "MetricsMissing")]
    # The cause is written and announced with the next refresh.
    moved = report_of(began.status, blind(T0_S + 60, "connection refused"))
    assert kinds(moved) == [("Normal", "MetricsMissing")]
    assert moved.events[0].message == "connection refused"
    assert kinds(report_of(moved.status, blind(T0_S + 120, "connection refused"))) == []
    # spec.monitor.staleAfter is 180 s
    late = report_of(moved.status, blind(T0_S + 180, "connection refused"))
    assert kinds(late) == [("Warning", "MetricsMissing")]
    assert kinds(report_of(moved.status, blind(T0_S + 60, reason=Reason.METRICS_STALE)))[0] == (
        "Warning",
        "MetricsStale",
    )


def directed(at_s, reason=Reason.WITHIN_TARGET, **spec):
    given = {**ACTING.model_dump(by_alias=True, mode="json", exclude_none=True), **spec}
    return after(decided(at_s, reason=reason), spec=StreamAutoscalerSpec.model_validate(given))


@pytest.mark.parametrize(
    ("part", "begun", "over"),
    [
        ("pause", "PausedByUser", ("NotPaused", "PauseExpired")),
        ("override", "OverriddenByUser", ("NotOverridden", "OverrideExpired")),
    ],
)
def test_a_pause_and_an_override_are_events_at_their_begin_and_end(part, begun, over):
    until = {"until": "2027-01-15T08:01:00Z", **({"replicas": 1} if part == "override" else {})}  # T0_S + 60
    removed, expired = over
    calm = report_of({}, directed(T0_S))
    first = report_of(calm.status, directed(T0_S + 1, **{part: until}))
    assert kinds(first) == [("Normal", begun)]
    assert kinds(report_of(first.status, directed(T0_S + 2))) == [("Normal", removed)]
    ended = report_of(first.status, directed(T0_S + 60, **{part: until}))
    assert kinds(ended) == [("Normal", expired)]
    # One that has ended when it is set never held.
    assert kinds(report_of(calm.status, directed(T0_S + 61, **{part: until}))) == [("Warning", expired)]


def test_a_status_of_anything_is_no_obstacle():
    for conditions in (None, 7, [7, None, {"type": []}, {"type": "Ready", "status": {}, "message": [1]}], {"Ready": 1}):
        assert kinds(report_of({"conditions": conditions}, after(decided()))) == []


def test_a_model_is_an_event_when_it_is_fitted_and_no_longer():
    def modelled(at_s, **fields):
        return after(decided(at_s, model=eq1_summary(**fields)))

    few = report_of({}, modelled(T0_S, fitted=False))
    assert kinds(few) == []
    fitted = report_of(few.status, modelled(T0_S + 1))
    assert kinds(fitted) == [("Normal", "PredictsHeldOut")]
    moved = report_of(fitted.status, modelled(T0_S + 120, alpha=1000))
    assert (moved.patch is None, kinds(moved)) == (False, [])  # a parameter that moves is written, without an event
    assert report_of(fitted.status, modelled(T0_S + 30, alpha=1000)).patch is None
    lost = report_of(moved.status, modelled(T0_S + 180, fitted=False, held_out_error_pct=30.0))
    assert kinds(lost) == [("Warning", "ErrorHigh")]
    assert kinds(report_of(moved.status, blind(T0_S + 240))) == [("Normal", "MetricsMissing")]
