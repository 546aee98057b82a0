from dataclasses import replace

import numpy as np
import pytest
from refusals import refused

from latency_map import Asymmetry, LatencyMapError, Survey

LEANING = Survey(names=("a", "b"), rtt_ms=np.array([[0.0, 2.0], [3.0, 0.0]]))


@pytest.mark.parametrize(
    ("measured_at_s", "asked", "taken_ms"),
    [(1000.0, None, 3.0), (1000.0, Asymmetry.MEAN, 2.5), (None, Asymmetry.MAX, 3.0), (None, Asymmetry.MEAN, 2.5)],
)
def test_the_larger_measured_direction_counts_by_default(measured_at_s, asked, taken_ms):
    latencies = replace(LEANING, measured_at_s=measured_at_s).to_map(asked)
    assert latencies.delay_ms("a", "b") == taken_ms


@pytest.mark.parametrize(
    ("measured_at_s", "asked"), [(None, None), (None, Asymmetry.REFUSE), (1000.0, Asymmetry.REFUSE)]
)
def test_asymmetry_of_an_undated_table_is_refused(measured_at_s, asked):
    with refused("map-directions-differ", LatencyMapError):
        replace(LEANING, measured_at_s=measured_at_s).to_map(asked)


@pytest.mark.parametrize(
    ("change", "code", "fields"),
    [
        ({"rtt_ms": np.zeros((2, 3))}, "map-shape-invalid", {"nodes": 2, "shape": "2 x 3"}),
        ({"estimated": np.zeros((3, 3), dtype=bool)}, "map-shape-invalid", {"nodes": 2, "shape": "3 x 3"}),
        ({"rtt_ms": np.array([[0.0, -1.0], [0.0, 0.0]])}, "map-delay-invalid", {"place": "a to b", "got": -1.0}),
        ({"rtt_ms": np.array([[0.0, np.inf], [0.0, 0.0]])}, "map-delay-invalid", {"got": np.inf}),
    ],
)
def test_an_invalid_survey_is_refused(change, code, fields):
    with refused(code, LatencyMapError, **fields):
        replace(LEANING, **change)


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -1.0, 1_700_000_000_000, "2026-01-01"])
def test_a_time_that_is_none_in_seconds_is_refused(wrong):
    with refused("map-time-invalid", LatencyMapError):
        replace(LEANING, measured_at_s=wrong)


def test_marks_of_estimates_may_be_a_list():
    marked = replace(LEANING, estimated=[[False, True], [False, False]])
    assert marked.estimated.tolist() == [[False, True], [False, False]]
