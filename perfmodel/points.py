"""Conditions of placements as vectors, the input of both laws, and predictions for them."""

from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from perfmodel.readings import ModelError

Vector = NDArray[np.float64]

#: Confidence that an interval contains the true value.
CONFIDENCE = 0.9


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Points:
    """Conditions of placements: arrays of one shape."""

    #: Sum of the capacity weights of the replicas; n if all are 1.
    weight: Vector
    #: Number of replicas times the smallest weight: with evenly distributed rows a batch waits for the slowest.
    even_weight: Vector
    #: Longest round trip to the driver, and between two replicas (driver_ms, pair_ms).
    driver_ms: Vector
    pair_ms: Vector
    #: Maximum rows of a batch; NaN without a cap.
    cap_rows: Vector
    #: Trigger interval.
    trigger_s: float = 1.0

    @classmethod
    def of(
        cls,
        weight: float,
        nd_max_ms: float,
        *,
        even_weight: float | None = None,
        pair_ms: float | None = None,
        cap_rows: float | None = None,
        trigger_s: float = 1.0,
    ) -> "Points":
        """Return one placement; by default its nodes are equal and as far from each other as from the driver."""
        return cls(
            weight=np.array([weight], dtype=float),
            even_weight=np.array([weight if even_weight is None else even_weight], dtype=float),
            driver_ms=np.array([nd_max_ms], dtype=float),
            pair_ms=np.array([nd_max_ms if pair_ms is None else pair_ms], dtype=float),
            cap_rows=np.array([np.nan if cap_rows is None else cap_rows], dtype=float),
            trigger_s=trigger_s,
        )

    @property
    def cap_rows_per_s(self) -> Vector:
        """The most that batches of the cap can take: one each trigger interval; infinite without a cap."""
        none = np.isnan(self.cap_rows) if self.trigger_s > 0 else np.ones_like(self.cap_rows, dtype=bool)
        return np.where(none, np.inf, self.cap_rows / max(self.trigger_s, 1e-9))

    @property
    def nd_max_ms(self) -> Vector:
        """NDmax, the driver's node included."""
        return np.maximum(self.driver_ms, self.pair_ms)


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """A predicted MST.

    Raises
    ------
    ModelError
        If the three are not in ascending order, or one is negative.
    """

    #: Rows/s, 0 <= low <= mid <= high. The true MST lies between low and high with about 90 % confidence (low, mid,
    #: high).
    low: float
    mid: float
    high: float
    #: Remarks, such as extrapolated or clipped at zero; empty if there are none.
    reason: str = ""

    def __post_init__(self) -> None:
        if not 0 <= self.low <= self.mid <= self.high:
            raise ModelError("estimate-unordered", low=self.low, mid=self.mid, high=self.high)


class Estimates(NamedTuple):
    """Predicted MSTs of placements: low, mid and high in rows/s, arrays of one shape."""

    low: Vector
    mid: Vector
    high: Vector

    def at(self, index: int) -> Estimate:
        """Return the estimate of one of a vector of placements."""
        return Estimate(low=float(self.low[index]), mid=float(self.mid[index]), high=float(self.high[index]))


@lru_cache(maxsize=256)
def quantile(freedom: float) -> float:
    """Return the half width of a 90 % interval in standard deviations, by Student's distribution.

    Examples
    --------
    >>> round(quantile(2.0), 6), round(quantile(1000.0), 6)
    (2.919986, 1.646379)
    """
    from scipy.special import stdtrit

    return float(stdtrit(freedom, (1 + CONFIDENCE) / 2))
