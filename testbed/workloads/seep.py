"""Simulated loads of M. Rouaux's thesis on scaling SEEP (Imperial College London, 2014), section 5.2.

Assumptions of ours: a load begins with a peak and lasts ten minutes; short peaks take 2 to 8 s and begin every 60 s;
random peaks and troughs last within half of the fixed 20 s and 40 s.
"""

import numpy as np
from numpy.typing import NDArray

from testbed.workloads.workload import Workload, WorkloadRequest

_SECONDS = 600
_BASE, _PEAK = 10.0, 20.0  # tuples/s


def _constant(request: WorkloadRequest) -> Workload:
    return Workload.of_rates(request.text, 1.0, [_BASE] * _SECONDS)


def _short_peaks(request: WorkloadRequest) -> Workload:
    begins_s = np.arange(0.0, _SECONDS, 60.0)
    lengths_s = request.rng("seep-short-peaks").uniform(2.0, 8.0, len(begins_s))
    return Workload.of_rates(request.text, 1.0, with_peaks(begins_s, lengths_s))


def _peaks(request: WorkloadRequest) -> Workload:
    begins_s = np.arange(0.0, _SECONDS, 60.0)
    rates = with_peaks(begins_s, np.full(len(begins_s), 20.0))
    return Workload.of_rates(request.text, 1.0, rates)


def _random_peaks(request: WorkloadRequest) -> Workload:
    rng = request.rng("seep-random-peaks")
    cycles = _SECONDS // 30  # enough for the shortest cycles
    lengths_s, troughs_s = rng.uniform(10.0, 30.0, cycles), rng.uniform(20.0, 60.0, cycles)
    begins_s = np.concatenate([[0.0], np.cumsum(lengths_s + troughs_s)[:-1]])
    return Workload.of_rates(request.text, 1.0, with_peaks(begins_s, lengths_s))


def with_peaks(begins_s: NDArray[np.float64], lengths_s: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return 600 rates, one per second: 10 tuples/s, 20 in peaks, which do not overlap.

    A second that is partly in a peak has that share of the difference.
    """
    second = np.arange(_SECONDS)[:, None]
    until_s = np.minimum(second + 1, begins_s + lengths_s)
    share: NDArray[np.float64] = np.clip(until_s - np.maximum(second, begins_s), 0.0, 1.0).sum(axis=1)
    return _BASE + (_PEAK - _BASE) * share


BUILDERS = {
    "seep-constant": _constant,
    "seep-short-peaks": _short_peaks,
    "seep-peaks": _peaks,
    "seep-random-peaks": _random_peaks,
}
