"""Lazy capacity provisioning (Lin, Wierman, Andrew, Thereska, INFOCOM 2011): moves only as far as any optimum would.

Two offline optima of the past, one that pays for each replica added and one that pays for each removed, bound the
number of replicas from below and above. The present number moves to the nearer bound when it is outside. For convex
costs that is at most three times the cost of the optimum that knows the future, whatever the load does (theorem 1).
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from gesscale.policies.registry import PolicyInfo
from testbed.baselines.shared.priced import Cost, Floats, PricedMemo, PricedPolicy, PricedSettings, Situation
from testbed.baselines.shared.sizing import PLACEMENT_SETTINGS, with_configured_placement

#: Decimals of a cost in the memo.
_DECIMALS = 4
#: A load below this counts as this in a share of it, rows/s.
_LEAST_LOAD = 1.0


class LcpSettings(PricedSettings):
    """The prices of lazy capacity provisioning; a change is paid for each replica."""


class LcpMemo(PricedMemo):
    """Least costs of the past, by the number of replicas that it ends with, less the smallest."""

    #: If each replica added is paid (lower), or each removed (upper), replica-minutes.
    lower: tuple[Cost, ...] = ()
    upper: tuple[Cost, ...] = ()


@dataclass(frozen=True, slots=True)
class LcpPolicy(PricedPolicy[LcpMemo]):
    """Keeps the number of replicas between the two optima."""

    name: ClassVar[str] = "lcp"
    memo: ClassVar[type[PricedMemo]] = LcpMemo

    def learned(self, memo: LcpMemo, now: Situation) -> LcpMemo:
        """Extend both optima by a step."""
        if not now.capacity.any():
            return memo
        price = self.change_cost(now)
        cost = step_costs(now, self.sizing.late_minute_price)
        known = len(memo.lower) == len(memo.upper) == len(cost)
        lower = np.array(memo.lower if known else [price * index for index in range(len(cost))])
        upper = np.array(memo.upper if known else [0.0] * len(cost))
        return memo.model_copy(
            update={
                "lower": _kept(extended(lower, cost, price, 0.0)),
                "upper": _kept(extended(upper, cost, 0.0, price)),
            }
        )

    def choice(self, memo: LcpMemo, now: Situation) -> tuple[int, str]:
        """Move the present number between the bounds."""
        if not len(memo.lower) == len(memo.upper) == len(now.numbers):
            return now.present, "no bounds yet"
        lower, upper = bounds(np.array(memo.lower), np.array(memo.upper))
        text = f"the optima of the past end with {now.numbers[lower]} and {now.numbers[upper]} replicas"
        return max(lower, min(now.present, upper)), text


def step_costs(now: Situation, late_minute_price: float) -> Floats:
    """Return the cost of a step with each number of replicas: themselves, and what exceeds their capacity, in loads."""
    late = np.maximum(0.0, now.load + now.drain - now.capacity) / max(now.load, _LEAST_LOAD)
    costs: Floats = (np.array(now.numbers) + late_minute_price * late) * now.step_s / 60
    return costs


def extended(past: Floats, cost: Floats, up: float, down: float) -> Floats:
    """Return the least cost by the last number of replicas after a further step, with prices of each replica moved."""
    moved = np.arange(len(cost))[:, None] - np.arange(len(cost))
    least: Floats = cost + (past + up * np.maximum(0, moved) + down * np.maximum(0, -moved)).min(axis=1)
    return least


def bounds(lower: Floats, upper: Floats) -> tuple[int, int]:
    """Return the fewest replicas with which one optimum ends, and the most with which the other does."""
    return int(lower.argmin()), len(upper) - 1 - int(upper[::-1].argmin())


def _kept(costs: Floats) -> tuple[float, ...]:
    return tuple((costs - costs.min()).round(_DECIMALS).tolist())


POLICY = PolicyInfo(
    name="lcp",
    summary="moves only as far as the cheapest plans of the past: at most three times the cost of the best plan",
    source="Lin, Wierman, Andrew, Thereska, Dynamic Right-Sizing for Power-Proportional Data Centers, INFOCOM 2011",
    build=with_configured_placement(LcpPolicy),
    settings=LcpSettings,
    accepts=PLACEMENT_SETTINGS,
    guide="reference/policies/lcp.md",
    knows_price=True,
)
