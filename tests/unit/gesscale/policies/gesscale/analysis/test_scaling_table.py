"""How gesscale goes on where a change stops the job: what is advised, and what it costs."""

from dataclasses import replace
from itertools import pairwise, product

import numpy as np
import pytest

from gesscale.policies.gesscale.analysis.costs import estimate_costs
from gesscale.policies.gesscale.analysis.planning_horizon import Array, ChangeCost, FirstAction, PlanningHorizon
from gesscale.policies.gesscale.analysis.rollout import Rollout
from gesscale.policies.gesscale.analysis.scaling_table import solve_scaling_table

STOP_S, ALLOWED_S, PRICE = 120.0, 40.0, 10.0


def horizon(*scenarios: list[float], min_replicas: int = 1, max_replicas: int = 3) -> PlanningHorizon:
    """Return an operator whose load has a rate in each minute; a replica does 10 rows/s, a change stops it for two."""
    rates = np.array(scenarios)
    instants_s = np.arange(rates.shape[1] + 1) * 60.0
    offered = np.concatenate([np.zeros((len(rates), 1)), np.cumsum(60 * rates, axis=1)], axis=1)
    past_s, past_rows = -60.0, -offered[:, 1]  # the minute before was like the first one
    deadline_rows = [
        np.interp(instants_s - ALLOWED_S, [past_s, *instants_s], [past, *rows])
        for past, rows in zip(past_rows, offered, strict=True)
    ]
    return PlanningHorizon(
        rows_per_s=np.arange(1.0, max_replicas + 1) * 10,
        replicas=1,
        present_rows_per_s=10.0,
        min_replicas=min_replicas,
        max_replicas=max_replicas,
        steps_s=np.full(rates.shape[1], 60.0),
        offered=offered,
        deadline_rows=np.array(deadline_rows),
        weights=np.full(len(rates), 1 / len(rates)),
        backlog_rows=0.0,
        change=ChangeCost(stop_s=STOP_S, start_s=0.0, settle_s=0.0, replica_minutes=1.0),
        late_minute_price=PRICE,
    )


def wanted(asked: PlanningHorizon, replicas: int, rows: float = 0.0) -> list[int]:
    """Return how many replicas are advised in the second step, on each scenario."""
    scenarios = len(asked.weights)
    found = solve_scaling_table(asked).best_replicas(
        1, np.full((1, scenarios), replicas), np.full((1, scenarios), rows)
    )
    return [int(each) for each in found[0]]


def test_growth_is_one_jump() -> None:
    # 25 rows/s need three replicas. Two of them would stop the job once and then once more.
    assert wanted(horizon([25.0] * 25), 1) == [3]


def test_short_trough_is_not_worth_two_stops() -> None:
    # Five minutes of 5 rows/s: one replica instead of three saves 10 replica-minutes. Two stops of 120 s make rows late
    # for 80 s each, 27 at this price.
    assert wanted(horizon([25.0] + [5.0] * 5 + [25.0] * 20), 3) == [3]
    # 5 rows/s for 29 minutes: one replica saves 58. One stop leaves 400 rows that are overdue, which 5 rows/s work off
    # in 80 s: 160 s late, 27, and the change.
    assert wanted(horizon([25.0] + [5.0] * 29), 3) == [1]


def test_table_is_non_anticipative() -> None:
    # Until the sixth minute both scenarios are equal. Alone, the first keeps three replicas and the second does not.
    short, long = [25.0] + [5.0] * 5 + [25.0] * 24, [25.0] + [5.0] * 29
    assert [wanted(horizon(each), 3) for each in (short, long)] == [[3], [1]]
    one, other = wanted(horizon(short, long), 3)
    assert one == other


def test_counts_outside_the_limits_always_change() -> None:
    # 15 rows/s for two minutes to go: no change would pay, but 1 is below the fewest and 4 is above the most.
    soon_over = horizon([15.0] * 3, min_replicas=2, max_replicas=3)
    assert wanted(soon_over, 1)[0] >= 2
    assert wanted(soon_over, 4)[0] <= 3
    assert wanted(soon_over, 2) == [2]


def cheapest(asked: PlanningHorizon, replicas: int) -> float:
    """Return the least cost of all plans that hold so many in the first minute, played in steps of a second."""
    minutes = len(asked.steps_s)
    rate = np.repeat(np.diff(asked.offered[0]) / 60, 60)
    offered = np.cumsum(rate)
    deadline_rows = np.concatenate([-rate[0] * np.arange(ALLOWED_S - 1, -1, -1), offered[: -int(ALLOWED_S)]])
    plans = [(replicas, *plan) for plan in product((1, 2, 3), repeat=minutes - 1)]
    return min(_cost(plan, offered, deadline_rows) for plan in plans)


def _cost(plan: tuple[int, ...], offered: Array, deadline_rows: Array) -> float:
    """Return what a plan costs, infinite where a change comes before the last one is over."""
    changed = [minute for minute in range(1, len(plan)) if plan[minute] != plan[minute - 1]]
    if any(later - earlier < STOP_S / 60 for earlier, later in pairwise(changed)):
        return np.inf
    carried = 10.0 * np.repeat(plan, 60)
    for minute in changed:
        carried[60 * minute : 60 * minute + int(STOP_S)] = 0.0
    served, late_s = 0.0, 0.0
    for second, rows in enumerate(carried):
        served = min(offered[second], served + rows)
        late_s += deadline_rows[second] > served
    load = offered[-1] - offered[-2]
    late_s += max(0.0, deadline_rows[-1] - served) / max(30 - load, 0.25 * 30)
    replica_minutes = sum(plan) + (offered[-1] - served) / 10 / 60
    return float(replica_minutes + PRICE * late_s / 60 + len(changed))


@pytest.mark.parametrize(
    "load",
    [
        [5.0, 5.0, 12.0, 18.0, 25.0, 25.0, 25.0],
        [25.0, 25.0, 15.0, 5.0, 5.0, 5.0, 5.0],
        [8.0, 15.0, 15.0, 8.0, 8.0, 15.0, 15.0],
        [28.0] * 7,
    ],
)
@pytest.mark.parametrize("replicas", [1, 2, 3])
def test_table_costs_little_more_than_the_best_plan(load: list[float], replicas: int) -> None:
    # 3^6 plans. Rows are late from within a step, which the cost takes to go straight through each step, and backlogs
    # between those of the table cost what lies between. Where the advice were never to change, the cost of one replica
    # would be 2.4 times the best on the first load, and 1.5 times on the last one.
    asked = replace(horizon(load), replicas=replicas, present_rows_per_s=10.0 * replicas)
    ((cost,),) = estimate_costs([Rollout(asked, [FirstAction(replicas, changed=False)])])
    best = cheapest(asked, replicas)
    assert 0.9 * best - 1 <= cost.total <= 1.25 * best + 1
