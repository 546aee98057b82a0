"""The shape of the MST against Eq. 1, which the paper found right within 2 per cent on its own readings."""

from itertools import pairwise

import pytest

from perfmodel import Conditions, GesscaleLaw, Reading
from testbed.simulator.flink.bundle import read_physics
from testbed.simulator.flink.throughput import capacity

GRID = [(n, float(nd_ms)) for n in range(1, 9) for nd_ms in (0, 50, 100, 150, 200, 250, 300)]


def _mst(replicas: int, nd_ms: float) -> float:
    physics = read_physics("taxi-nearest").physics
    return capacity(physics, [1.0] * replicas, [0.0] * (replicas - 1) + [nd_ms]).rows_per_s


def test_eq_1_fits_by_some_per_cent_but_not_exactly() -> None:
    readings = tuple(
        Reading(replicas=n, nd_max_ms=nd_ms, rows_per_s=_mst(n, nd_ms), saturated=True, at_s=float(index))
        for index, (n, nd_ms) in enumerate(GRID)
    )
    model = GesscaleLaw().fit(readings, 60.0)
    assert model.fitted == {"alpha", "beta", "gamma"}
    errors = [
        abs(model.predict(Conditions(replicas=n, nd_max_ms=nd_ms)).mid / _mst(n, nd_ms) - 1)
        for n, nd_ms in GRID
    ]
    assert 0.01 < sum(errors) / len(errors) < 0.06
    assert 0.6 < model.parameters["beta"] < 1.0
    assert model.parameters["gamma"] > 0


@pytest.mark.parametrize("nd_ms", [0.0, 300.0])
def test_every_replica_adds_but_eight_are_less_than_eight_times_one(nd_ms: float) -> None:
    steps = [_mst(n, nd_ms) for n in range(1, 9)]
    gains = [after - before for before, after in pairwise(steps)]
    assert min(gains) > 0
    assert _mst(8, 0.0) < 8 * _mst(1, 0.0)


def test_delay_is_hidden_at_first_and_then_is_not() -> None:
    # The straight line of Eq. 1 would take as much between 0 and 50 ms as between 150 and 200 ms.
    assert _mst(1, 0.0) - _mst(1, 50.0) < 0.25 * (_mst(1, 150.0) - _mst(1, 200.0))


def test_delay_takes_a_smaller_share_of_many_replicas() -> None:
    # There is a channel, and so there are credits, for each replica.
    lost = [1 - _mst(n, 300.0) / _mst(n, 0.0) for n in (1, 4, 8)]
    assert lost == sorted(lost, reverse=True)
    assert lost[-1] > 0.03
