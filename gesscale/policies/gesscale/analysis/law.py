"""The law of batch times, learned from every warm batch: T = T0 + a R / W + e R / V + b R + k D + m P.

R is the number of rows of the batch. W is the total weight of its replicas, and V their number times the smallest
weight: with evenly distributed rows the batch waits for the slowest replica; if fast replicas take more tasks, it does
not. D is the longest round trip to the driver and P the longest between two replicas. A query that only maps depends on
D, one that shuffles also on P. The fit finds both from the evidence.

The fit is a ridge regression whose evidence fades by a factor per batch, so that only its sums are stored.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict

from perfmodel import ParameterEstimate

Vector = NDArray[np.float64]

TERMS = 6
#: Share of the evidence that remains after each batch: half of it after 230 batches.
FADE = 0.997

_PRIOR = np.array([0.3, 0.475, 0.475, 0.02, 4.5, 0.5])
#: Prior means and standard deviations: T0 in seconds; a, e and b as shares of the time of a row; k and m in round trips
#: (measured on Spark 4: a batch that maps takes 4 to 5 of them).
_PRIOR_SPREAD = np.array([0.4, 0.354, 0.354, 0.02, 2.0, 1.0])

#: Minimum time of a row, as a share of its time in the largest batch.
_MIN_SHARE = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchSample:
    """Warm batch as evidence."""

    #: Rows and duration (rows, seconds).
    rows: float
    seconds: float
    #: Weights of its replicas: their sum, and their number times the smallest (weight, even_weight).
    weight: float
    even_weight: float
    #: The longest round trip to the driver, and between two replicas, seconds (driver_rtt_s, pair_rtt_s).
    driver_rtt_s: float
    pair_rtt_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchTimeLaw:
    """Fitted law. Parameters are seconds, seconds per row, and round trips; none is negative."""

    fixed_s: float
    row_s: float
    even_row_s: float
    shared_row_s: float
    driver_trips: float
    pair_trips: float

    def rows_per_s(
        self,
        weight: Vector,
        even_weight: Vector,
        driver_rtt_s: Vector,
        pair_rtt_s: Vector,
        cap_rows: float | Vector | None,
        trigger_s: float,
    ) -> Vector:
        """Return the capacity of placements.

        Parameters
        ----------
        cap_rows
            Maximum rows of a batch, a number or shape ``(p,)``; None without a cap.
        """
        overhead_s = self.fixed_s + self.driver_trips * driver_rtt_s + self.pair_trips * pair_rtt_s
        each_s = self.row_s / weight + self.even_row_s / even_weight + self.shared_row_s
        if cap_rows is not None:
            return cap_rows / np.maximum(overhead_s + cap_rows * each_s, trigger_s)
        limit_s = np.maximum(trigger_s, 2 * overhead_s)
        return (limit_s - overhead_s) / each_s / limit_s


class LawEvidence(BaseModel):
    """Sums of all samples, each faded by its age in batches."""

    model_config: ClassVar[ConfigDict] = ConfigDict(frozen=True, extra="forbid")

    #: The sums of the normal equations, ``TERMS`` x ``TERMS`` and ``TERMS`` numbers; empty before any sample (gram,
    #: moments).
    gram: tuple[float, ...] = ()
    moments: tuple[float, ...] = ()
    #: Rows of the largest batch, and the time per row on a replica of weight 1, seconds; 0 before any (max_rows,
    #: row_s).
    max_rows: float = 0.0
    row_s: float = 0.0

    def updated(self, samples: Iterable[BatchSample]) -> "LawEvidence":
        """Add samples to the evidence; samples without rows or with invalid figures are ignored."""
        gram, moments = self._sums()
        max_rows, row_s = self.max_rows, self.row_s
        for sample in samples:
            if not (0 < sample.rows < math.inf and 0 <= sample.seconds < math.inf):
                continue
            terms = _terms(sample)
            certainty = 1 / (0.03 * sample.seconds + 0.02) ** 2
            gram = FADE * gram + certainty * np.outer(terms, terms)
            moments = FADE * moments + certainty * sample.seconds * terms
            max_rows *= FADE
            if sample.rows > max_rows:
                max_rows, row_s = sample.rows, sample.seconds * sample.even_weight / sample.rows
        return LawEvidence(gram=_rounded(gram), moments=_rounded(moments), max_rows=max_rows, row_s=row_s)

    def law(self) -> BatchTimeLaw | None:
        """Fit the law; None before any sample."""
        return self.fitted

    @cached_property
    def fitted(self) -> BatchTimeLaw | None:
        """The law, fitted once."""
        if not self.row_s:
            return None
        precision, moments = self.posterior
        found = np.linalg.solve(precision, moments)
        fixed_s, row_s, even_row_s, shared_row_s, driver_trips, pair_trips = np.maximum(found, 0.0).tolist()
        return BatchTimeLaw(
            fixed_s=fixed_s,
            row_s=row_s,
            even_row_s=max(even_row_s, _MIN_SHARE * self.row_s - row_s),
            shared_row_s=shared_row_s,
            driver_trips=driver_trips,
            pair_trips=pair_trips,
        )

    def parameters(self) -> tuple[ParameterEstimate, ...]:
        """Return the parameters of the law with their 90 % interval; empty before any sample.

        The two times of a row are reported as their sum and the share that waits for the slowest replica: with equally
        fast replicas only the sum can be identified.
        """
        law = self.law()
        if law is None:
            return ()
        row_s = law.row_s + law.even_row_s
        transform = np.delete(np.eye(TERMS), 2, axis=0)
        transform[1, 2] = 1.0
        transform = np.vstack([transform, np.array([0, -1, 1, 0, 0, 0]) / (2 * row_s)])
        precision, _ = self.posterior
        known, prior = np.linalg.inv(precision), np.diag((_PRIOR_SPREAD * self._scale()) ** 2)
        now, first = (np.sqrt(np.diag(transform @ spread @ transform.T)).tolist() for spread in (known, prior))
        values = {
            "fixed_s": law.fixed_s,
            "row_s": row_s,
            "shared_row_s": law.shared_row_s,
            "driver_trips": law.driver_trips,
            "pair_trips": law.pair_trips,
            "even_share": law.even_row_s / row_s,
        }
        return tuple(
            ParameterEstimate(
                name=name,
                unit=unit,
                value=value,
                low=value - 1.645 * each,
                high=value + 1.645 * each,
                identified=each < before / 2,
            )
            for (name, value), unit, each, before in zip(
                values.items(), ("s", "s", "s", "1", "1", "1"), now, first, strict=True
            )
        )

    def spread_share(self, sample: BatchSample) -> float:
        """Return the standard deviation of the predicted batch time, as a share of the sample's time."""
        precision, _ = self.posterior
        terms = _terms(sample)
        return float(np.sqrt(terms @ np.linalg.solve(precision, terms))) / sample.seconds

    @cached_property
    def posterior(self) -> tuple[Vector, Vector]:
        """Precision matrix of the parameters, and its product with their means, including the prior."""
        scale = self._scale()
        stiffness = np.diag((_PRIOR_SPREAD * scale) ** -2)
        gram, moments = self._sums()
        return gram + stiffness, moments + stiffness @ (_PRIOR * scale)

    def _scale(self) -> Vector:
        """Return the units of the prior."""
        return np.array([1.0, self.row_s, self.row_s, self.row_s, 1.0, 1.0])

    def _sums(self) -> tuple[Vector, Vector]:
        if len(self.gram) != TERMS * TERMS or len(self.moments) != TERMS:
            return np.zeros((TERMS, TERMS)), np.zeros(TERMS)
        return np.array(self.gram).reshape(TERMS, TERMS), np.array(self.moments)


def _terms(sample: BatchSample) -> Vector:
    spread = sample.rows / sample.weight, sample.rows / sample.even_weight
    return np.array([1.0, *spread, sample.rows, sample.driver_rtt_s, sample.pair_rtt_s])


def _rounded(values: Vector) -> tuple[float, ...]:
    return tuple(float(f"{value:.9g}") for value in values.ravel())
