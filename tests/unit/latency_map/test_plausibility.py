import numpy as np
import pytest

from gesscale.common.errors import Problem
from latency_map import DelayUnit, Survey
from latency_map.plausibility import find_implausible

MS, US, S = DelayUnit.MS, DelayUnit.US, DelayUnit.S


def survey(rtt_ms):
    matrix = np.array(rtt_ms, dtype=float)
    np.fill_diagonal(matrix, 0.0)
    return Survey(names=tuple(f"n{index}" for index in range(len(matrix))), rtt_ms=matrix)


def spread_out(count, low_ms, high_ms):
    """Round trips of a whole network: logarithmically even from low to high."""
    rng = np.random.default_rng(1)
    return survey(np.exp(rng.uniform(np.log(low_ms), np.log(high_ms), (count, count))))


@pytest.mark.parametrize(
    ("round_trips", "unit", "code", "fields"),
    [
        # Seattle's 0.01 to 9 s read as ms
        (spread_out(99, 0.01, 9), MS, "map-delays-unequal", {"nodes": 99, "likely_unit": "s"}),
        # PlanetLab's ms read as s
        (spread_out(50, 1_000, 3_000_000), S, "map-delays-long", {"likely_unit": "ms"}),
        (spread_out(50, 10_000, 300_000), MS, "map-delays-long", {"likely_unit": "us"}),
        (spread_out(50, 10_000, 300_000), US, "map-delays-implausible", {"unit": "us"}),
        # milliseconds read as microseconds
        (spread_out(5, 0.0005, 0.009), US, "map-delays-short", {"likely_unit": "ms"}),
        (survey(np.full((4, 4), 20.0)), MS, "map-delays-equal", {"count": 12, "rtt_ms": 20.0}),
        # of 6 pairs, 4 known in no direction
        (survey([[0, 5, 7, np.nan], *[[np.nan] * 4] * 3]), MS, "map-mostly-missing", {"missing": 4, "pairs": 6}),
    ],
)
def test_implausible_delays_are_warned_of(round_trips, unit, code, fields):
    (warning,) = find_implausible(round_trips, unit=unit)
    assert (warning.code, {**warning.fields, **fields}) == (code, warning.fields)
    assert str(warning)


@pytest.mark.parametrize(
    "round_trips",
    [
        spread_out(40, 1, 400),  # a continent and beyond
        spread_out(40, 0.15, 0.6),  # a room
        spread_out(10, 0.05, 9),  # few nodes: a room and a house
        survey([[0, 20], [20, 0]]),  # one pair
        survey([[0]]),
        survey([[0, np.nan, 3], [2, 0, 4], [np.nan, np.nan, 0]]),  # every pair known in some direction
    ],
)
def test_plausible_delays_are_not_warned_of(round_trips):
    assert find_implausible(round_trips, unit=MS) == ()


def test_nothing_known_is_only_missing():
    warnings = find_implausible(survey(np.full((3, 3), np.nan)), unit=MS)
    assert warnings == (Problem("map-mostly-missing", {"missing": 3, "pairs": 3}),)
