"""When a new status is written: states at once, figures once a period."""

from dataclasses import replace

import pytest
from edge import known
from hypothesis import given, settings
from hypothesis import strategies as st
from recorded_steps import T0_S, after, decided, evidence, ordered, overloaded, report_of

from gesscale.kubernetes.reporting.report import apply_merge_patch, status_patch
from gesscale.kubernetes.resource.status import DriverStatus, StreamAutoscalerStatus
from gesscale.model.decision import MapStatus, Reason, Verdict
from gesscale.model.observation import RowAge
from gesscale.plan.replica_kinds import ReplicaKinds
from perfmodel import Reading


def test_an_equal_decision_is_not_written_again():
    seen = after(overloaded(), ordered())
    first = report_of({}, seen)
    assert first.patch is not None
    second = report_of(first.status, seen)
    assert (second.patch, second.events) == (None, ())


def test_figures_are_written_once_a_period():
    old = report_of({}, after(decided())).status
    assert report_of(old, after(decided(T0_S + 40, load=600.0))).patch is None  # the period is 60 s
    patch = report_of(old, after(decided(T0_S + 60, load=600.0))).patch
    assert patch["load"] == {"inputRowsPerSecond": 600.0, "throughputRowsPerSecond": 600.0}
    assert patch["lastDecision"] == {"at": "2027-01-15T08:01:00Z"}  # the only change
    # Without a difference the time of the figures is written.
    assert report_of(old, after(decided(T0_S + 60))).patch["lastDecision"] == {"at": "2027-01-15T08:01:00Z"}


def test_the_age_of_rows_is_a_figure():
    ages = [RowAge(objective_s=60.0, seconds=seconds, late_s=seconds) for seconds in (12.3, 75.0)]
    old = report_of({}, after(replace(decided(), row_age=ages[0]))).status
    assert old["rowAge"] == {
        **{"seconds": 12.3, "isLeast": False, "objectiveSeconds": 60.0, "lateSeconds": 12.3, "text": "12s/60s"}
    }
    later = replace(decided(T0_S + 20), row_age=ages[1])
    assert report_of(old, after(later)).patch is None
    patch = report_of(old, after(replace(later, at_s=T0_S + 60))).patch
    assert patch["rowAge"] == {"seconds": 75.0, "lateSeconds": 75.0, "text": "75s/60s"}


@pytest.mark.parametrize(
    "change",
    [
        {"decision": decided(T0_S + 1, reason=Reason.DRAINING_BACKLOG)},
        {"decision": decided(T0_S + 1, map_status=MapStatus(age_s=31.0, stale="it is 8 days old"))},
        {"replicas": ReplicaKinds(running=("hub",))},
        {"generation": 4},
        {"driver": DriverStatus(pod="driver-2", node="hub")},
    ],
    ids=lambda change: next(iter(change)),
)
def test_a_change_of_state_is_written_at_once(change):
    old = report_of({}, after(decided())).status
    seen = replace(after(decided(T0_S + 1)), **change)
    assert report_of(old, seen).patch is not None


def test_a_reading_of_a_new_placement_is_written_at_once():
    old = report_of({}, after(decided(), known(readings={"op": evidence(2)}))).status
    more = known(readings={"op": evidence(3)})
    assert "memory" in report_of(old, after(decided(T0_S + 1), more)).patch
    again = Reading(replicas=1, nd_max_ms=0.9, rows_per_s=301.0, at_s=T0_S + 1)  # as 1 replica at 0 ms
    same = known(readings={"op": (again, *evidence(2))})
    assert report_of(old, after(decided(T0_S + 40), same)).patch is None
    assert "memory" in report_of(old, after(decided(T0_S + 60), same)).patch


def test_missing_keys_become_null_except_the_order():
    old = report_of({}, after(decided())).status | {"order": {"id": "7-3"}, "leftOver": 1}
    blind = decided(T0_S + 1, reason=Reason.METRICS_MISSING, verdict=Verdict.UNKNOWN, seen=False)
    patch = report_of(old, after(blind)).patch
    assert (patch["load"], patch["mst"], patch["leftOver"]) == (None, None, None)
    assert "order" not in patch
    without = {key: value for key, value in old.items() if key != "order"}
    assert status_patch(old, without, 60.0) is None


PLAIN = st.recursive(
    st.integers() | st.text(max_size=3) | st.booleans() | st.lists(st.integers(), max_size=3),
    lambda inner: st.dictionaries(st.sampled_from("abcd"), inner, max_size=4),
    max_leaves=12,
)
STATUSES = st.dictionaries(st.sampled_from(["load", "mst", "history", "driver", "replicas"]), PLAIN)


@settings(deadline=None)
@given(old=STATUSES, new=STATUSES)
def test_the_patch_applied_to_the_old_status_gives_the_new_one(old, new):
    patch = status_patch(old, new, 60.0)
    if patch is not None:
        assert apply_merge_patch(old, patch) == new
    else:  # figures may differ by a little, nothing else may
        assert all(old.get(key) == new.get(key) for key in ("history", "driver", "replicas"))
    assert status_patch(new, new, 60.0) is None


@settings(deadline=None)
@given(
    loads=st.lists(st.floats(0, 1e6), min_size=2, max_size=8),
    picks=st.lists(st.sampled_from([Reason.WITHIN_TARGET, Reason.DRAINING_BACKLOG]), min_size=8, max_size=8),
)
def test_the_written_status_is_valid_and_has_the_newest_reason(loads, picks):
    status = {}
    for step, (load, reason) in enumerate(zip(loads, picks, strict=False)):
        report = report_of(status, after(decided(T0_S + 10 * step, load=load, reason=reason)))
        assert apply_merge_patch(status, report.patch or {}) == report.status
        status = report.status
    assert StreamAutoscalerStatus.model_validate(status).document() == status
    assert status["lastDecision"]["reason"] == picks[len(loads) - 1]
