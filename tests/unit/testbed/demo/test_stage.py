"""What the demos do about delays that are not as the latency map says."""

import io

import pytest
from rich.console import Console

from gesscale.errors import ClusterError
from testbed.cluster.check import judge
from testbed.demo.stage import ECHOES, Stage, checked_pairs


def measured(*times):
    """Answer each measurement with the next echoes of one pair that was asked for 10 ms; tell the counts asked."""
    counts = []

    def measure(_topology, *, count):
        counts.append(count)
        return (judge(10.0, times[len(counts) - 1], first="hub", second="far"),)

    return measure, counts


def check(*times):
    said = io.StringIO()
    measure, counts = measured(*times)
    pairs = checked_pairs(None, Stage(Console(file=said, width=300)), measure)
    return pairs, counts, said.getvalue()


def test_delays_as_asked_are_measured_once():
    pairs, counts, said = check([10.5, 10.4, 10.6])
    assert counts == [ECHOES[0]]
    assert pairs[0].measured_ms == 10.5
    assert "1 pairs are as the map says, the worst 0.50 ms off" in said


def test_a_busy_moment_is_measured_again():
    pairs, counts, said = check([10.5, 40.0, 41.0], [10.5])
    assert counts == list(ECHOES[:2])
    assert pairs[0].measured_ms == 10.5
    assert "1 of 1 pairs are not as the map says; measuring again" in said


def test_a_busy_machine_is_told_and_survived():
    # the median, 40 ms, is 30 ms more than asked; the least echo is within 2 ms
    pairs, counts, said = check(*[[10.5, 40.0, 41.0]] * len(ECHOES))
    assert counts == list(ECHOES)
    assert not pairs[0].ok
    assert "this machine, or its host, is busy" in said
    assert "the median of 1 is not, by up to 30.00 ms; going on" in said
    assert said.count("measuring again") == len(ECHOES) - 1


def test_delays_that_are_wrong_end_it():
    with pytest.raises(ClusterError, match=r"hub to far: asked 10 ms, measured 12\.10 ms at the least"):
        check(*[[12.1, 12.2]] * len(ECHOES))


def test_nodes_that_do_not_answer_end_it():
    with pytest.raises(ClusterError, match="hub to far: asked 10 ms, no echo came back"):
        check(*[[None, None]] * len(ECHOES))
