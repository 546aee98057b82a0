"""Outliers: pairs whose delays are inconsistent with the others.

Every other node is a witness of a pair. If a witness is ``x`` from one node of the pair and ``y`` from the other, the
delay of the pair should be between ``|x - y|`` and ``x + y``. A pair is *slow* if more than nine in ten witnesses find
it too long by a quarter or more, and *fast* if as many find it too short by as much. The rule assumes no scale, and a
single bad delay makes no other pair an outlier, since it affects one vote. It gives few false alarms and may miss an
outlier: noise of 10 % on every delay causes none, and on PlanetLab 0.09 % of the pairs are slow and 0.04 % fast. Of
pairs of PlanetLab that were distorted on purpose it found 40 % of those four times too slow, and 67 % of those ten
times too fast.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from latency_map.delays import Delays
from latency_map.survey import Mask

#: Share of the witnesses that must agree.
VOTES_RATIO = 0.9

#: Factor by which a witness must find a pair too long or too short: noise of 10 % on delays is no fault.
MARGIN = 1.25

MIN_WITNESSES = 3
#: Largest number of witnesses; they are a sample of more nodes.
MAX_WITNESSES = 128


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Outliers:
    """Pairs that are inconsistent with the others."""

    #: Shape ``(n, n)``, upper triangle: pairs whose delay is too long or too short (slow_pairs, fast_pairs).
    slow_pairs: Mask
    fast_pairs: Mask
    #: Shape ``(n, n)``: the median bound of the witnesses of an outlier, the upper one of a slow pair and the lower one
    #: of a fast pair; NaN for other pairs.
    allowed_ms: Delays
    #: Number of pairs with enough witnesses.
    pairs_judged: int


def find_outliers(rtt_ms: Delays, names: tuple[str, ...], *, seed: int = 0) -> Outliers:
    """Find the pairs whose delays are inconsistent with the others.

    Parameters
    ----------
    rtt_ms
        Shape ``(n, n)``, ms, symmetric, zero diagonal; NaN where missing.
    """
    witnesses = _witnesses(names, seed)
    seen_ms = np.ascontiguousarray(rtt_ms[:, witnesses])
    counts = _count_witnesses(rtt_ms, witnesses)
    needed = np.where(counts >= MIN_WITNESSES, VOTES_RATIO * counts, np.inf)
    slow, fast = np.zeros_like(rtt_ms, dtype=bool), np.zeros_like(rtt_ms, dtype=bool)
    for row in range(len(rtt_ms) - 1):
        after = slice(row + 1, None)
        pairs_ms = rtt_ms[row, after, None]
        too_long = (pairs_ms > MARGIN * (seen_ms[row] + seen_ms[after])).sum(axis=1)
        too_short = (pairs_ms * MARGIN < np.abs(seen_ms[row] - seen_ms[after])).sum(axis=1)
        slow[row, after] = too_long > needed[row, after]
        fast[row, after] = too_short > needed[row, after]
    return Outliers(
        slow_pairs=slow,
        fast_pairs=fast,
        allowed_ms=_allowed_ms(slow, fast, seen_ms, witnesses),
        pairs_judged=int((counts >= MIN_WITNESSES).sum()) // 2,
    )


def _witnesses(names: tuple[str, ...], seed: int) -> NDArray[np.intp]:
    in_order = np.array(sorted(range(len(names)), key=names.__getitem__))
    if len(in_order) <= MAX_WITNESSES:
        return in_order
    return np.random.default_rng(seed).choice(in_order, MAX_WITNESSES, replace=False)


def _count_witnesses(rtt_ms: Delays, witnesses: NDArray[np.intp]) -> Delays:
    """Count the third nodes with delays to both nodes of each pair."""
    known = ~np.isnan(rtt_ms)
    np.fill_diagonal(known, val=False)
    seen = known[:, witnesses].astype(np.float32)
    counts: Delays = np.where(known, seen @ seen.T, 0.0)
    return counts


def _allowed_ms(slow: Mask, fast: Mask, seen_ms: Delays, witnesses: NDArray[np.intp]) -> Delays:
    allowed_ms = np.full(slow.shape, np.nan)
    for a, b in np.argwhere(slow | fast):
        others = (witnesses != a) & (witnesses != b)
        bounds = seen_ms[a] + seen_ms[b] if slow[a, b] else np.abs(seen_ms[a] - seen_ms[b])
        allowed_ms[a, b] = np.nanmedian(bounds[others])
    return allowed_ms
