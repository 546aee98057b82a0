"""Builders for what a controller tells: decisions of one operator, and the reports they lead to."""

from edge import known, reading

from gesscale.kubernetes.reporting.report import report_step
from gesscale.kubernetes.reporting.status import ObservedStep
from gesscale.kubernetes.resource.order import OrderStatus
from gesscale.kubernetes.resource.spec import StreamAutoscalerSpec
from gesscale.kubernetes.resource.status import DriverStatus
from gesscale.model.decision import Analysis, Change, Decision, MapStatus, Outcome, OutcomeStatus, Plan, Reason, Verdict
from gesscale.plan.replica_kinds import ReplicaKinds
from perfmodel import Estimate, Reading

T0_S = 1_800_000_000.0  # 2027-01-15T08:00:00Z
ACTING = StreamAutoscalerSpec.model_validate({"mode": "Act"})
LIVE = ("hub", "near")
MST = Estimate(low=600.0, mid=640.0, high=700.0)


def evidence(count, *, first=0):
    """Readings of as many placements, newest first."""
    return tuple(
        Reading(replicas=1 + n, nd_max_ms=10.0 * n, rows_per_s=300.0 * (1 + n), at_s=T0_S - n)
        for n in range(first, first + count)
    )


def decided(
    at_s=T0_S,
    *,
    reason=Reason.WITHIN_TARGET,
    verdict=Verdict.SAME,
    placement=LIVE,
    before=(),
    status=None,
    load=500.0,
    mst=MST,
    seen=True,
    detail="all is well",
    model=None,
    map_status=None,
):
    acted = status in {OutcomeStatus.ORDERED, OutcomeStatus.APPLIED}
    change = Change.between(before or placement, placement)
    return Decision(
        at_s=at_s,
        operator="op",
        policy="gesscale",
        analysis=Analysis(
            operator="op",
            verdict=verdict,
            reason=reason,
            detail=detail,
            reading=reading(LIVE, at_s=at_s, throughput=load) if seen else None,
            mst=mst if seen else None,
            nd_max_ms=10.0 if seen else None,
            model=model,
        ),
        plan=Plan(operator="op", reason=reason, detail=detail, before=before or placement, placement=placement),
        outcome=Outcome(
            status=status or OutcomeStatus.NOTHING_TO_DO,
            added=change.add if acted else (),
            removed=change.remove if acted else (),
        ),
        latency_map=map_status or MapStatus(age_s=30.0),
    )


def overloaded(at_s=T0_S, status=OutcomeStatus.ORDERED, detail="saturated", load=812.0, **fields):
    return decided(
        at_s,
        reason=Reason.OVERLOADED,
        verdict=Verdict.MORE,
        placement=("hub", "mid", "near"),
        before=("hub", "near"),
        status=status,
        load=load,
        detail=detail,
        **fields,
    )


def after(decision, knowledge=None, *, live=LIVE, missing=None, **fields):
    return ObservedStep(
        **{"spec": ACTING, "generation": 3, "driver": DriverStatus(pod="driver", node="hub"), **fields},
        decision=decision,
        known=knowledge or known(),
        replicas=ReplicaKinds(running=live, missing=missing or {}),
    )


def order(at_s=T0_S, downtime_s=None, placement=("hub", "mid", "near"), *, took_s=90.0, **fields):
    """The order of `overloaded`; one with a downtime has ended."""
    written = OrderStatus(id=f"7-{at_s:.0f}", term=7, placement=placement, at_s=at_s, **fields)
    if downtime_s is None:
        return written
    return written.ended(at_s + took_s, downtime_s, arrived=placement == ("hub", "mid", "near") and took_s < 600)


def ordered(*of, reason="Overloaded", before=2, **fields):
    return known(orders={"op": (order(*of, reason=reason, before=before, **fields),)})


def with_order(*of, **fields):
    """A status with that order as the cluster adapter has just written it."""
    return {"order": order(*of, **fields).document()}


def report_of(old, seen, now_s=None):
    return report_step(old, seen, seen.decision.at_s if now_s is None else now_s)


def reasons(report):
    return [str(event.reason) for event in report.events]
