"""The quantile rule (newsvendor): as many replicas as carry the load up to the quantile that its price is worth.

A replica too many costs itself for some time, one too few costs late minutes. The number of least expected cost covers
the quantile ``price / (price + replica-minutes of one more)`` of the load until replicas that are ordered now serve.
It is the form to which MagicScaler (VLDB 2023) and OptScaler (PVLDB 2024) come with a good forecast.
"""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from pydantic import Field

from gesscale.policies.registry import PolicyInfo
from testbed.baselines.shared.priced import (
    SETTLE_S,
    Floats,
    PricedMemo,
    PricedPolicy,
    PricedSettings,
    Rate,
    Situation,
    rounded,
)
from testbed.baselines.shared.sizing import PLACEMENT_SETTINGS, with_configured_placement

#: Errors of the forecast that are kept, one for each step.
ERRORS_KEPT = 180
#: Step of the conformal adjustment (Gibbs and Candès, NeurIPS 2021).
_ADJUSTMENT = 0.01
#: Until this number of errors is known the load may rise by a fifth, as DS2 is over-provisioned by Kanis.
_FEWEST_ERRORS = 10
_FIRST_RISE = 1.2
#: A load below this counts as this in relative errors, rows/s.
_LEAST_LOAD = 1.0


class QuantileSettings(PricedSettings):
    """The newsvendor's prices."""


class QuantileMemo(PricedMemo):
    """Load and coverage of an operator; up to 2 kB of JSON."""

    #: Load of the last steps, rows/s, oldest first.
    loads: tuple[Rate, ...] = ()
    #: What is added to the quantile so that it covers as many loads as it should.
    adjustment: float = Field(0.0, ge=-1, le=1)
    #: Upper bounds of the load that no step has confirmed yet, rows/s, oldest first.
    bounds: tuple[Rate, ...] = ()


@dataclass(frozen=True, slots=True)
class QuantilePolicy(PricedPolicy[QuantileMemo]):
    """Chooses the fewest replicas whose capacity covers a quantile of the load."""

    name: ClassVar[str] = "quantile"
    memo: ClassVar[type[PricedMemo]] = QuantileMemo

    def learned(self, memo: QuantileMemo, now: Situation) -> QuantileMemo:
        """Add the load, and adjust the quantile by whether the load stayed below an earlier bound."""
        steps = _steps(_ahead_s(now), now.step_s)
        loads = (*memo.loads, rounded(now.load))[-(ERRORS_KEPT + steps) :]
        adjustment, bounds = memo.adjustment, memo.bounds
        nominal = self._nominal(now.step_s)
        while len(bounds) >= steps:
            missed = max(loads[-steps:]) > bounds[0]
            adjustment += _ADJUSTMENT * (missed - (1 - nominal))
            bounds = bounds[1:]
        adjustment = min(max(adjustment, nominal - 1), 1 - nominal)
        grown = memo.model_copy(update={"loads": loads, "adjustment": round(adjustment, 6)})
        bound = rounded(grown_load(loads, steps, self._quantile(grown, now.step_s)))
        return grown.model_copy(update={"bounds": (*bounds, bound)})

    def choice(self, memo: QuantileMemo, now: Situation) -> tuple[int, str]:
        """Choose the fewest that cover the load until they would serve; fewer only if they also cover it for longer."""
        quantile = self._quantile(memo, now.step_s)
        high = grown_load(memo.loads, _steps(_ahead_s(now), now.step_s), quantile)
        text = f"at most {high:.0f} rows/s with probability {quantile:.2f}"
        covering = np.flatnonzero(now.capacity >= high + now.drain)
        if not covering.size:
            least = int(now.capacity[now.present :].argmax()) + now.present
            return least, f"{text}, which no number of replicas carries"
        least = int(covering[0])
        for index in range(least, now.present):
            horizon_s = max(SETTLE_S, 2 * 60 * self.change_cost(now) / (now.present - index))
            later = grown_load(memo.loads, _steps(horizon_s, now.step_s), quantile)
            if now.capacity[index] >= later + now.drain:
                return index, f"{text}, {later:.0f} in {horizon_s:.0f} s"
        return max(least, now.present), text

    def _nominal(self, step_s: float) -> float:
        """Return the quantile that the prices are worth."""
        price = self.sizing.late_minute_price
        return price / (price + max(step_s, SETTLE_S) / 60)

    def _quantile(self, memo: QuantileMemo, step_s: float) -> float:
        return self._nominal(step_s) + memo.adjustment


def grown_load(loads: tuple[float, ...], steps: int, quantile: float) -> float:
    """Return a quantile of the highest load of the next steps, by how much past loads rose in as many steps.

    Examples
    --------
    Of nine steps one rises by half; the quantile of a half knows nothing of it, that of 0.95 does.

    >>> loads = (100.0,) * 9 + (150.0, 100.0, 100.0)
    >>> grown_load(loads, 1, 0.5), grown_load(loads, 1, 0.95)
    (100.0, 150.0)
    """
    steps = min(steps, max(1, len(loads) // 2))
    if len(loads) - steps < _FEWEST_ERRORS:
        return _FIRST_RISE * loads[-1]
    seen: Floats = np.maximum(np.array(loads), _LEAST_LOAD)
    highest = np.lib.stride_tricks.sliding_window_view(seen[1:], steps).max(axis=1)
    return float(loads[-1] * np.quantile(highest / seen[:-steps], quantile, method="higher"))


def _ahead_s(now: Situation) -> float:
    """Return the time until replicas that the next step orders serve."""
    return now.change.effective_s + now.step_s


def _steps(seconds: float, step_s: float) -> int:
    return max(1, math.ceil(seconds / step_s - 1e-9))


POLICY = PolicyInfo(
    name="quantile",
    summary="the fewest replicas that carry the quantile of the load that the prices are worth",
    source="the newsvendor's rule; as MagicScaler, VLDB 2023, and OptScaler, PVLDB 17(12) 2024, come to it",
    build=with_configured_placement(QuantilePolicy),
    settings=QuantileSettings,
    accepts=PLACEMENT_SETTINGS,
    guide="reference/policies/quantile.md",
    knows_price=True,
)
