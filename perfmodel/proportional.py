"""Eq. 2 of the paper, MST = alpha n: Eq. 1 without delays."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import ClassVar

from gesscale.common.errors import Problem
from perfmodel.curves import Points
from perfmodel.evidence import Conditions, Reading
from perfmodel.fitted import FittedModel
from perfmodel.laws import GesscaleLaw
from perfmodel.model import Estimate, Estimates

_ONE_NODE = Conditions(replicas=1, nd_max_ms=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProportionalModel:
    """A fitted alpha; see `perfmodel.model.Model` for the attributes."""

    law: ClassVar[str] = "proportional"
    #: Eq. 1 fitted to the throughput per node, as if each node had been alone.
    node: FittedModel

    @property
    def parameters(self) -> Mapping[str, float]:
        """Alpha, rows/s."""
        return {"alpha": self.node.parameters["alpha"]}

    @property
    def fitted(self) -> frozenset[str]:
        """Alpha."""
        return frozenset({"alpha"})

    @property
    def readings_used(self) -> int:
        """Number of readings of the fit."""
        return self.node.readings_used

    @property
    def calibrated(self) -> bool:
        """Always true: one reading identifies the only parameter."""
        return True

    @property
    def drift(self) -> bool:
        """True if newer readings contradicted older ones, which were dropped."""
        return self.node.drift

    @property
    def warnings(self) -> tuple[Problem, ...]:
        """Effects that the law ignores."""
        return (Problem("model-delays-ignored"),)

    def predict(self, conditions: Conditions) -> Estimate:
        """Predict the MST under these conditions, rows/s; the delay has no effect."""
        one, n = self.node.predict(_ONE_NODE), conditions.capacity
        return Estimate(low=one.low * n, mid=one.mid * n, high=one.high * n)

    def predict_all(self, points: Points) -> Estimates:
        """Predict the MST of many points at once, rows/s; the delays have no effect."""
        one, n = self.node.predict(_ONE_NODE), points.capacity
        return Estimates(one.low * n, one.mid * n, one.high * n)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProportionalLaw:
    """Eq. 2 of the paper, MST = alpha n, fitted to saturated readings of any delay.

    Examples
    --------
    Two replicas that sustain 3,500 rows/s give 1,750 per node, whatever the cause of the loss:

    >>> model = ProportionalLaw().fit([Reading(replicas=2, nd_max_ms=100, rows_per_s=3500)])
    >>> round(model.predict(Conditions(replicas=4, nd_max_ms=300)).mid)
    7000
    """

    name: ClassVar[str] = "proportional"

    #: Maximum age and half-life of readings, as in `GesscaleLaw` (max_age_s, half_life_s).
    max_age_s: float | None = None
    half_life_s: float | None = None

    def fit(self, readings: Sequence[Reading], now_s: float | None = None) -> ProportionalModel:
        """Fit the law; see `GesscaleLaw.fit`.

        Raises
        ------
        ModelError
            If no reading is usable.
        """
        eq1 = GesscaleLaw(max_age_s=self.max_age_s, half_life_s=self.half_life_s)
        return ProportionalModel(node=eq1.fit([_of_one_node(reading) for reading in readings], now_s))


@lru_cache(maxsize=1024)  # equal evidence gives identical readings, whose fit is cached
def _of_one_node(reading: Reading) -> Reading:
    rate = reading.rows_per_s / reading.capacity
    return replace(reading, replicas=1, nd_max_ms=0.0, weight=None, batch_rows=None, tasks=None, rows_per_s=rate)
