"""Erlang's C formula, the network of queues, and the fewest replicas by giving them out one by one."""

import math
from itertools import product

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from testbed.baselines.drs import Station, erlang_c, fewest_replicas, total_sojourn_s


def station(arrivals: float, service: float = 1.0, *, most: int = 100, **more: object) -> Station:
    return Station(arrivals_per_s=arrivals, service_per_s=service, most=most, **more)


@pytest.mark.parametrize(
    ("servers", "load", "waits"),
    [
        (1, 0.3, 0.3),  # one server: busy for the share rho of time, whoever comes then waits
        (1, 0.99, 0.99),
        (2, 1.0, 1 / 3),  # (1/2) 2 / (1 + 1 + (1/2) 2) = 1 / 3
        (3, 2.0, 4 / 9),  # (8/6) 3 / (1 + 2 + 2 + (8/6) 3) = 4 / 9
        (5, 0.0, 0.0),
        (2, 2.0, 1.0),
        (2, 7.0, 1.0),
    ],
)
def test_how_often_a_customer_waits(servers, load, waits):
    assert erlang_c(servers, load) == pytest.approx(waits)


def test_a_rows_sojourn_is_its_service_and_its_wait():
    # M/M/1: 1 / (mu - lambda) = 1 / (10 - 5). M/M/2 at a = 1: 1 / 5 + (1/3) / (10 - 5) = 4 / 15.
    assert station(5.0, 10.0).sojourn_s(1) == pytest.approx(0.2)
    assert station(5.0, 5.0).sojourn_s(2) == pytest.approx(4 / 15)
    assert station(5.0, 5.0).sojourn_s(1) == math.inf
    assert station(1e6, 9e4).sojourn_s(12) > 1 / 9e4


def test_a_share_of_a_batch_takes_as_many_times_as_long_as_it_has_rows():
    # 5 rows/s every 10 s on 2 replicas: 25 rows each, 25 x 4 / 15 s.
    assert station(5.0, 5.0, interval_s=10.0).sojourn_s(2) == pytest.approx(20 / 3)
    assert station(0.0, 5.0, interval_s=10.0).sojourn_s(1) == 0.0


def test_replicas_go_where_they_take_the_most_off():
    # a: k = 1 is 1 / (1 - 0.9) = 10, k = 2 is 1 / (1 - 0.45^2) = 1.254. b: 1 / (1 - 0.5) = 2, then 1.067.
    stations = {"a": station(0.9), "b": station(0.5)}
    assert fewest_replicas(stations, 12.1) == {"a": 1, "b": 1}
    assert fewest_replicas(stations, 11.9) == {"a": 2, "b": 1}
    assert fewest_replicas(stations, 2.5) == {"a": 2, "b": 2}


def test_a_target_out_of_reach_takes_all_that_help_within_the_bounds():
    stations = {"a": station(0.9, most=4), "b": station(0.5, most=3)}
    assert fewest_replicas(stations, 1.0) == {"a": 4, "b": 3}
    assert sum(fewest_replicas(stations, 1.0, at_most=5).values()) == 5
    # From some number on another replica takes off less than a figure can tell.
    assert fewest_replicas({"a": station(0.9, most=10**6)}, 0.5)["a"] < 30


@given(
    loads=st.lists(st.tuples(st.floats(0.1, 3.5), st.floats(0.5, 2)), min_size=1, max_size=3),
    interval_s=st.sampled_from([None, 10.0]),
    target_s=st.floats(0.5, 60),
)
def test_no_other_way_needs_fewer(loads, interval_s, target_s):
    stations = {
        str(index): station(load, visits=visits, interval_s=interval_s, most=7)
        for index, (load, visits) in enumerate(loads)
    }
    found = fewest_replicas(stations, target_s)
    assume(total_sojourn_s(stations, found) <= target_s)
    for counts in product(range(1, 8), repeat=len(stations)):
        if sum(counts) < sum(found.values()):
            other = dict(zip(stations, counts, strict=True))
            assert total_sojourn_s(stations, other) > target_s * (1 - 1e-9)
