"""The backlog step of AuTraScale+ (ELO, IV-E): more replicas until a backlog has drained, and the baselines of V-E."""

import math

import numpy as np

from gesscale.model.decision import Reason
from testbed.baselines.autrascale.search import EXPLORATION, UNIFORM, GaussianProcess, Replicas, SearchSpace, next_trial
from testbed.baselines.autrascale.situation import (
    AutrascaleContext,
    AutrascaleMemo,
    assess,
    format_configuration,
    keep_replicas,
    order_replicas,
)
from testbed.baselines.shared.sizing import ceiling


def target_throughput(
    rate: float,
    backlog_rows: float,
    *,
    latency_s: float,
    event_target_s: float,
    limit_s: float,
    downtime_s: float = 0.0,
) -> float | None:
    """Return V_t, the throughput that brings the event latency to its target in time; None if that needs none.

    Parameters
    ----------
    rate
        Input rate lambda, rows/s.

    Examples
    --------
    5,988,000 rows in 360 s, in addition to 40,000 rows/s:

    >>> round(target_throughput(40000, 6e6, latency_s=0.2, event_target_s=0.5, limit_s=360), 1)
    56633.3
    """
    excess_rows = backlog_rows - rate * max(event_target_s - latency_s, 0.0)
    if excess_rows <= rate * downtime_s or limit_s <= downtime_s:
        return None
    return rate + (excess_rows + rate * downtime_s) / (limit_s - downtime_s)


def throughput_score(throughput: float, target: float, scale: float) -> float:
    """Return F_tp, the closeness of a throughput to its target (Eq. 13).

    Examples
    --------
    1,111 rows/s too few, with beta = 10,000, are just accepted at s_l = 0.9.

    >>> round(throughput_score(55_522, 56_633, 10_000), 3)
    0.9
    """
    return scale / (abs(throughput - target) + scale)


#: S_l of the backlog step, as in the latency step, and its most profiles after the bootstrap: the paper gives neither.
_ACCEPTED, _MAX_PROFILES = 0.9, 10


def replicas_for(target_rate: float, memo: AutrascaleMemo, now: AutrascaleContext) -> Replicas:
    """Return the replicas for a throughput by the method of the settings."""
    method, found = now.settings.backlog_by, memo.replicas
    if method == "rates":
        return now.sized_for(target_rate)
    if method == "max":
        return now.most
    if method == "search":
        return _searched(target_rate, memo, now)
    while (throughput := now.predicted_throughput(found)) < target_rate:
        factor = 2.0 if method == "exponent" else target_rate / throughput
        more = tuple(min(most, ceiling(count * factor)) for count, most in zip(found, now.most, strict=True))
        if more == found:
            break
        found = more
    return found


def _searched(target_rate: float, memo: AutrascaleMemo, now: AutrascaleContext) -> Replicas:
    """Return the first configuration with an accepted throughput by Bayesian optimisation (Algorithm 3), or the best.

    Beta is the distance of the present configuration, as it has to have the order of magnitude of these distances.
    """
    space = SearchSpace(memo.replicas, tuple(map(max, memo.replicas, now.most)))
    scale = abs(now.predicted_throughput(memo.replicas) - target_rate) or 1.0
    if not math.isfinite(scale):
        return memo.replicas  # no true rate is known

    def score(replicas: Replicas) -> float:
        return throughput_score(now.predicted_throughput(replicas), target_rate, scale)

    scored = {replicas: score(replicas) for replicas in (memo.replicas, *space.bootstrap(UNIFORM))}
    for index in range(_MAX_PROFILES):
        process = GaussianProcess.fitted(space.scaled(scored), np.array(list(scored.values())), now.seed)
        rng = np.random.default_rng([now.seed, index])
        found = next_trial(space, process, list(scored.items()), margin=EXPLORATION, rng=rng)
        if found is None:
            break
        scored[found] = score(found)
        if scored[found] >= _ACCEPTED:
            return found
    return max(scored, key=lambda replicas: (scored[replicas], -sum(replicas)))


_BACKLOG_STEP = "backlog step"


def begin_draining(memo: AutrascaleMemo, now: AutrascaleContext) -> AutrascaleMemo | None:
    """Order more replicas if the backlog would not drain in time; None if there is no relevant backlog.

    The paper profiles a twin of the job offline. Here true rates predict the throughput of a configuration.
    """
    settings, assessment = now.settings, assess(memo, now.settings.elo_stabilise_s)
    if assessment is None or assessment.waiting_s is None:
        return None
    target_rate = target_throughput(
        assessment.rate,
        (assessment.rate or assessment.throughput) * assessment.waiting_s,
        latency_s=assessment.latency_s,
        event_target_s=now.event_target_s,
        limit_s=settings.drain_limit_s,
        downtime_s=now.downtime_s,
    )
    if target_rate is None:
        return None
    detail = (
        f"{_BACKLOG_STEP}: wait {assessment.waiting_s:.0f} s, throughput {assessment.throughput:.0f} rows/s, "
        f"{target_rate:.0f} needed to drain in time"
    )
    useless = 0 < memo.capped_at < target_rate or assessment.throughput >= target_rate or now.at_s < memo.rests_until_s
    target = memo.replicas if useless else tuple(map(max, memo.replicas, replicas_for(target_rate, memo, now)))
    if target == memo.replicas:
        return keep_replicas(memo, detail, Reason.DRAINING_BACKLOG)
    returning = memo.with_changes(return_to=memo.replicas, return_phase=memo.phase)
    return order_replicas(returning, now, target, "backlog", f"{detail}: {format_configuration(target)}")


def drain(memo: AutrascaleMemo, now: AutrascaleContext) -> AutrascaleMemo:
    """Return to the former configuration when the event latency meets its target, or the backlog keeps growing.

    The time limit determines the number of replicas, but does not end the step: the rest of the backlog would cause
    another change. No other backlog step starts within the limit after this one: the return leaves a backlog too.
    """
    newest, assessment = memo.checks[-1], assess(memo, now.settings.elo_stabilise_s)
    waiting_s = newest.waiting_s or 0.0
    detail = f"{_BACKLOG_STEP}: wait {waiting_s:.0f} s"
    met = newest.latency_s + waiting_s <= now.event_target_s
    if assessment is None or not (met or assessment.falls_behind):
        return keep_replicas(memo, detail, Reason.DRAINING_BACKLOG)
    back = memo.return_to
    rested = memo.with_changes(return_to=(), rests_until_s=now.at_s + now.settings.drain_limit_s)
    return order_replicas(rested, now, back, memo.return_phase, f"{detail}; return to {format_configuration(back)}")
