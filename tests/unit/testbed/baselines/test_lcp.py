"""Lazy capacity provisioning: its bounds, and its guarantee on random loads."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from priced_situations import SITUATION, chosen, rival, stepped
from thoroughness import examples

from testbed.baselines.lcp import LcpMemo, bounds, extended, step_costs

EMPTY = LcpMemo(policy="lcp", at_s=0.0, step_s=20.0)


def test_a_step_costs_replicas_and_the_share_of_the_load_beyond_them():
    # 20 s are a third of a minute; 250 rows/s: one replica of 100 leaves 60 %, two 20 %, three none. Price 10.
    costs = step_costs(SITUATION._replace(load=250.0), 10.0)
    assert costs[:4] == pytest.approx([(1 + 6) / 3, (2 + 2) / 3, 3 / 3, 4 / 3])


def test_both_optima_by_hand():
    # A replica added costs 2 from none at the start: 0 for the first number, 2 for the second. Then a step that costs 1
    # and 0.5: ending with the first costs 1, with the second 0.5 + min(2, 0 + 2) = 2.5.
    assert extended(np.array([0.0, 2.0]), np.array([1.0, 0.5]), 2.0, 0.0).tolist() == [1.0, 2.5]
    # If removals are paid, ending with the second costs 0.5, with the first 1 + min(0, 0 + 2) = 1.
    assert extended(np.zeros(2), np.array([1.0, 0.5]), 0.0, 2.0).tolist() == [1.0, 0.5]
    # So the first optimum ends with the first number, the other with the second.
    assert bounds(np.array([1.0, 2.5]), np.array([1.0, 0.5])) == (0, 1)


def test_it_moves_once_waiting_has_cost_as_much():
    # 190 rows/s on one replica of 100: the share 9/19 late costs 4.737 x 1/3 = 1.579 a step, a second one 1/3. The
    # difference of 1.246 exceeds the price of 2 at the second step.
    policy = rival("lcp")
    once = stepped(policy, EMPTY, 190.0)
    assert chosen(policy, once, load=190.0) == 1
    assert chosen(policy, stepped(policy, once, 190.0), load=190.0) == 2


def test_it_gives_a_replica_back_once_it_has_cost_as_much():
    # With 90 rows/s a second replica costs 1/3 a step more, and 2 when it was removed: the seventh step is beyond that.
    # Before, an hour at 190 rows/s.
    policy = rival("lcp")
    busy = stepped(policy, EMPTY, *[190.0] * 180)
    assert chosen(policy, stepped(policy, busy, *[90.0] * 5), replicas=2) == 2
    assert chosen(policy, stepped(policy, busy, *[90.0] * 7), replicas=2) == 1


@settings(deadline=None, max_examples=examples(200))
@given(
    loads=st.lists(st.floats(0.0, 400.0), min_size=1, max_size=6),
    price=st.floats(0.1, 100.0),
    change=st.floats(0.0, 10.0),
)
def test_it_costs_at_most_three_times_the_optimum(loads, price, change):
    # The theorem is about numbers between integers; for whole numbers and convex costs it holds as well.
    situation = SITUATION._replace(numbers=range(4), capacity=100.0 * np.arange(4))
    costs = [step_costs(situation._replace(load=load), price) for load in loads]

    def total(plan):
        moves = zip((0, *plan), plan, strict=False)
        return sum(cost[number] for cost, number in zip(costs, plan, strict=True)) + sum(
            change * max(0, after - before) for before, after in moves
        )

    lower, upper = change * np.arange(4), np.zeros(4)
    present, plan = 0, []
    for cost in costs:
        lower, upper = extended(lower, cost, change, 0.0), extended(upper, cost, 0.0, change)
        least, most = bounds(lower, upper)
        present = max(least, min(present, most))
        plan.append(present)
    best = min(total(other) for other in product(range(4), repeat=len(loads)))
    assert total(plan) <= 3 * best + 1e-6
