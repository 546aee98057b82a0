"""Evidence of the law of batch times: sums over the warm batches of each placement.

Within one placement only the rows of a batch vary. So five sums for each placement give the normal equations of any
fit, with or without it.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from perfmodel.readings import CHANGED_SHARE, same_conditions

#: Beyond any figure of a batch; the sums of their squares are finite.
SMALLEST, LARGEST = 1e-6, 1e12
#: Share of a placement's evidence that remains after each of its batches: half of it after 230.
FADE = 0.997
#: Number of placements that are kept, the newest.
MAX_PLACEMENTS = 16
#: Share of the evidence that remains if the newest batches contradict it, and the batches that this takes, before
#: the step and in it.
AFTER_CHANGE, TOLD_BEFORE, TOLD_NOW = 0.5, 10.0, 3


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
        return same_conditions(
            math.log(sample.weight / self.weight), sample.driver_ms, self.driver_ms
        ) and same_conditions(math.log(sample.even_weight / self.even_weight), sample.pair_ms, self.pair_ms)

    def plus(self, sample: BatchSample) -> "PlacementSums":
        """Return the sums with one more batch."""
        rows, seconds, certainty = sample.rows, sample.seconds, 1 / (0.03 * sample.seconds + 0.02) ** 2
        added = (
            1.0,
            certainty,
            certainty * rows,
            certainty * rows * rows,
            certainty * seconds,
            certainty * rows * seconds,
        )
        batches, *sums = (FADE * old + new for old, new in zip((self.batches, *self[6:]), added, strict=True))
        return PlacementSums(*sample[2:6], batches, max(self.at_s, sample.at_s), *sums)

    def times(self, share: float) -> "PlacementSums":
        """Return the same evidence with less weight."""
        return PlacementSums(*self[:4], share * self.batches, self.at_s, *(share * each for each in self[6:]))

    def contradicts(self, samples: Sequence[BatchSample]) -> bool:
        """Return whether batches are far, in their mean, from the line through the earlier ones of this placement."""
        if self.batches < TOLD_BEFORE or len(samples) < TOLD_NOW:
            return False
        spread = self.squared_rows * self.one - self.rows**2
        slope = 0.0
        if spread > 1e-6 * self.squared_rows * self.one:
            slope = max(0.0, (self.one * self.both - self.rows * self.seconds) / spread)
        fixed = (self.seconds - slope * self.rows) / self.one
        ratios = [each.seconds / max(fixed + slope * each.rows, 0.1 * each.seconds) - 1 for each in samples]
        return abs(sum(ratios) / len(ratios)) > CHANGED_SHARE


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchEvidence:
    """Evidence of all batches so far."""

    #: The newest last.
    placements: tuple[PlacementSums, ...] = ()
    #: Rows of the largest batch, and the time per row on a replica of weight 1, seconds; 0 before any (max_rows,
    #: row_s).
    max_rows: float = 0.0
    row_s: float = 0.0

    def updated(self, samples: Iterable[BatchSample]) -> "BatchEvidence":
        """Add the batches of a step, oldest first; those with invalid figures are ignored."""
        usable = [sample for sample in samples if sample.usable]
        if not usable:
            return self
        placements = list(self.placements)
        known = next((each for each in placements if each.matches(usable[-1])), None)
        latest = [sample for sample in usable if known is not None and known.matches(sample)]
        if known is not None and known.contradicts(latest):
            # Other placements cannot show that they have changed too.
            placements = [each.times(AFTER_CHANGE if each is known else AFTER_CHANGE**2) for each in placements]
        max_rows, row_s = self.max_rows, self.row_s
        for sample in usable:
            index = next((at for at, each in enumerate(placements) if each.matches(sample)), None)
            before = PlacementSums(*sample[2:6]) if index is None else placements.pop(index)
            placements.append(before.plus(sample))
            max_rows *= FADE
            if sample.rows > max_rows:
                max_rows, row_s = sample.rows, sample.seconds * sample.even_weight / sample.rows
        unchanged = set(self.placements)
        kept = tuple(each if each in unchanged else _rounded(each) for each in placements[-MAX_PLACEMENTS:])
        return BatchEvidence(placements=kept, max_rows=max_rows, row_s=row_s)

    def up_to(self, weight: float) -> "BatchEvidence":
        """Return the evidence of placements of at most this weight; all if there is none."""
        kept = tuple(each for each in self.placements if each.weight <= 1.01 * weight)
        return replace(self, placements=kept or self.placements)


def _rounded(sums: PlacementSums) -> PlacementSums:
    rounded = PlacementSums(*(float(f"{value:.12g}") for value in sums))
    return rounded._replace(at_s=sums.at_s)
