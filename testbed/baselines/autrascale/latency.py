"""The latency step PLO: which configuration is tried next (Algorithms 1 and 2), and when one is good enough."""

from collections.abc import Iterable

import numpy as np

from gesscale.model.decision import Reason
from testbed.baselines.autrascale.memo import AutrascaleMemo, LatencySample, RateModel
from testbed.baselines.autrascale.search import (
    GaussianProcess,
    Replicas,
    SearchSpace,
    benefit,
    most_promising,
    transferred,
)
from testbed.baselines.autrascale.situation import (
    Assessment,
    AutrascaleContext,
    judged,
    ordering,
    shown,
    stabilising,
    staying,
)

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
        LatencySample(
            replicas=replicas,
            latency_s=now.estimated_s(replicas, newest, model.batches_s),
            sustained=True,
        )
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


_MOST_TRIALS = 20
"""Trials at one rate; after them the best one stays: our value, the paper's loop has no end."""

_STEP = "latency step"


def begin(memo: AutrascaleMemo, now: AutrascaleContext) -> AutrascaleMemo:
    """Go on after a throughput step that found the least; more is to do only where it misses the latency (II-B)."""
    if memo.least != memo.replicas:
        detail = f"{shown(memo.least)} is the least of the most throughput that was seen"
        return ordering(memo, now, memo.least, "latency", detail)
    return take(memo.but(phase="latency"), now)


def take(memo: AutrascaleMemo, now: AutrascaleContext) -> AutrascaleMemo:
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
    return stabilising(memo, _STEP, settings.plo_stabilise_s)


def again(memo: AutrascaleMemo, now: AutrascaleContext) -> AutrascaleMemo | None:
    """Begin again where a configuration is no longer good; None where that is not needed, or of no use."""
    seen = judged(memo, now.settings.plo_stabilise_s)
    if seen is None or memo.gave_up or seen.misses(memo.capped_at):  # this step does not judge the throughput
        return None
    learnt = _learnt(memo, now, seen)
    return None if _runs_well(learnt, now) else _next(learnt, now)


def _learnt(memo: AutrascaleMemo, now: AutrascaleContext, seen: Assessment) -> AutrascaleMemo:
    sample = LatencySample(
        replicas=memo.replicas,
        latency_s=round(seen.latency_s, 3),
        sustained=not seen.misses(memo.capped_at),
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
    detail = f"{_STEP}: {_latencies(learnt, now)}"
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
    return (
        f"rows take {learnt.models[0].samples[0].latency_s:.1f} s, {now.latency_target_s:.1f} s are allowed"
    )
