"""Which configuration the latency step tries next (Algorithms 1 and 2), and how it scores those it has tried."""

from collections.abc import Iterable

import numpy as np

from testbed.baselines.autrascale.analysis.benefit import acceptable, benefit
from testbed.baselines.autrascale.analysis.gaussian_process import GaussianProcess, transferred
from testbed.baselines.autrascale.analysis.search import most_promising
from testbed.baselines.autrascale.analysis.space import Replicas, SearchSpace
from testbed.baselines.autrascale.memo import AutrascaleMemo, LatencySample, RateModel
from testbed.baselines.autrascale.situation import AutrascaleContext


def score(sample: LatencySample, memo: AutrascaleMemo, now: AutrascaleContext) -> float:
    """Return the benefit of a configuration by the present least and targets, whatever its rate."""
    weight = now.settings.latency_weight
    return benefit(sample.replicas, memo.least, sample.latency_s, now.latency_target_s, weight)


def is_good(sample: LatencySample, memo: AutrascaleMemo, now: AutrascaleContext) -> bool:
    """Whether a configuration is one to stay at: throughput, latency and score are what they should be."""
    settings = now.settings
    if not sample.sustained or sample.latency_s > now.latency_target_s:
        return False
    enough = acceptable(settings.latency_weight, settings.over_allocation)
    return settings.latency_only or score(sample, memo, now) >= enough


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
        for replicas in space.bootstrap(settings.bootstrap_uniform):
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
        margin=settings.exploration,
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
        for replicas in space.bootstrap(now.settings.bootstrap_uniform)
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
