"""The backlog step ELO: more replicas until a backlog has drained, then back (IV-E, Eq. 9 to 12)."""

from gesscale.model.decision import Reason
from testbed.baselines.autrascale.memo import AutrascaleMemo
from testbed.baselines.autrascale.situation import AutrascaleContext, judged, ordering, shown, staying


def target_throughput(
    rate: float,
    backlog_rows: float,
    *,
    latency_s: float,
    event_target_s: float,
    limit_s: float,
    downtime_s: float = 0.0,
) -> float | None:
    """Return V_t, the throughput that brings the event latency to its target in time.

    Parameters
    ----------
    rate
        Input rate lambda, rows/s.
    backlog_rows
        R_lag(c): what waits now.
    latency_s
        Processing latency l_p in the steady state.
    event_target_s
        L_e.
    limit_s
        T_limit: the time it may take.
    downtime_s
        Time without output while replicas change. The paper leaves it out. Here, rows that come meanwhile are added to
        the rows to process, and only the rest of the limit is left. A backlog no greater than one change leaves behind
        is ignored.

    Returns
    -------
    float or None
        Rows/s; None where no rows are to be processed, or the downtime alone exceeds the limit.

    Examples
    --------
    5,988,000 rows in 360 s, in addition to 40,000 rows/s:

    >>> round(target_throughput(40000, 6e6, latency_s=0.2, event_target_s=0.5, limit_s=360), 1)
    56633.3
    """
    to_eat = backlog_rows - rate * max(event_target_s - latency_s, 0.0)
    if to_eat <= rate * downtime_s or limit_s <= downtime_s:
        return None
    return rate + (to_eat + rate * downtime_s) / (limit_s - downtime_s)


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
