"""The latency step PLO: a configuration of good latency and few replicas, by Bayesian optimisation (IV-C, IV-D)."""

from gesscale.model.decision import Reason
from testbed.baselines.autrascale.judging import Assessment, judged, ordering, shown, stabilising, staying
from testbed.baselines.autrascale.memo import AutrascaleMemo, LatencySample
from testbed.baselines.autrascale.proposals import is_good, proposed, score
from testbed.baselines.autrascale.situation import AutrascaleContext

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
