"""The search for the configuration with the greatest expected improvement (IV-C, Algorithm 1)."""

from collections.abc import Collection, Sequence

import numpy as np

from testbed.baselines.autrascale.analysis.gaussian_process import Posterior, Values
from testbed.baselines.autrascale.analysis.improvement import expected_improvement
from testbed.baselines.autrascale.analysis.space import Replicas, SearchSpace

_ENUMERATED = 200_000
"""Up to so many configurations, the search looks at all."""

_DRAWN = 4096
_CLIMBS = 200


def most_promising(
    space: SearchSpace,
    belief: Posterior,
    measured: Sequence[tuple[Replicas, float]],
    *,
    margin: float,
    rng: np.random.Generator,
) -> Replicas | None:
    """Return the configuration to be tried next.

    Parameters
    ----------
    space
        Where the search looks for it.
    belief
        What is believed of the scores.
    measured
        The configurations that were tried and their scores, at least one; none is proposed again.
    margin
        xi of the expected improvement.
    rng
        Draws where there are too many configurations to look at all.

    Returns
    -------
    tuple of int or None
        None where all were tried. In a large space, the search begins with some thousand that are drawn and with the
        neighbours of the ten best tried. From the best it takes steps of one replica as long as they promise more.
    """
    tried = {replicas for replicas, _ in measured}
    best = max(score for _, score in measured)

    def promise(candidates: Sequence[Replicas]) -> Values:
        mean, deviation = belief(space.scaled(candidates))
        gain = expected_improvement(mean, deviation, best, margin)
        return gain if gain.max() > 0 else mean - mean.max()  # nothing is unknown: then the best by belief

    if space.size <= _ENUMERATED:
        candidates = _untried(space.all(), tried)
        return candidates[int(promise(candidates).argmax())] if candidates else None
    ranked = sorted(measured, key=lambda item: -item[1])[:10]
    near = [other for replicas, _ in ranked for other in space.neighbours(replicas)]
    candidates = _untried([*near, *space.sampled(_DRAWN, rng)], tried)
    if not candidates:
        return None
    here = candidates[int(promise(candidates).argmax())]
    for _ in range(_CLIMBS):
        around = [here, *_untried(space.neighbours(here), tried)]
        there = around[int(promise(around).argmax())]
        if there == here:
            break
        here = there
    return here


def _untried(configurations: Sequence[Replicas], tried: Collection[Replicas]) -> list[Replicas]:
    return [replicas for replicas in configurations if replicas not in tried]
