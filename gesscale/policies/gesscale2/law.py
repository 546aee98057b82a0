"""The law of batch times, learned from every warm batch: T = T0 + a rows / W + b rows + k D + m P.

W is the summed weight of the replicas, D the farthest round trip to the driver and P that between two replicas. It is
a ridge regression with priors whose evidence fades by a factor for each batch, so that its sums are all it remembers.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict

Vector = NDArray[np.float64]

TERMS = 5
FADE = 0.997


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchTimeSample:
    """A warm batch as evidence: rows, seconds, weight, and the two delays in seconds."""

    rows: float
    seconds: float
    weight: float
    driver_rtt_s: float
    pair_rtt_s: float


class LawEvidence(BaseModel):
    """The faded sums of all samples."""

    model_config = ConfigDict(frozen=True)

    gram: tuple[float, ...] = ()
    moments: tuple[float, ...] = ()
    count: float = 0.0
    most_rows: float = 0.0
    row_s: float = 0.0

    def learned(self, samples: Sequence[BatchTimeSample]) -> "LawEvidence":
        """Return the evidence with some samples more."""
        gram = np.array(self.gram).reshape(TERMS, TERMS) if self.gram else np.zeros((TERMS, TERMS))
        moments = np.array(self.moments) if self.moments else np.zeros(TERMS)
        count, most, row_s = self.count, self.most_rows, self.row_s
        for sample in samples:
            if not (sample.rows > 0 and sample.seconds > 0):
                continue
            terms = np.array(
                [1.0, sample.rows / sample.weight, sample.rows, sample.driver_rtt_s, sample.pair_rtt_s]
            )
            weight = 1 / (0.03 * sample.seconds + 0.02) ** 2
            gram = FADE * gram + weight * np.outer(terms, terms)
            moments = FADE * moments + weight * sample.seconds * terms
            count = FADE * count + 1
            most *= FADE
            if sample.rows > most:
                most, row_s = sample.rows, sample.seconds * sample.weight / sample.rows
        return LawEvidence(
            gram=tuple(float(f"{value:.8g}") for value in gram.ravel()),
            moments=tuple(float(f"{value:.8g}") for value in moments),
            count=count,
            most_rows=most,
            row_s=row_s,
        )

    def law(self) -> "BatchTimeLaw | None":
        """Fit the law; None before any sample."""
        if not self.row_s:
            return None
        prior = np.array([0.3, 0.95 * self.row_s, 0.02 * self.row_s, 4.5, 0.5])
        spread = np.array([0.4, 0.5 * self.row_s, 0.02 * self.row_s, 2.0, 1.0])
        stiffness = np.diag(1 / spread**2)
        gram = np.array(self.gram).reshape(TERMS, TERMS)
        found = np.linalg.solve(gram + stiffness, np.array(self.moments) + stiffness @ prior)
        fixed, row, shared, driver, pair = (max(0.0, float(value)) for value in found)
        return BatchTimeLaw(fixed, max(row, 0.05 * self.row_s), shared, driver, pair)


@dataclass(frozen=True)
class BatchTimeLaw:
    """A fitted law of batch times, seconds."""

    fixed_s: float
    row_s: float
    shared_row_s: float
    driver_trips: float
    pair_trips: float

    def rows_per_s(
        self,
        weight: Vector | float,
        driver_rtt_s: Vector | float,
        pair_rtt_s: Vector | float,
        cap_rows: Vector | float | None,
        trigger_s: float,
    ) -> Vector | float:
        """Return the capacity of placements, rows/s."""
        overhead_s = self.fixed_s + self.driver_trips * driver_rtt_s + self.pair_trips * pair_rtt_s
        each_s = self.row_s / weight + self.shared_row_s
        if cap_rows is None:
            limit_s = np.maximum(trigger_s, 2 * overhead_s)
            return (limit_s - overhead_s) / each_s / limit_s
        return cap_rows / np.maximum(overhead_s + cap_rows * each_s, trigger_s)
