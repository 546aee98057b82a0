"""The steps of AuTraScale+ that find a configuration for a rate: throughput (TO) and latency (PLO)."""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from gesscale.model.decision import Reason
from testbed.baselines.autrascale.backlog import begin_draining
from testbed.baselines.autrascale.search import (
    EXPLORATION,
    UNIFORM,
    GaussianProcess,
    Replicas,
    SearchSpace,
    benefit,
    next_trial,
    transfer_posterior,
)
from testbed.baselines.autrascale.situation import (
    KEPT_UP,
    Assessment,
    AutrascaleContext,
    AutrascaleMemo,
    LatencySample,
    RateModel,
    Trial,
    assess,
    format_configuration,
    keep_replicas,
    order_replicas,
    wait_until_stable,
)

# alpha, the weight of the latency in the score, inferred from the scores in V-C; and s_l, the minimum score to accept a
# configuration (Eq. 8): 0.8 + 0.2 / (1 + w), with w = 1 as in V-C.
_LATENCY_WEIGHT, _ACCEPTED = 0.8, 0.9


def score(sample: LatencySample, memo: AutrascaleMemo, now: AutrascaleContext) -> float:
    """Return the benefit of a configuration by the present minimum and targets, at any rate."""
    return benefit(sample.replicas, memo.least, sample.latency_s, now.latency_target_s, _LATENCY_WEIGHT)


def is_good(sample: LatencySample, memo: AutrascaleMemo, now: AutrascaleContext) -> bool:
    """Return True if throughput, latency and score of a configuration are acceptable."""
    if not sample.sustained or sample.latency_s > now.latency_target_s:
        return False
    return score(sample, memo, now) >= _ACCEPTED


class Promising(NamedTuple):
    """Configuration to try next, and why."""

    replicas: Replicas
    #: Origin, as text: the bootstrap, an estimate, or Bayesian optimisation.
    origin: str


#: Origins of the configurations that the largest expected improvement chose.
BY_IMPROVEMENT, BY_TRANSFER = "by expected improvement", "by expected improvement, from another rate too"


def next_configuration(memo: AutrascaleMemo, now: AutrascaleContext) -> Promising | None:
    """Return the configuration to try next; None if all were tried.

    If another rate is known, the policy first learns from it (Algorithm 2), without a bootstrap. Otherwise the
    bootstrap samples are tried, or estimated; the best with a good estimate then goes first.
    """
    settings, present = now.settings, memo.models[0]
    space = SearchSpace(memo.least, tuple(map(max, memo.least, now.most)))
    measured = [sample for sample in present.samples if sample.replicas in space]
    tried = {sample.replicas for sample in measured}
    others = [model for model in memo.models[1:] if model.samples]
    nearest = min(others, key=lambda model: abs(model.rate - present.rate), default=None)
    if nearest is not None and settings.transfer_trials == 0:
        nearest = None
    if nearest is None and settings.bootstrap == "trials":
        for replicas in space.bootstrap(UNIFORM):
            if replicas not in tried:
                return Promising(replicas, "a bootstrap sample")
    if not measured:  # fewer replicas than the throughput needs: the proposal was not possible
        return None
    origin = BY_IMPROVEMENT
    if nearest is not None and memo.latency_trials < settings.transfer_trials:
        origin = BY_TRANSFER
        known = (*nearest.samples, *_estimates(nearest, now, space))
        few = space.scaled(sample.replicas for sample in measured), _scores(measured, memo, now)
        old = _fitted(known, memo, now, space)
        posterior = transfer_posterior(old, len(nearest.samples), *few, now.seed, settings.transfer_weight)
    else:
        estimates = _estimates(present, now, space)
        if good := [sample for sample in estimates if is_good(sample, memo, now)]:
            best = max(good, key=lambda sample: score(sample, memo, now))
            return Promising(best.replicas, "a bootstrap sample with a good estimate")
        posterior = _fitted((*present.samples, *estimates), memo, now, space)
    found = next_trial(
        space,
        posterior,
        [(sample.replicas, score(sample, memo, now)) for sample in measured],
        margin=EXPLORATION,
        rng=np.random.default_rng([now.seed, memo.latency_trials]),
    )
    return None if found is None else Promising(found, origin)


def _estimates(model: RateModel, now: AutrascaleContext, space: SearchSpace) -> tuple[LatencySample, ...]:
    """Return the untried bootstrap samples with estimates from the newest sample of a rate.

    Empty if the settings require trials.
    """
    if now.settings.bootstrap == "trials":
        return ()
    tried, newest = {sample.replicas for sample in model.samples}, model.samples[0].replicas
    return tuple(
        LatencySample(replicas=replicas, latency_s=now.estimated_s(replicas, newest, model.batches_s), sustained=True)
        for replicas in space.bootstrap(UNIFORM)
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


#: Maximum number of trials at one rate; then the best one is kept: our value, the loop of the paper has no end.
_MAX_TRIALS = 20

_LATENCY_STEP = "latency step"


def begin_latency_step(memo: AutrascaleMemo, now: AutrascaleContext) -> AutrascaleMemo:
    """Start the latency step after the throughput step; it changes replicas only if the latency is missed (II-B)."""
    if memo.least != memo.replicas:
        detail = f"{format_configuration(memo.least)} is the smallest configuration with the highest throughput"
        return order_replicas(memo, now, memo.least, "latency", detail)
    return continue_search(memo.with_changes(phase="latency"), now)


def continue_search(memo: AutrascaleMemo, now: AutrascaleContext) -> AutrascaleMemo:
    """Assess a configuration; accept it, or order the most promising one.

    A configuration that the throughput step ordered can be accepted after the shorter time of that step.
    """
    settings = now.settings
    assessment = assess(memo, settings.plo_stabilise_s)
    if assessment is not None:
        updated = _with_sample(memo, now, assessment)
        return _accept(updated, now) if _is_accepted(updated, now) else _next_trial(updated, now)
    assessment = None if memo.latency_trials else assess(memo, settings.to_stabilise_s)
    if assessment is not None and _is_accepted(updated := _with_sample(memo, now, assessment), now):
        return _accept(updated, now)
    return wait_until_stable(memo, _LATENCY_STEP, settings.plo_stabilise_s)


def search_again(memo: AutrascaleMemo, now: AutrascaleContext) -> AutrascaleMemo | None:
    """Search again if a configuration is no longer good; None if that is unnecessary or useless."""
    assessment = assess(memo, now.settings.plo_stabilise_s)
    if (
        assessment is None or memo.gave_up or assessment.misses(memo.capped_at)
    ):  # this step does not assess the throughput
        return None
    updated = _with_sample(memo, now, assessment)
    return None if _is_accepted(updated, now) else _next_trial(updated, now)


def _with_sample(memo: AutrascaleMemo, now: AutrascaleContext, assessment: Assessment) -> AutrascaleMemo:
    sample = LatencySample(
        replicas=memo.replicas,
        latency_s=round(assessment.latency_s, 3),
        sustained=not assessment.misses(memo.capped_at),
    )
    batches_s = tuple(round(seconds, 3) for seconds in now.batches_s)
    present, *others = memo.models
    return memo.with_changes(models=(present.learning(sample, batches_s), *others))


def _is_accepted(updated: AutrascaleMemo, now: AutrascaleContext) -> bool:
    return is_good(updated.models[0].samples[0], updated, now)


def _accept(updated: AutrascaleMemo, now: AutrascaleContext) -> AutrascaleMemo:
    detail = (
        f"{_latency_detail(updated, now)} with {format_configuration(updated.replicas)}, "
        f"score {score(updated.models[0].samples[0], updated, now):.2f}"
    )
    return keep_replicas(updated, detail, Reason.WITHIN_TARGET, phase="steady")


def _next_trial(updated: AutrascaleMemo, now: AutrascaleContext) -> AutrascaleMemo:
    detail = f"{_LATENCY_STEP}: {_latency_detail(updated, now)}"
    promising = next_configuration(updated, now) if updated.latency_trials < _MAX_TRIALS else None
    if promising is not None:
        ordered = updated.with_changes(latency_trials=updated.latency_trials + 1)
        detail = f"{detail}; try {format_configuration(promising.replicas)}, {promising.origin}"
        return order_replicas(ordered, now, promising.replicas, "latency", detail)
    samples = updated.models[0].samples
    in_time = [item for item in samples if item.sustained and item.latency_s <= now.latency_target_s]
    best = max(in_time or samples, key=lambda item: score(item, updated, now)).replicas
    ended, detail = updated.with_changes(gave_up=True), f"{detail}; keep {format_configuration(best)}, the best trial"
    if best == updated.replicas:
        return keep_replicas(ended, detail, Reason.WITHIN_TARGET, phase="steady")
    return order_replicas(ended, now, best, "steady", detail)


def _latency_detail(updated: AutrascaleMemo, now: AutrascaleContext) -> str:
    return f"latency {updated.models[0].samples[0].latency_s:.1f} s, target {now.latency_target_s:.1f} s"


#: A configuration with at least this share of the highest throughput counts as best: our value.
_NEXT_TO_BEST = 0.98

_THROUGHPUT_STEP = "throughput step"


def keep_up(memo: AutrascaleMemo, now: AutrascaleContext) -> AutrascaleMemo:
    """Assess a configuration and order the one by true rates, until it keeps up or there is no new one.

    If a rate starts with too many replicas, some are removed until true rates need no fewer, or a configuration falls
    behind; but only after a backlog is gone. No configuration is tried twice at a rate, which ends the endless loop of
    DS2 when something else limits the throughput.
    """
    stabilise_s = now.settings.to_stabilise_s
    assessment = assess(memo, stabilise_s)
    if assessment is None:
        return wait_until_stable(memo, _THROUGHPUT_STEP, stabilise_s)
    target = replicas_by_true_rates(memo, now, assessment)
    shrinks = not assessment.falls_behind and memo.may_shrink and target != memo.replicas
    if shrinks and (draining := begin_draining(memo, now)) is not None:
        return draining
    tried = (*memo.tried, _trial(memo, assessment))
    updated = memo.with_changes(may_shrink=memo.may_shrink and not assessment.falls_behind, tried=tried)
    if not assessment.falls_behind and not shrinks:
        return begin_latency_step(updated.with_changes(least=memo.replicas, capped_at=0.0), now)
    if target not in {trial.replicas for trial in tried}:
        return order_replicas(
            updated, now, target, "throughput", f"{_throughput_detail(assessment)} {format_configuration(target)}"
        )
    best = _best_trial(tried)
    capped_at = best.throughput if best.throughput < KEPT_UP * assessment.rate else 0.0
    return begin_latency_step(updated.with_changes(least=best.replicas, capped_at=capped_at), now)


def keep_up_again(memo: AutrascaleMemo, now: AutrascaleContext) -> AutrascaleMemo | None:
    """Search again if a configuration no longer keeps up; None if that is unnecessary or useless."""
    assessment = assess(memo, now.settings.to_stabilise_s)
    if assessment is None or not assessment.misses(memo.capped_at):
        return None
    tried = memo.tried if memo.capped_at else ()
    target = replicas_by_true_rates(memo, now, assessment)
    no_growth = all(count <= has for count, has in zip(target, memo.replicas, strict=True))
    if no_growth or target in {trial.replicas for trial in tried}:
        return None
    tried = (*tried, _trial(memo, assessment))
    return order_replicas(
        memo.with_changes(tried=tried),
        now,
        target,
        "throughput",
        f"{_throughput_detail(assessment)} {format_configuration(target)}",
    )


def replicas_by_true_rates(memo: AutrascaleMemo, now: AutrascaleContext, assessment: Assessment) -> Replicas:
    """Return the replicas by true rates; at most the present ones if the workflow keeps up."""
    asked = now.sized_for(assessment.rate)
    if assessment.falls_behind:
        return asked
    return tuple(min(few, has) for few, has in zip(asked, memo.replicas, strict=True))


def _trial(memo: AutrascaleMemo, assessment: Assessment) -> Trial:
    # Throughput beyond the input rate is backlog, which makes a configuration no better.
    return Trial(replicas=memo.replicas, throughput=max(0.0, round(min(assessment.throughput, assessment.rate), 1)))


def _best_trial(tried: tuple[Trial, ...]) -> Trial:
    most = max(trial.throughput for trial in tried)
    good = (trial for trial in tried if trial.throughput >= _NEXT_TO_BEST * most)
    return min(good, key=lambda trial: sum(trial.replicas))


def _throughput_detail(assessment: Assessment) -> str:
    return f"{_THROUGHPUT_STEP}: throughput {assessment.throughput:.0f} of {assessment.rate:.0f} rows/s, by true rates"
