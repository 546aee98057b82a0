"""Load patterns of a comparison of auto-scalers: J. B. Kanis, MSc thesis, TU Delft, 2023.

Rates per minute, by default in records per second of its queries 1, 2 and 11. The thesis has the parameters (5.4.3,
7.1 to 7.4), its published framework, delftdata/espa-autoscaling, the laws of the increments and of the spikes (6.2.1).
If the two differ, the thesis counts: the minimum of the cosine is 200,000, and no walk exceeds the 2.5 M of the
generator.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from gesscale.errors import InputError
from testbed.workloads.workload import Workload, WorkloadRequest

_SPIKE_SHARE = 0.05  # share of the minutes with a spike up; spikes down have the same share
_SPIKE_ROWS_PER_S = (500_000.0, 2_000_000.0)
_Rates = NDArray[np.float64]


def _cosine(
    rng: np.random.Generator, *, minimum: float, maximum: float, noise: float, period: float, length: float
) -> _Rates:
    minutes = np.arange(round(length))
    wave = (maximum + minimum) / 2 + (maximum - minimum) / 2 * np.cos(2 * np.pi * minutes / period)
    rates: _Rates = np.maximum(wave + rng.uniform(-noise, noise, len(minutes)), 0.0)
    return rates


def _random(rng: np.random.Generator, *, minimum: float, maximum: float, length: float) -> _Rates:
    return _walk(rng, (minimum, maximum), length, begins=(minimum + maximum) / 2, down=5, up=5)


def _increasing(rng: np.random.Generator, *, minimum: float, maximum: float, length: float) -> _Rates:
    return _walk(rng, (minimum, maximum), length, begins=minimum, down=30, up=22)


def _decreasing(rng: np.random.Generator, *, minimum: float, maximum: float, length: float) -> _Rates:
    return _walk(rng, (minimum, maximum), length, begins=maximum, down=21, up=28)


def _convergence(_: np.random.Generator, *, maximum: float, period: float) -> _Rates:
    return np.repeat([0.0, maximum, maximum / 2], [10, round(period), round(period)])


def _walk(
    rng: np.random.Generator, bounds: tuple[float, float], length: float, *, begins: float, down: float, up: float
) -> _Rates:
    """Return a walk within bounds; the largest steps down and up are their distance divided by `down` and `up`."""
    rates, (least, most) = [begins], bounds
    span = most - least
    for change in rng.uniform(-span / down, span / up, round(length) - 1):
        rates.append(min(max(rates[-1] + change, least), most))
    return np.array(rates)


_WALK = {"minimum": 0.0, "maximum": 2_500_000.0, "length": 140.0}

#: Patterns, each with its parameters: rows/s and minutes.
PATTERNS: dict[str, tuple[Callable[..., _Rates], dict[str, float]]] = {
    "cosine": (
        _cosine,
        {"minimum": 200_000.0, "maximum": 2_200_000.0, "noise": 100_000.0, "period": 60.0, "length": 140.0},
    ),
    "random": (_random, _WALK),
    "increasing": (_increasing, _WALK),
    "decreasing": (_decreasing, _WALK),
    "convergence": (_convergence, {"maximum": 2_000_000.0, "period": 40.0}),
}


def spikes(rng: np.random.Generator, minutes: int) -> _Rates:
    """Return the addition of spikes to a pattern per minute: 0, or 0.5 to 2 M up or down for one minute.

    Each kind begins in a minute with probability 0.05; if both do, a coin decides.
    """
    up, down = rng.random((2, minutes)) < _SPIKE_SHARE
    upward = np.where(up & down, rng.random(minutes) < 0.5, up)
    height = rng.uniform(*_SPIKE_ROWS_PER_S, minutes)
    return np.where(upward, height, np.where(down, -height, 0.0))


def _build(pattern: str, request: WorkloadRequest) -> Workload:
    rates, defaults = PATTERNS[pattern]
    return Workload.of_rates(request.text, 60.0, rates(request.rng(f"kanis-{pattern}"), **request.numbers(defaults)))


def _build_spikes(request: WorkloadRequest) -> Workload:
    pattern, comma, parameter = (request.parameter or "cosine").partition(",")
    if pattern not in PATTERNS:
        raise InputError("workload-pattern-unknown", source="workload kanis-spikes", known=list(PATTERNS), got=pattern)
    rates = np.array(_build(pattern, replace(request, parameter=parameter if comma else None)).rows_per_s)
    spiked = np.maximum(rates + spikes(request.rng("kanis-spikes"), len(rates)), 0.0)
    return Workload.of_rates(request.text, 60.0, spiked)


BUILDERS: dict[str, Callable[[WorkloadRequest], Workload]] = {
    **{f"kanis-{pattern}": partial(_build, pattern) for pattern in PATTERNS},
    "kanis-spikes": _build_spikes,
}
