"""From wishes to what operators may have: rounding, growth, limits, and sharing what is scarce (Kanis 2023, 6.6.4)."""

import math

import pytest
from edge import operator
from figures import figures
from hypothesis import given
from hypothesis import strategies as st

from testbed.baselines.shared.sizing import SizingSettings, Target, ceiling, proportional_shares, targets

WIDE = 10_000


def alone(proposal, present=5, *, least=1, most=WIDE, **growth):
    found = targets(
        {"op": proposal},
        {"op": present},
        {"op": operator(min_replicas=least, max_replicas=most)},
        SizingSettings(**{"max_step_up": 1000, **growth}),
    )
    return found["op"]


# Rounding


def test_every_exact_case_of_the_target_in_the_thesis_is_exact():
    # p x m / 70 in whole per cent is exact; of 4000 cases 81 come out one too high without the guard.
    raw = 0
    for replicas in range(1, 41):
        for pct in range(1, 101):
            exact = -(-replicas * pct // 70)
            raw += math.ceil(replicas * (pct / 100 / 0.7)) != exact
            assert ceiling(replicas * (pct / 100 / 0.7)) == exact
    assert raw == 81


# One operator


def test_growth_is_capped_and_shrinking_is_not():
    # The thesis's example: back pressure of 95 % on 8 replicas asks for 80.
    grown = alone(80, present=8, max_step_up=15)
    assert (grown.replicas, [figures(limit) for limit in grown.limits]) == (23, [[15]])
    assert alone(1, present=80, max_step_up=15) == Target(replicas=1)


def test_the_limits_of_the_operator_come_last():
    limited = alone(80, present=8, most=20, max_step_up=15)
    assert (limited.replicas, [figures(limit) for limit in limited.limits]) == (20, [[15], [20]])
    raised = alone(0, least=3)
    assert (raised.replicas, [figures(limit) for limit in raised.limits]) == (3, [[3]])
    assert alone(-4).replicas == 1
    assert alone(4, least=2, most=6) == Target(replicas=4)


def test_the_factor_on_sizes_may_decrease_them():
    assert alone(10, over_provision=0.75).replicas == 8  # 7.5
    assert alone(1, over_provision=0.1).replicas == 1


# Sharing


def test_a_total_above_the_maximum_may_cancel_every_change():
    both = {"op": operator(max_replicas=WIDE), "other": operator(max_replicas=WIDE)}
    growth = {"max_step_up": 1000, "total_replicas": 80, "above_total": "cancel"}
    found = targets({"op": 78, "other": 3}, {"op": 40, "other": 5}, both, SizingSettings(**growth))
    assert {name: (each.replicas, each.cancelled) for name, each in found.items()} == {
        "op": (40, True),
        "other": (5, True),
    }
    assert [figures(limit) for limit in found["op"].limits] == [[81, 80]]
    enough = targets({"op": 78, "other": 2}, {"op": 40, "other": 5}, both, SizingSettings(**growth))
    assert enough == {"op": Target(replicas=78), "other": Target(replicas=2)}


@pytest.mark.parametrize(
    ("proposals", "total", "shares"),
    [
        # The thesis's example: 27 of 57 beyond one each, times 9, 29 and 19, is 4.26, 13.74 and 9.
        ((10, 30, 20), 30, (5, 15, 10)),
        # 77 of 117 times 39 is 25.67 for each; two are left over for the first two.
        ((40, 40, 40), 80, (27, 27, 26)),
        # 77 of 110 times 0, 61 and 49 is 0, 42.7 and 34.3.
        ((1, 62, 50), 80, (1, 44, 35)),
        # 18 of 30 times 6 is 3.6 for each; three are left over. Rounding each by itself gave 24 in the thesis's code.
        ((7, 7, 7, 7, 7), 23, (5, 5, 5, 4, 4)),
    ],
)
def test_what_is_scarce_is_shared_out_by_largest_remainder(proposals, total, shares):
    names = "abcde"[: len(proposals)]
    found = proportional_shares(dict(zip(names, proposals, strict=True)), total, dict.fromkeys(names, 1))
    assert tuple(found[name] for name in names) == shares
    assert sum(shares) == total


@given(
    proposals=st.lists(st.tuples(st.integers(1, 6), st.integers(0, 60)), min_size=1, max_size=8),
    total=st.integers(0, 200),
)
def test_shares_add_up_and_nobody_goes_without(proposals, total):
    least = {str(index): low for index, (low, _) in enumerate(proposals)}
    wished = {str(index): low + more for index, (low, more) in enumerate(proposals)}
    shares = proportional_shares(wished, total, least)
    assert sum(shares.values()) == min(sum(wished.values()), max(total, sum(least.values())))
    assert all(least[name] <= shares[name] <= wished[name] for name in wished)
