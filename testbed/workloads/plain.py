"""Plain loads of ours, in rows/s with a peak of 1,000: to see one behaviour at a time."""

import numpy as np

from testbed.workloads.workload import Entry, Workload, WorkloadRequest

_SOURCE = "of this project"
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


ENTRIES = (
    Entry(
        name="constant",
        what="1,000 rows/s",
        length="120 min, or as asked, in steps of 1 min",
        source=_SOURCE,
        parameter="minutes in all, 1 to 1440, rounded to whole ones",
        build=_constant,
    ),
    Entry(
        name="steps",
        what="a staircase: 200, 400, 600, 800, 1,000 rows/s and down again",
        length="180 min: nine steps of 20 min",
        source=_SOURCE,
        parameter="minutes of a step, 1 to 1440",
        build=_steps,
    ),
    Entry(
        name="sine",
        what="four periods from 100 rows/s to 1,000 and back, from the lowest point",
        length="240 min: four periods of 60 min, 240 steps each",
        source=_SOURCE,
        parameter="minutes of a period, 1 to 1440",
        build=_sine,
    ),
    Entry(
        name="spikes",
        what="300 rows/s, and in each of eight cycles a spike to 1,000 at a random time, for 1/30 to 1/6 of the cycle",
        length="240 min: eight cycles of 30 min, in steps of 10 s",
        source=_SOURCE,
        is_random=True,
        parameter="minutes of a cycle, 1 to 1440",
        build=_spikes,
    ),
)
