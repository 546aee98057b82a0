"""The backlog step ELO: more replicas until a backlog has drained, then back (IV-E)."""

from gesscale.model.decision import Reason
from testbed.baselines.autrascale.analysis.backlog import target_throughput
from testbed.baselines.autrascale.judging import judged, ordering, shown, staying
from testbed.baselines.autrascale.memo import AutrascaleMemo
from testbed.baselines.autrascale.situation import AutrascaleContext

_STEP = "backlog step"


def begin(memo: AutrascaleMemo, now: AutrascaleContext) -> AutrascaleMemo | None:
    """Order more replicas where the backlog would not drain in time; None where there is none that counts.

    The paper profiles a twin of the job offline. There is none here: true rates say what the target throughput needs.
    """
    settings, seen = now.settings, judged(memo, now.settings.elo_stabilise_s)
    if seen is None or seen.waiting_s is None:
        return None
    target = target_throughput(
        seen.rate,
        (seen.rate or seen.throughput) * seen.waiting_s,
        latency_s=seen.latency_s,
        event_target_s=now.event_target_s,
        limit_s=settings.drain_limit_s,
        downtime_s=now.downtime_s,
    )
    if target is None:
        return None
    detail = (
        f"{_STEP}: rows wait for {seen.waiting_s:.0f} s, {seen.throughput:.0f} rows/s are processed and "
        f"{target:.0f} would drain them in time"
    )
    wanted = tuple(map(max, memo.replicas, now.sized_for(target)))
    useless = 0 < memo.capped_at < target or wanted == memo.replicas
    if useless or seen.throughput >= target or now.at_s < memo.rests_until_s:
        return staying(memo, detail, Reason.DRAINING_BACKLOG)
    held = memo.but(return_to=memo.replicas, return_phase=memo.phase)
    return ordering(held, now, wanted, "backlog", f"{detail}: {shown(wanted)}")


def take(memo: AutrascaleMemo, now: AutrascaleContext) -> AutrascaleMemo:
    """Go back once the event latency meets its target, or the backlog grows in spite of all.

    The time limit decides how many replicas are ordered. It ends nothing, because the rest of the backlog would cause
    another change. No other backlog step begins within the limit after this one: going back leaves a backlog as well.
    """
    newest, seen = memo.checks[-1], judged(memo, now.settings.elo_stabilise_s)
    waiting_s = newest.waiting_s or 0.0
    detail = f"{_STEP}: rows wait for {waiting_s:.0f} s"
    met = newest.latency_s + waiting_s <= now.event_target_s
    if seen is None or not (met or seen.falls_behind):
        return staying(memo, detail, Reason.DRAINING_BACKLOG)
    back = memo.return_to
    rested = memo.but(return_to=(), rests_until_s=now.at_s + now.settings.drain_limit_s)
    return ordering(rested, now, back, memo.return_phase, f"{detail}; back to {shown(back)}")
