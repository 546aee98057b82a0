"""Evidence of the law of batch times: sums over the warm batches of each placement.

Within one placement only the rows of a batch vary. So five sums for each placement give the normal equations of any
fit, with or without it. The newest batches are kept apart: they show whether the cost of a row has changed, see
`perfmodel.row_cost`.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, groupby
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from perfmodel.readings import same_conditions

#: Beyond any figure of a batch; the sums of their squares are finite.
SMALLEST, LARGEST = 1e-6, 1e12
#: Share of a placement's evidence that remains after each of its batches: half of it after 230.
FADE = 0.997
#: Number of placements that are kept, the newest.
MAX_PLACEMENTS = 16
#: Standard deviation of the duration of a batch, as a share, by which batches are weighted; and the prior of its
#: square. A larger one that is observed makes all batches less certain.
USUAL_NOISE, NOISE_PRIOR = 0.03, 0.05**2


class BatchSample(NamedTuple):
    """Warm batch as evidence."""

    #: Rows and duration (rows, seconds).
    rows: float
    seconds: float
    #: Weights of its replicas: their sum, and their number times the smallest (weight, even_weight).
    weight: float
    even_weight: float
    #: The longest round trip to the driver, and between two replicas, ms (driver_ms, pair_ms).
    driver_ms: float
    pair_ms: float
    #: When it ended, seconds since the epoch.
    at_s: float = 0.0

    @property
    def usable(self) -> bool:
        """False if a figure is not finite or out of its range."""
        in_range = all(abs(each) <= LARGEST for each in self)
        return in_range and min(self[:4]) >= SMALLEST and min(self.driver_ms, self.pair_ms) >= 0

    def is_alike(self, other: "BatchSample") -> bool:
        """Return whether another batch had the same conditions."""
        return _alike(self[2:], other[2:])


def _alike(one: Sequence[float], other: Sequence[float]) -> bool:
    (weight, even, driver_ms, pair_ms), (weight_2, even_2, driver_2_ms, pair_2_ms) = one[:4], other[:4]
    return same_conditions(math.log(weight / weight_2), driver_ms, driver_2_ms) and same_conditions(
        math.log(even / even_2), pair_ms, pair_2_ms
    )


class PlacementSums(NamedTuple):
    """Sums over the batches of one placement, each faded by its age in batches."""

    #: Conditions, as in `BatchSample` (weight, even_weight, driver_ms, pair_ms).
    weight: float
    even_weight: float
    driver_ms: float
    pair_ms: float
    #: Faded number of batches, and the end of the newest, seconds since the epoch (batches, at_s).
    batches: float = 0.0
    at_s: float = 0.0
    #: Sums of the certainty c of each batch, and of c R, c R^2, c T, c R T (one, rows, squared_rows, seconds, both).
    one: float = 0.0
    rows: float = 0.0
    squared_rows: float = 0.0
    seconds: float = 0.0
    both: float = 0.0

    def matches(self, sample: BatchSample) -> bool:
        """Return whether a batch had the same conditions."""
        return _alike(self, sample[2:])

    def plus(self, samples: Sequence[BatchSample], usual: "MeanBatch") -> "PlacementSums":
        """Return the sums with more batches; batches as long as usual are as certain, whatever they took themselves."""
        sums = self
        for sample in samples:
            rows, seconds = sample.rows, sample.seconds
            certainty = 1 / (USUAL_NOISE * usual.seconds * (1 + rows / usual.rows) / 2 + 0.02) ** 2
            sums = PlacementSums(
                *sample[2:6],
                FADE * sums.batches + 1.0,
                max(sums.at_s, sample.at_s),
                FADE * sums.one + certainty,
                FADE * sums.rows + certainty * rows,
                FADE * sums.squared_rows + certainty * rows * rows,
                FADE * sums.seconds + certainty * seconds,
                FADE * sums.both + certainty * rows * seconds,
            )
        return sums


class MeanBatch(NamedTuple):
    """Mean of the newest batches (rows, seconds)."""

    rows: float
    seconds: float

    @classmethod
    def of(cls, samples: Sequence[BatchSample]) -> "MeanBatch":
        """Return the mean of batches."""
        return cls(*(sum(each[index] for each in samples) / len(samples) for index in (0, 1)))


@dataclass(frozen=True, kw_only=True)
class BatchEvidence:
    """Evidence of all batches so far, as at the present cost of a row."""

    #: Earlier batches, the newest placement last.
    placements: tuple[PlacementSums, ...] = ()
    #: The newest batches under the present conditions, since the last change of the cost; they are not in the sums.
    recent: tuple[BatchSample, ...] = ()
    #: Variance of the duration of a batch around the law, as a share squared.
    noise: float = NOISE_PRIOR
    #: Rows of the largest batch, and the time per row on a replica of weight 1, seconds; 0 before any (max_rows,
    #: row_s).
    max_rows: float = 0.0
    row_s: float = 0.0
    #: Time of a batch against the first one's at equal rows: the product of the changes that were followed.
    pace: float = 1.0
    #: Share of the rows that replicas of different weights were seen to take evenly, 0 to 1; 1 if it is not known.
    even_split: float = 1.0

    @cached_property
    def sums(self) -> tuple[PlacementSums, ...]:
        """The sums with the newest batches."""
        return with_batches(self.placements, self.recent)

    def up_to(self, weight: float) -> "BatchEvidence":
        """Return the evidence of placements of at most this weight; all if there is none."""
        kept = tuple(each for each in self.placements if each.weight <= 1.01 * weight)
        recent = tuple(each for each in self.recent if each.weight <= 1.01 * weight)
        return replace(self, placements=kept, recent=recent) if kept or recent else self


def with_batches(placements: tuple[PlacementSums, ...], samples: Sequence[BatchSample]) -> tuple[PlacementSums, ...]:
    """Add batches to the sums of their placements, the newest placement last."""
    for _, group in groupby(samples, lambda sample: sample[2:6]):
        batches = tuple(group)
        known = known_sums(placements, batches[-1])
        added = (known or PlacementSums(*batches[-1][2:6])).plus(batches, MeanBatch.of(batches))
        placements = (*(each for each in placements if each is not known), added)[-MAX_PLACEMENTS:]
    return placements


def table(tuples: Sequence[Sequence[float]]) -> NDArray[np.float64]:
    """Return tuples of equal length as rows; np.array takes ten times as long for named ones."""
    return np.fromiter(chain.from_iterable(tuples), np.float64).reshape(len(tuples), -1)


def known_sums(placements: Sequence[PlacementSums], sample: BatchSample) -> PlacementSums | None:
    """Return the sums of the placement of a batch; None without any."""
    return next((each for each in placements if each.matches(sample)), None)
