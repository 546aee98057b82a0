"""Loads of Daedalus (Pfister et al., ICPE 2024, section 4): a sine, and two shapes modelled on recorded traces.

The paper gives kind and length; range, mean and largest change within a second are those of the published trace files
(github.com/dos-group/daedalus), which have no licence and are not part of this project. The shapes share only these
figures with the recorded traces, and the traffic also its two sharp spikes.
"""

import math

import numpy as np
from numpy.typing import NDArray

from testbed.workloads.workload import Workload, WorkloadRequest

_DURATION_S = 21_600
_T_S = np.arange(_DURATION_S)


def _sine(request: WorkloadRequest) -> Workload:
    defaults = {"minimum": 5_000.0, "maximum": 60_000.0, "period": 180.0, "length": 360.0}
    given = request.numbers(defaults)
    low, high = given["minimum"], given["maximum"]
    wave = np.sin(2 * np.pi * np.arange(round(given["length"] * 60)) / (given["period"] * 60))
    rates = (high + low) / 2 + (high - low) / 2 * wave
    return Workload.of_rates(request.text, 1.0, rates)


def _ysb(request: WorkloadRequest) -> Workload:
    """Return three waves, the middle one the highest and as steep as the steepest second of the trace.

    Its height and steepness determine its width; the width of the other two gives the mean.
    """
    low, mean, peak, step = 60_000.0, 211_334.0, 549_999.0, 398.0
    top = peak - low
    first, last = 0.55 * top, 0.70 * top
    side_s = _side_s(top, step)
    wide_s = ((mean - low) * _DURATION_S - top * side_s) / (first + last)
    gap_s = (_DURATION_S - 2 * side_s - 4 * wide_s) / 4
    first_at_s = gap_s + wide_s
    top_at_s = round(first_at_s + wide_s + gap_s + side_s)  # on a second, so that the peak is reached
    last_at_s = top_at_s + side_s + gap_s + wide_s
    rates = (
        low
        + _wave(first_at_s, first_at_s, first, wide_s, wide_s)
        + _wave(top_at_s, top_at_s, top, side_s, side_s)
        + _wave(last_at_s, last_at_s, last, wide_s, wide_s)
    )
    return Workload.of_rates(request.text, 1.0, rates)


def _traffic(request: WorkloadRequest) -> Workload:
    """Return a day compressed into six hours: busy from 8:00 to 17:00, with a spike at either end.

    The steepest second of the trace is on the rise of the spikes; their fall of about 15 min gives the mean.
    """
    low, day, mean, peak, step = 8_000.0, 28_000.0, 30_014.0, 99_989.0, 1_101.0
    morning_s, evening_s, night_s = (_DURATION_S * hours / 24 for hours in (8, 17, 24))
    spike = peak - day - low
    lower = 0.85 * spike
    day_rows = day * (evening_s - morning_s + (morning_s + night_s - evening_s) / 2)
    rise_s = _side_s(spike, step)
    fall_s = 2 * ((mean - low) * _DURATION_S - day_rows) / (spike + lower) - rise_s
    rates = (
        low
        + _wave(morning_s, evening_s, day, morning_s, night_s - evening_s)
        + _wave(morning_s, morning_s, spike, rise_s, fall_s)
        + _wave(evening_s, evening_s, lower, rise_s, fall_s)
    )
    return Workload.of_rates(request.text, 1.0, rates)


def _side_s(height: float, step: float) -> float:
    """Return the duration in which half a cosine rises by a height with at most a given step per second."""
    return math.pi * height / (2 * step)


def _wave(from_s: float, until_s: float, height: float, rise_s: float, fall_s: float) -> NDArray[np.float64]:
    """Return a wave with constant height between two instants, and half a cosine before and after."""
    distance = np.maximum((from_s - _T_S) / rise_s, (_T_S - until_s) / fall_s).clip(0.0, 1.0)
    wave: NDArray[np.float64] = height * (1 + np.cos(np.pi * distance)) / 2
    return wave


BUILDERS = {"daedalus-sine": _sine, "daedalus-ysb": _ysb, "daedalus-traffic": _traffic}
