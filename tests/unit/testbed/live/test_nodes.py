"""What is done about delays that are not as the latency map says."""

import io

import pytest
from rich.console import Console

from gesscale.errors import ClusterError
from testbed.cluster.check import evaluate_pair
from testbed.live.nodes import ECHOES, ProgressLog, verify_delays


def check(*times):
    """Answer each measurement with the next echoes of one pair that was asked for 10 ms; tell the counts asked."""
    counts = []

    def measure(_topology, *, count):
        counts.append(count)
        return (evaluate_pair(10.0, times[len(counts) - 1], first="hub", second="far"),)

    (pair,) = verify_delays(None, ProgressLog(Console(file=io.StringIO())), measure)
    return pair.measured_ms, counts


def test_delays_are_measured_again_until_they_are_as_asked():
    assert check([10.5, 10.4, 10.6]) == (10.5, [*ECHOES[:1]])
    assert check([10.5, 40.0, 41.0], [10.5]) == (10.5, [*ECHOES[:2]])


@pytest.mark.parametrize(
    ("answers_ms", "shown"),
    [
        # the median, 40 ms, is off; the least echo is within 2 ms
        ([10.5, 40.0, 41.0], "10.50 ms at the least; the least echo of each is as asked"),
        ([12.1, 12.2], "12.10 ms at the least; is this machine busy"),
        ([None, None], "no echo came back"),
    ],
)
def test_delays_that_stay_off_the_map_end_it(answers_ms, shown):
    with pytest.raises(ClusterError, match=f"hub to far: asked 10 ms.*{shown}"):
        check(*[answers_ms] * len(ECHOES))


def test_a_busy_machine_is_not_blamed_for_another_pair_that_is_wrong():
    def measure(_topology, *, count):
        busy = evaluate_pair(10.0, [10.5, *[40.0] * (count - 1)], first="hub", second="near")
        return busy, evaluate_pair(10.0, [20.0] * count, first="hub", second="far")

    with pytest.raises(ClusterError, match=r"2 pairs of nodes .* hub to far"):
        verify_delays(None, ProgressLog(Console(file=io.StringIO())), measure)
