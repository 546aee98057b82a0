"""Detects drift: newer readings contradict older ones, as after a code change or on a throttled node."""

from collections.abc import Callable, Sequence

import numpy as np

from perfmodel.curves import Vector
from perfmodel.evidence import Reading
from perfmodel.fitted import CONTRADICTION_SHARE, FittedModel

#: Minimum number of newer readings that overrule older ones.
NEWER_READINGS = 3
#: Share of the newer readings that must contradict on the same side.
AGREEMENT = 0.8


def change_point(readings: Sequence[Reading], fit: Callable[[int, int], FittedModel], everything: FittedModel) -> int:
    """Find the first reading of a newer regime, which contradicts all readings before it.

    The older readings are fitted up to a few cuts, the earliest cut first. If a run of readings up to the newest
    contradicts such a fit, nearly all on the same side, the newer regime begins with this run.

    Parameters
    ----------
    readings
        Oldest first.
    fit
        Fits the readings from one index up to another, exclusive.
    everything
        The fit of all readings: if the newest agree with it, there is no drift.

    Returns
    -------
    int
        Index of the first reading of the newer regime; 0 if there is no drift.
    """
    count = len(readings)
    timed = count > NEWER_READINGS and readings[0].at_s < readings[-1].at_s
    if not timed or not _newest_deviate(everything.deviations(readings[-NEWER_READINGS:])):
        return 0
    cuts = {1, count // 4, count // 2, count - count // 4, count - NEWER_READINGS}
    for cut in sorted(cut for cut in cuts if 0 < cut <= count - NEWER_READINGS):
        start = _run_start(fit(0, cut).contradictions(readings))
        if start:
            return start
    return 0


def _newest_deviate(deviations: Vector) -> bool:
    """Return True if most of the newest lie on one side of the fit of all, which a change pulls half-way at most."""
    far = CONTRADICTION_SHARE / 2
    return bool(max(np.mean(deviations > far), np.mean(deviations < -far)) > 0.5)


def _run_start(signs: Vector) -> int:
    """Return the earliest index > 0 after which nearly all comparable readings contradict on one side; else 0."""
    for start in range(1, signs.size):
        if signs[start] not in (1.0, -1.0):
            continue
        comparable = signs[start:][~np.isnan(signs[start:])]
        if comparable.size >= NEWER_READINGS and np.mean(comparable == signs[start]) >= AGREEMENT:
            return start
    return 0
