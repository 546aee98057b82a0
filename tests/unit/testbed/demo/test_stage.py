"""What the demos do about delays that are not as the latency map says."""

import io

import pytest
from rich.console import Console

from gesscale.errors import ClusterError
from testbed.cluster.check import judge
from testbed.live.nodes import ECHOES, Stage, checked_pairs


def measured(*times):
    """Answer each measurement with the next echoes of one pair that was asked for 10 ms; tell the counts asked."""
    counts = []

    def measure(_topology, *, count):
        counts.append(count)
        return (judge(10.0, times[len(counts) - 1], first="hub", second="far"),)

    return measure, counts


def check(*times):
    shown = io.StringIO()
    measure, counts = measured(*times)
    pairs = checked_pairs(None, Stage(Console(file=shown, width=300)), measure)
    return pairs, counts, shown.getvalue()


def test_delays_as_asked_are_measured_once():
    pairs, counts, shown = check([10.5, 10.4, 10.6])
    assert counts == [ECHOES[0]]
    assert pairs[0].measured_ms == 10.5
    assert "1 pairs are as the map says, the worst 0.50 ms off" in shown


def test_a_busy_moment_is_measured_again():
    pairs, counts, shown = check([10.5, 40.0, 41.0], [10.5])
    assert counts == list(ECHOES[:2])
    assert pairs[0].measured_ms == 10.5
    assert "1 of 1 pairs are not as the map says; measuring again" in shown


@pytest.mark.parametrize(
    ("answers_ms", "shown"),
    [
        # the median, 40 ms, is off; the least echo is within 2 ms
        ([10.5, 40.0, 41.0], "measured 40.00 ms, 10.50 ms at the least; the least echo of each is as asked"),
        ([12.1, 12.2], "measured 12.15 ms, 12.10 ms at the least; is this machine busy"),
        ([7.0], "measured 7.00 ms, 7.00 ms at the least; is this machine busy"),
        ([None, None], "no echo came back; is this machine busy"),
    ],
)
def test_delays_that_stay_off_the_map_end_it(answers_ms, shown):
    with pytest.raises(ClusterError) as raised:
        check(*[answers_ms] * len(ECHOES))
    assert "1 pairs of nodes stay off the latency map, such as hub to far: asked 10 ms" in str(raised.value)
    assert shown in str(raised.value)


def test_a_busy_machine_is_not_blamed_for_another_pair_that_is_wrong():
    def measure(_topology, *, count):
        busy = judge(10.0, [10.5, *[40.0] * (count - 1)], first="hub", second="near")
        return busy, judge(10.0, [20.0] * count, first="hub", second="far")

    with pytest.raises(
        ClusterError, match=r"2 pairs of nodes .* hub to far: asked 10 ms, .* is this machine busy"
    ):
        checked_pairs(None, Stage(Console(file=io.StringIO())), measure)
