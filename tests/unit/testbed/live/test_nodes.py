"""Verification of delays against the latency map."""

import io

import pytest
from refusals import refused
from rich.console import Console

from testbed.cluster.check import evaluate_pair
from testbed.live.nodes import ECHOES, ProgressLog, verify_delays


def check(*times):
    """Answer each measurement with the next echoes of one pair of 10 ms; return the numbers of echoes."""
    counts = []

    def measure(_topology, *, count):
        counts.append(count)
        return (evaluate_pair(10.0, times[len(counts) - 1], first="hub", second="far"),)

    (pair,) = verify_delays(None, ProgressLog(Console(file=io.StringIO())), measure)
    return pair.measured_ms, counts


def test_delays_are_measured_again_until_they_match():
    assert check([10.5, 10.4, 10.6]) == (10.5, [*ECHOES[:1]])
    assert check([10.5, 40.0, 41.0], [10.5]) == (10.5, [*ECHOES[:2]])


@pytest.mark.parametrize(
    ("answers_ms", "code", "min_ms"),
    [
        # the median, 40 ms, is off; the smallest echo is within 2 ms
        ([10.5, 40.0, 41.0], "pair-delay-noisy", 10.5),
        ([12.1, 12.2], "pair-delay-wrong", 12.1),
        ([None, None], "pair-unreachable", None),
    ],
)
def test_delays_that_never_match_are_an_error(answers_ms, code, min_ms):
    with refused(code, first="hub", second="far", expected_ms=10.0, min_ms=min_ms):
        check(*[answers_ms] * len(ECHOES))


def test_a_busy_machine_is_not_blamed_for_another_pair_that_is_wrong():
    def measure(_topology, *, count):
        busy = evaluate_pair(10.0, [10.5, *[40.0] * (count - 1)], first="hub", second="near")
        return busy, evaluate_pair(10.0, [20.0] * count, first="hub", second="far")

    with refused("pair-delay-wrong", pairs=2, first="hub", second="far"):
        verify_delays(None, ProgressLog(Console(file=io.StringIO())), measure)
