import math
from itertools import pairwise, product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from thoroughness import examples

from testbed.scoring.frontier import Frontier, frontier


def test_one_level_covers_the_peak_and_each_change_saves_cost() -> None:
    # Steps of a minute: five of 1, two of 3, five of 2.
    found = frontier([1] * 5 + [3] * 2 + [2] * 5, 60, 0, 3)
    # None: 12 x 3. One: 7 x 3 + 5 x 2, or 5 x 1 + 7 x 3 = 26. Two: 5 + 6 + 10.
    assert [found.cost(k) for k in range(4)] == pytest.approx([36, 26, 21, 21])


def test_an_increase_costs_from_its_order_and_a_decrease_is_free() -> None:
    # Three is needed in minutes 5 and 6, so it is ordered 90 s before: 3.5 x 1 + 3.5 x 3 + 5 x 2.
    found = frontier([1] * 5 + [3] * 2 + [2] * 5, 60, 90, 2)
    assert found.cost(2) == pytest.approx(24)


def test_useless_reconfigurations_do_not_lower_the_cost() -> None:
    found = frontier([1] * 5 + [3] * 2 + [2] * 5, 60, 0, 2)
    # 12 minutes at 3; 5 at 1 and 7 at 3; 5 at 1, 2 at 3 and 5 at 2
    assert [found.cost(changes) for changes in (0, 1, 2, 7)] == pytest.approx([36, 26, 21, 21])


UNIT_S = 30  # half a step


def never_too_few(levels: tuple[int, ...], demand: list[int], downtime_units: int) -> bool:
    """Whether the replicas that serve during the downtime suffice in every half step."""
    return all(
        min(levels[max(0, unit - downtime_units) : unit + 1]) >= demand[unit // 2] for unit in range(len(levels))
    )


@settings(max_examples=examples(40), deadline=None)
@given(st.lists(st.integers(0, 2), min_size=1, max_size=4), st.integers(0, 5))
def test_no_plan_is_cheaper_than_the_frontier(demand: list[int], downtime_units: int) -> None:
    units = 2 * len(demand)
    found = frontier(demand, 2 * UNIT_S, UNIT_S * downtime_units, units)
    cheapest = [math.inf] * (units + 1)
    for levels in product(range(3), repeat=units):
        if never_too_few(levels, demand, downtime_units):
            changes = sum(before != after for before, after in pairwise(levels))
            cheapest[changes] = min(cheapest[changes], sum(levels) * UNIT_S / 60)
    least = [min(cheapest[: k + 1]) for k in range(units + 1)]
    assert [found.cost(k) for k in range(units + 1)] == pytest.approx(least)


@given(st.lists(st.integers(0, 6), min_size=1, max_size=40), st.floats(0, 300))
def test_more_changes_never_cost_more_and_longer_downtimes_never_less(demand: list[int], downtime_s: float) -> None:
    found, shorter = frontier(demand, 10, downtime_s, 40), frontier(demand, 10, downtime_s / 2, 40)
    costs = costs_of(found)
    assert costs == sorted(costs, reverse=True)
    assert all(less <= more + 1e-9 for less, more in zip(costs_of(shorter), costs, strict=True))
    assert costs[0] == pytest.approx(max(demand) * len(demand) * 10 / 60)
    # Without downtime and with changes enough it is the demand itself.
    assert frontier(demand, 10, 0, 40).cost(40) == pytest.approx(sum(demand) * 10 / 60)


def costs_of(found: Frontier) -> list[float]:
    return [found.cost(k) for k in range(41)]
