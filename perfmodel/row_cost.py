"""Learns from batches, and follows the cost of a row: throttled CPUs, another version of the query, state that grows.

The newest batches of the present placement are compared with all earlier evidence. If their mean differs by more than
chance, all earlier evidence is rescaled to the present cost. So the law agrees with the newest batches, and keeps what
it knows of replicas and delays. The mean of at most `RECENT` batches decides: batches of two kinds in turn, or a long
one in ten, are noise.
"""

import math
from collections.abc import Iterable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from perfmodel.batch_evidence import (
    FADE,
    BatchEvidence,
    BatchSample,
    MeanBatch,
    PlacementSums,
    known_sums,
    table,
    with_batches,
)
from perfmodel.batch_time import FittedBatchTime, fit_batch_time, points_of
from perfmodel.points import Vector, quantile

#: Number of batches whose mean is compared, and the fewest.
RECENT, FEWEST = 15, 3
#: Standard errors from which a difference is a change of the cost at an instant, and those that are chance.
CHANGED_ERRORS, CHANCE_ERRORS = 4.0, 1.5
#: Weight of a batch in the noise, and the largest deviation that counts.
NOISE_GAIN, MAX_DEVIATION = 0.02, 3.0
#: Share of the law's variance that a difference of the rows by a factor of e has, and one that is negligible.
APART_SHARE, LEAST_SHARE = 0.5, 0.05
#: A change of the time of a batch may be one of its fixed time by this share of one of the time of its rows.
FIXED_SHARE = 0.25
#: The change after which earlier batches count half, and the least that they count after any.
HALVED_BY, LEAST_KEPT = 0.1, 0.25
#: Bounds of a change.
LEAST, MOST = 0.1, 10.0


def learned(evidence: BatchEvidence, samples: Iterable[BatchSample]) -> BatchEvidence:
    """Add the batches of a step, oldest first; those with invalid figures are ignored."""
    batches = [sample for sample in samples if sample.usable]
    if not batches:
        return evidence
    max_rows, row_s = evidence.max_rows, evidence.row_s
    for batch in batches:
        max_rows *= FADE
        if batch.rows > max_rows:
            max_rows, row_s = batch.rows, batch.seconds * batch.even_weight / batch.rows
    evidence = replace(evidence, recent=(*evidence.recent, *batches), max_rows=max_rows, row_s=row_s)
    law = fit_batch_time(replace(evidence, recent=()))
    if law is None:
        return _settled(evidence, FEWEST)
    deviations = _deviations(law, evidence)
    apart = deviations[0]
    count, mean, errors = _newest_alike(*deviations, evidence.noise)
    if errors > CHANCE_ERRORS:
        # What chance explains is left.
        change, rows = mean * (1 - (CHANCE_ERRORS / errors) ** 2), MeanBatch.of(evidence.recent[-count:]).rows
        evidence = _rescaled(_settled(evidence, count, apart), law, change, rows)
    newest = evidence.recent[-2 * FEWEST :]
    is_new = known_sums(evidence.placements, newest[-1]) is None
    keep = FEWEST if is_new and len(newest) == 2 * FEWEST and all(map(newest[-1].is_alike, newest)) else RECENT
    return _settled(evidence, keep, apart)


def _deviations(law: FittedBatchTime, evidence: BatchEvidence) -> tuple[Vector, Vector, NDArray[np.bool_]]:
    """Return by how much the newest batches took longer than the earlier ones, their certainty, and which can tell.

    They are compared with the earlier batches of their placement, or with the law, which may be wrong for a new one.
    """
    batches = table(evidence.recent)
    points, (rows, seconds) = points_of(batches[:, 2:]), batches.T[:2]
    overhead_s, each_s = law.times(points)
    law_s, is_known = overhead_s + each_s * rows, np.zeros(len(batches), dtype=bool)
    expected_s = law_s.copy()
    # The share of the law's variance that counts: a known placement needs it only for a difference in rows.
    share, chance = np.ones(len(batches)), np.full(len(batches), evidence.noise)
    for conditions in {each[2:6] for each in evidence.recent}:
        alike = (batches[:, 2:6] == conditions).all(axis=1)
        known = known_sums(evidence.placements, evidence.recent[int(np.argmax(alike))])
        if known is not None:
            is_known[alike] = True
            expected_s[alike] *= known.seconds / (overhead_s * known.one + each_s * known.rows)[alike]
            share[alike] = APART_SHARE * np.minimum(1, np.log(rows[alike] * known.one / known.rows) ** 2)
            chance[alike] += alike.sum() * evidence.noise / known.batches
        share[alike] *= alike.sum()
    if (share > LEAST_SHARE).any():
        chance += share * (law.half_width(points, rows, law_s) / quantile(math.inf)) ** 2
    return np.asarray(seconds / expected_s - 1), 1 / chance, is_known


def _newest_alike(
    apart: Vector, certainty: Vector, is_known: NDArray[np.bool_], noise: float
) -> tuple[int, float, float]:
    """Return how many of the newest batches are alike, their mean deviation, and it in standard errors.

    If all are of a new placement, it is the placement that differs, not the cost.
    """
    if len(apart) < FEWEST:
        return len(apart), 0.0, 0.0
    newest, weight = apart[::-1], certainty[::-1]
    total, count = np.cumsum(weight), np.arange(1, len(apart) + 1)
    mean = np.cumsum(weight * newest) / total
    spread = np.maximum(np.cumsum(weight * newest**2) / total - mean**2, 0) * count / np.maximum(count - 1, 1)
    errors = np.abs(mean) * np.sqrt(total / np.maximum(spread / noise, 1)) * (np.cumsum(is_known[::-1]) > 0)
    at = FEWEST - 1 + int(np.argmax(errors[FEWEST - 1 :]))
    if errors[at] <= CHANGED_ERRORS:
        at = min(len(apart), RECENT) - 1
    return at + 1, float(mean[at]), float(errors[at])


def _settled(evidence: BatchEvidence, keep: int, apart: Vector | None = None) -> BatchEvidence:
    """Move all but the newest batches to the sums; the noise is learned from their deviations."""
    recent, noise, placements = evidence.recent, evidence.noise, evidence.placements
    moved = recent[: max(0, len(recent) - keep)]
    if apart is not None and moved:
        for each in np.minimum(np.abs(apart[-len(recent) :][: len(moved)]), MAX_DEVIATION).tolist():
            noise += NOISE_GAIN * (each**2 - noise)
    return replace(evidence, placements=with_batches(placements, moved), recent=recent[len(moved) :], noise=noise)


def _rescaled(evidence: BatchEvidence, law: FittedBatchTime, change: float, rows: float) -> BatchEvidence:
    """Scale all earlier evidence by a change of the time of a batch of some rows, as a share.

    Mostly the time of the rows is scaled, and the fixed time a little: one placement cannot show which of them it was.
    """
    sums = table(evidence.placements)
    overhead_s, each_s = law.times(points_of(sums))
    here_s, rows_here_s = law.times(points_of(table(evidence.recent[-1:])[:, 2:]))
    fixed, of_rows = float(here_s[0]), rows * float(rows_here_s[0])
    unit = change * (fixed + of_rows) / (FIXED_SHARE * fixed**2 + of_rows**2)
    factors = np.clip(1 + unit * np.array([FIXED_SHARE * fixed, of_rows]), LEAST, MOST)
    one, by_rows, squared = sums[:, 6:9].T.copy()
    for column, low, high in ((9, one, by_rows), (10, by_rows, squared)):
        parts = np.stack([overhead_s * low, each_s * high])
        sums[:, column] *= factors @ parts / parts.sum(axis=0)
    sums[:, 6:] *= max(LEAST_KEPT, 1 / (1 + (change / HALVED_BY) ** 2))
    placements = tuple(PlacementSums(*row) for row in sums.tolist())
    return replace(
        evidence, placements=placements, row_s=evidence.row_s * float(factors[1]), pace=evidence.pace * (1 + change)
    )
