"""Synthetic loads with a peak of 1,000 rows/s, each of which tests one behaviour."""

import numpy as np

from testbed.workloads.workload import Workload, WorkloadRequest

_PEAK = 1000.0
_SPIKES_STEP_S = 10.0
_STAIRS = (200, 400, 600, 800, 1000, 800, 600, 400, 200)


def _constant(request: WorkloadRequest) -> Workload:
    steps = max(1, round(request.minutes(120.0)))
    return Workload.of_rates(request.text, 60.0, [_PEAK] * steps)


def _steps(request: WorkloadRequest) -> Workload:
    return Workload.of_rates(request.text, request.minutes(20.0) * 60, _STAIRS)


def _sine(request: WorkloadRequest) -> Workload:
    steps = 240  # per period: 15 s of an hour
    rates = 550.0 - 450.0 * np.cos(2 * np.pi * np.arange(4 * steps) / steps)
    return Workload.of_rates(request.text, request.minutes(60.0) * 60 / steps, rates)


def _spikes(request: WorkloadRequest) -> Workload:
    cycle = max(5, round(request.minutes(30.0) * 60 / _SPIKES_STEP_S))
    rng = request.rng("spikes")
    begins = np.rint(rng.uniform(0.2, 0.8, 8) * cycle).astype(int)
    lengths = np.maximum(1, np.rint(rng.uniform(1 / 30, 1 / 6, 8) * cycle)).astype(int)
    rates = np.full((8, cycle), 0.3 * _PEAK)
    for row, begin, length in zip(rates, begins, lengths, strict=True):
        row[begin : begin + length] = _PEAK
    return Workload.of_rates(request.text, _SPIKES_STEP_S, rates.ravel())


BUILDERS = {"constant": _constant, "steps": _steps, "sine": _sine, "spikes": _spikes}
