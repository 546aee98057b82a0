import numpy as np
import pytest

from testbed.workloads.registry import workload_named


def rates(name, seed=0):
    workload = workload_named(name, seed=seed)
    assert workload.step_s == 1
    assert workload.duration_s == 600
    return np.array(workload.rows_per_s)


def runs(trajectory):
    """Return the lengths of the peaks and of the troughs."""
    edges = np.flatnonzero(np.diff(trajectory)) + 1
    pieces = np.split(trajectory, edges)
    return [len(piece) for piece in pieces if piece[0] == 20], [len(piece) for piece in pieces if piece[0] == 10]


def test_fixed_peaks_take_20_of_60_seconds():
    peaks, troughs = runs(rates("seep-peaks"))
    assert peaks == [20] * 10
    assert troughs == [40] * 10


def test_short_peaks_come_every_minute_and_take_2_to_8_seconds():
    lengths = []
    for seed in range(30):
        trajectory = rates("seep-short-peaks", seed).reshape(10, 60)
        assert set(trajectory[:, 8:].ravel()) == {10.0}
        assert set(trajectory[:, :2].ravel()) == {20.0}
        lengths += ((trajectory - 10).sum(axis=1) / 10).tolist()  # 10 more tuples for each second of peak
    assert 2 <= min(lengths) < 2.2
    assert 7.8 < max(lengths) <= 8
    assert np.mean(lengths) == pytest.approx(5, abs=4 * 1.74 / 300**0.5)  # sd of U(2, 8): 1.732
