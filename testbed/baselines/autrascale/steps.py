"""The steps of AuTraScale+: the backlog (ELO), the latency (PLO) and the throughput (TO)."""

from collections.abc import Iterable

import numpy as np

from gesscale.model.decision import Reason
from testbed.baselines.autrascale.search import (
    GaussianProcess,
    Replicas,
    SearchSpace,
    benefit,
    most_promising,
    transferred,
)
from testbed.baselines.autrascale.situation import (
    KEPT_UP,
    Assessment,
    AutrascaleContext,
    AutrascaleMemo,
    LatencySample,
    RateModel,
    Trial,
    judged,
    ordering,
    shown,
    stabilising,
    staying,
)


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


_BACKLOG_STEP = "backlog step"


def begin_draining(memo: AutrascaleMemo, now: AutrascaleContext) -> AutrascaleMemo | None:
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
        f"{_BACKLOG_STEP}: rows wait for {seen.waiting_s:.0f} s, {seen.throughput:.0f} rows/s are processed and "
        f"{target:.0f} would drain them in time"
    )
    wanted = tuple(map(max, memo.replicas, now.sized_for(target)))
    useless = 0 < memo.capped_at < target or wanted == memo.replicas
    if useless or seen.throughput >= target or now.at_s < memo.rests_until_s:
        return staying(memo, detail, Reason.DRAINING_BACKLOG)
    held = memo.but(return_to=memo.replicas, return_phase=memo.phase)
    return ordering(held, now, wanted, "backlog", f"{detail}: {shown(wanted)}")


def drain(memo: AutrascaleMemo, now: AutrascaleContext) -> AutrascaleMemo:
    """Go back once the event latency meets its target, or the backlog grows in spite of all.

    The time limit decides how many replicas are ordered. It ends nothing, because the rest of the backlog would cause
    another change. No other backlog step begins within the limit after this one: going back leaves a backlog as well.
    """
    newest, seen = memo.checks[-1], judged(memo, now.settings.elo_stabilise_s)
    waiting_s = newest.waiting_s or 0.0
    detail = f"{_BACKLOG_STEP}: rows wait for {waiting_s:.0f} s"
    met = newest.latency_s + waiting_s <= now.event_target_s
    if seen is None or not (met or seen.falls_behind):
        return staying(memo, detail, Reason.DRAINING_BACKLOG)
    back = memo.return_to
    rested = memo.but(return_to=(), rests_until_s=now.at_s + now.settings.drain_limit_s)
    return ordering(rested, now, back, memo.return_phase, f"{detail}; back to {shown(back)}")


# alpha, how much latency counts in the score against replicas, inferred from the scores that V-C prints; and s_l, from
# which a configuration is accepted (Eq. 8): 0.8 + 0.2 / (1 + w), with w = 1 that of V-C.
_LATENCY_WEIGHT, _ACCEPTED = 0.8, 0.9

# xi, by how much a new score must exceed the best one: usual, not printed.
_EXPLORATION = 0.01

# M, bootstrap samples with equal replicas: the 10 of V-C less 4 one-hot.
_UNIFORM = 6


def score(sample: LatencySample, memo: AutrascaleMemo, now: AutrascaleContext) -> float:
    """Return the benefit of a configuration by the present least and targets, whatever its rate."""
    return benefit(sample.replicas, memo.least, sample.latency_s, now.latency_target_s, _LATENCY_WEIGHT)


def is_good(sample: LatencySample, memo: AutrascaleMemo, now: AutrascaleContext) -> bool:
    """Whether a configuration is one to stay at: throughput, latency and score are what they should be."""
    if not sample.sustained or sample.latency_s > now.latency_target_s:
        return False
    return score(sample, memo, now) >= _ACCEPTED


def proposed(memo: AutrascaleMemo, now: AutrascaleContext) -> Replicas | None:
    """Return the configuration to try next; None where all were tried.

    Where another rate is known, the policy first learns from it (Algorithm 2). Else the best bootstrap sample goes
    first whose estimates are good. Samples that were run offline would show that it is good. For Yahoo, Table IV has
    the same after one iteration.
    """
    settings, present = now.settings, memo.models[0]
    space = SearchSpace(memo.least, tuple(map(max, memo.least, now.most)))
    measured = [sample for sample in present.samples if sample.replicas in space]
    tried = {sample.replicas for sample in measured}
    if settings.bootstrap == "trials":
        for replicas in space.bootstrap(_UNIFORM):
            if replicas not in tried:
                return replicas
    if not measured:  # fewer replicas run than the throughput needs: the proposal was not possible
        return None
    others = [model for model in memo.models[1:] if model.samples]
    nearest = min(others, key=lambda model: abs(model.rate - present.rate), default=None)
    if nearest is not None and memo.latency_trials < settings.transfer_trials:
        known = (*nearest.samples, *_estimates(nearest, now, space))
        few = space.scaled(sample.replicas for sample in measured), _scores(measured, memo, now)
        belief = transferred(_fitted(known, memo, now, space), len(known), *few, now.seed)
    else:
        estimates = _estimates(present, now, space)
        if good := [sample for sample in estimates if is_good(sample, memo, now)]:
            return max(good, key=lambda sample: score(sample, memo, now)).replicas
        belief = _fitted((*present.samples, *estimates), memo, now, space)
    return most_promising(
        space,
        belief,
        [(sample.replicas, score(sample, memo, now)) for sample in measured],
        margin=_EXPLORATION,
        rng=np.random.default_rng([now.seed, memo.latency_trials]),
    )


def _estimates(model: RateModel, now: AutrascaleContext, space: SearchSpace) -> tuple[LatencySample, ...]:
    """Return the bootstrap samples that were not tried, with what the newest sample of a rate suggests for them.

    There are none where the settings ask for trials.
    """
    if now.settings.bootstrap == "trials":
        return ()
    tried, newest = {sample.replicas for sample in model.samples}, model.samples[0].replicas
    return tuple(
        LatencySample(replicas=replicas, latency_s=now.estimated_s(replicas, newest, model.batches_s), sustained=True)
        for replicas in space.bootstrap(_UNIFORM)
        if replicas not in tried
    )


def _fitted(
    samples: tuple[LatencySample, ...], memo: AutrascaleMemo, now: AutrascaleContext, space: SearchSpace
) -> GaussianProcess:
    configurations = space.scaled(sample.replicas for sample in samples)
    return GaussianProcess.fitted(configurations, _scores(samples, memo, now), now.seed)


def _scores(
    samples: Iterable[LatencySample], memo: AutrascaleMemo, now: AutrascaleContext
) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    return np.array([score(sample, memo, now) for sample in samples])


#: Trials at one rate; after them the best one stays: our value, the paper's loop has no end.
_MOST_TRIALS = 20

_LATENCY_STEP = "latency step"


def begin_search(memo: AutrascaleMemo, now: AutrascaleContext) -> AutrascaleMemo:
    """Go on after a throughput step that found the least; more is to do only where it misses the latency (II-B)."""
    if memo.least != memo.replicas:
        detail = f"{shown(memo.least)} is the least of the most throughput that was seen"
        return ordering(memo, now, memo.least, "latency", detail)
    return search_on(memo.but(phase="latency"), now)


def search_on(memo: AutrascaleMemo, now: AutrascaleContext) -> AutrascaleMemo:
    """Judge a configuration; accept it, or order the one that promises most.

    A configuration that the throughput step has ordered is accepted after the time of that step already.
    """
    settings = now.settings
    seen = judged(memo, settings.plo_stabilise_s)
    if seen is not None:
        learnt = _learnt(memo, now, seen)
        return _accepted(learnt, now) if _runs_well(learnt, now) else _next(learnt, now)
    seen = None if memo.latency_trials else judged(memo, settings.to_stabilise_s)
    if seen is not None and _runs_well(learnt := _learnt(memo, now, seen), now):
        return _accepted(learnt, now)
    return stabilising(memo, _LATENCY_STEP, settings.plo_stabilise_s)


def search_again(memo: AutrascaleMemo, now: AutrascaleContext) -> AutrascaleMemo | None:
    """Begin again where a configuration is no longer good; None where that is not needed, or of no use."""
    seen = judged(memo, now.settings.plo_stabilise_s)
    if seen is None or memo.gave_up or seen.misses(memo.capped_at):  # this step does not judge the throughput
        return None
    learnt = _learnt(memo, now, seen)
    return None if _runs_well(learnt, now) else _next(learnt, now)


def _learnt(memo: AutrascaleMemo, now: AutrascaleContext, seen: Assessment) -> AutrascaleMemo:
    sample = LatencySample(
        replicas=memo.replicas, latency_s=round(seen.latency_s, 3), sustained=not seen.misses(memo.capped_at)
    )
    batches_s = tuple(round(seconds, 3) for seconds in now.batches_s)
    present, *others = memo.models
    return memo.but(models=(present.learning(sample, batches_s), *others))


def _runs_well(learnt: AutrascaleMemo, now: AutrascaleContext) -> bool:
    return is_good(learnt.models[0].samples[0], learnt, now)


def _accepted(learnt: AutrascaleMemo, now: AutrascaleContext) -> AutrascaleMemo:
    detail = (
        f"{_latencies(learnt, now)} with {shown(learnt.replicas)}, "
        f"score {score(learnt.models[0].samples[0], learnt, now):.2f}"
    )
    return staying(learnt, detail, Reason.WITHIN_TARGET, phase="steady")


def _next(learnt: AutrascaleMemo, now: AutrascaleContext) -> AutrascaleMemo:
    detail = f"{_LATENCY_STEP}: {_latencies(learnt, now)}"
    promising = proposed(learnt, now) if learnt.latency_trials < _MOST_TRIALS else None
    if promising is not None:
        ordered = learnt.but(latency_trials=learnt.latency_trials + 1)
        return ordering(ordered, now, promising, "latency", f"{detail}; {shown(promising)} promises most")
    samples = learnt.models[0].samples
    in_time = [item for item in samples if item.sustained and item.latency_s <= now.latency_target_s]
    best = max(in_time or samples, key=lambda item: score(item, learnt, now)).replicas
    ended, detail = learnt.but(gave_up=True), f"{detail}; of all that was tried {shown(best)} is kept"
    if best == learnt.replicas:
        return staying(ended, detail, Reason.WITHIN_TARGET, phase="steady")
    return ordering(ended, now, best, "steady", detail)


def _latencies(learnt: AutrascaleMemo, now: AutrascaleContext) -> str:
    return f"rows take {learnt.models[0].samples[0].latency_s:.1f} s, {now.latency_target_s:.1f} s are allowed"


#: A configuration of at least this share of the most throughput is as good as the best: our value.
_NEXT_TO_BEST = 0.98

_THROUGHPUT_STEP = "throughput step"


def keep_up(memo: AutrascaleMemo, now: AutrascaleContext) -> AutrascaleMemo:
    """Judge a configuration and order what true rates ask for, until it keeps up or they ask for nothing new.

    Where a rate begins with more than it needs, replicas are given up until true rates ask for no fewer, or one
    configuration has fallen behind; but not before a backlog is gone. What was tried at this rate is not tried again:
    that ends the endless loop that DS2 falls into where something else limits the throughput.
    """
    stabilise_s = now.settings.to_stabilise_s
    seen = judged(memo, stabilise_s)
    if seen is None:
        return stabilising(memo, _THROUGHPUT_STEP, stabilise_s)
    wanted = asked_for(memo, now, seen)
    shrinks = not seen.falls_behind and memo.may_shrink and wanted != memo.replicas
    if shrinks and (eaten_first := begin_draining(memo, now)) is not None:
        return eaten_first
    tried = (*memo.tried, _trial(memo, seen))
    looked = memo.but(may_shrink=memo.may_shrink and not seen.falls_behind, tried=tried)
    if not seen.falls_behind and not shrinks:
        return begin_search(looked.but(least=memo.replicas, capped_at=0.0), now)
    if wanted not in {trial.replicas for trial in tried}:
        return ordering(looked, now, wanted, "throughput", f"{_sentence(seen)} {shown(wanted)}")
    best = _best_trial(tried)
    capped_at = best.throughput if best.throughput < KEPT_UP * seen.rate else 0.0
    return begin_search(looked.but(least=best.replicas, capped_at=capped_at), now)


def keep_up_again(memo: AutrascaleMemo, now: AutrascaleContext) -> AutrascaleMemo | None:
    """Begin again where a configuration that kept up no longer does; None where there is no need, or no use."""
    seen = judged(memo, now.settings.to_stabilise_s)
    if seen is None or not seen.misses(memo.capped_at):
        return None
    tried = memo.tried if memo.capped_at else ()
    wanted = asked_for(memo, now, seen)
    no_more = all(count <= has for count, has in zip(wanted, memo.replicas, strict=True))
    if no_more or wanted in {trial.replicas for trial in tried}:
        return None
    tried = (*tried, _trial(memo, seen))
    return ordering(memo.but(tried=tried), now, wanted, "throughput", f"{_sentence(seen)} {shown(wanted)}")


def asked_for(memo: AutrascaleMemo, now: AutrascaleContext, seen: Assessment) -> Replicas:
    """Return what true rates ask for; no more of an operator than it has where the workflow keeps up."""
    asked = now.sized_for(seen.rate)
    if seen.falls_behind:
        return asked
    return tuple(min(few, has) for few, has in zip(asked, memo.replicas, strict=True))


def _trial(memo: AutrascaleMemo, seen: Assessment) -> Trial:
    # What is processed beyond the rate is backlog: it makes a configuration no better.
    return Trial(replicas=memo.replicas, throughput=max(0.0, round(min(seen.throughput, seen.rate), 1)))


def _best_trial(tried: tuple[Trial, ...]) -> Trial:
    most = max(trial.throughput for trial in tried)
    good = (trial for trial in tried if trial.throughput >= _NEXT_TO_BEST * most)
    return min(good, key=lambda trial: sum(trial.replicas))


def _sentence(seen: Assessment) -> str:
    return f"{_THROUGHPUT_STEP}: {seen.throughput:.0f} of {seen.rate:.0f} rows/s are processed, true rates ask for"
