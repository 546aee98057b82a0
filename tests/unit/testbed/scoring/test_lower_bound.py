"""The lower bound of a run's cost, by hand."""

import pytest

from testbed.scoring.lower_bound import lower_bound


def bound(rate, *, minutes=10.0, initial=1, capacity=(100.0, 200.0, 300.0), **changes):
    """Return the bound for a constant rate, an objective of a minute, and replicas of 100 rows/s."""
    given = {"peak_rows_per_s": rate, "replica_price": 1.0, "late_minute_price": 10.0, "change_price": 2.0, **changes}
    return lower_bound(
        lambda at_s: rate * at_s,
        capacity,
        fewest=1,
        initial=initial,
        duration_s=60 * minutes,
        objective_s=60.0,
        **given,
    )


def test_a_load_of_one_replica_costs_one_replica():
    assert bound(90.0) == 10.0


def test_what_a_change_costs_when_the_load_needs_two():
    # One window of 10 minutes; 9 of them count: 200 rows/s x 540 s are 108,000 rows, one replica does 60,000, and the
    # 48,000 missing are 4 late minutes of 200 rows/s: 10 + 40. With a change: 2 + a mixture that carries
    # 108,000 / 600 = 180 rows/s, 1.8 replicas: 2 + 18 = 20.
    # Two windows of five minutes; four of each count: 160 rows/s, 1.6 replicas:
    # 2 + 8 in the first and, as two numbers or with a change, 10 in the second: 20.
    assert bound(200.0) == pytest.approx(20.0)
    # If changes are dear, it is cheapest to be late: 10 + 40 in one window; in two of five minutes 5 + 10 x (48,000 -
    # 30,000) / 200 / 60 = 5 + 15 each, 40; in three of three minutes with two that count 3 + 10 x (24,000 - 18,000) /
    # 12,000 = 8 each, and one minute, 25. The largest counts.
    assert bound(200.0, change_price=1000.0) == pytest.approx(50.0)


def test_the_cheapest_nodes_count_and_more_replicas_never_carry_less():
    # Both change: 0.5 for a replica; the second carries no less than the first although it does.
    assert bound(90.0, replica_price=0.5) == 5.0
    assert bound(90.0, capacity=(100.0, 50.0)) == 10.0


def test_who_starts_with_more_pays_for_it_or_for_a_change():
    # Three for ten minutes cost 30; in a window with a change the cheapest is one: 2 + 10.
    assert bound(90.0, initial=3) == pytest.approx(12.0)


def test_a_load_without_rows():
    assert bound(0.0) == 10.0
