"""Load patterns of a comparison of auto-scalers: J. B. Kanis, MSc thesis, TU Delft, 2023.

Rates per minute, in records per second of its queries 1, 2 and 11. The thesis has the parameters (5.4.3, 7.1 to 7.4),
its published framework, delftdata/espa-autoscaling, the laws of the increments. If the two differ, the thesis counts:
the minimum of the cosine is 200,000, and no walk exceeds the 2.5 M of the generator.
"""

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray

from gesscale.errors import InputError
from testbed.workloads.workload import Workload, WorkloadRequest

_MINUTES = 140
_MAX_ROWS_PER_S = 2_500_000.0
_SPIKE_SHARE = 0.05  # share of the minutes with a spike up; spikes down have the same share
_SPIKE_ROWS_PER_S = (500_000.0, 2_000_000.0)


def _cosine(rng: np.random.Generator) -> NDArray[np.float64]:
    minutes = np.arange(_MINUTES)
    wave = 1_200_000.0 + 1_000_000.0 * np.cos(2 * np.pi * minutes / 60)
    return wave + rng.uniform(-100_000.0, 100_000.0, _MINUTES)


def _random(rng: np.random.Generator) -> NDArray[np.float64]:
    return _walk(rng, begins=_MAX_ROWS_PER_S / 2, down=_MAX_ROWS_PER_S / 5, up=_MAX_ROWS_PER_S / 5)


def _increasing(rng: np.random.Generator) -> NDArray[np.float64]:
    return _walk(rng, begins=0.0, down=_MAX_ROWS_PER_S / 30, up=_MAX_ROWS_PER_S / 22)


def _decreasing(rng: np.random.Generator) -> NDArray[np.float64]:
    return _walk(rng, begins=_MAX_ROWS_PER_S, down=_MAX_ROWS_PER_S / 21, up=_MAX_ROWS_PER_S / 28)


def _convergence(_: np.random.Generator) -> NDArray[np.float64]:
    return np.repeat([0.0, 2_000_000.0, 1_000_000.0], [10, 40, 40])


def _walk(rng: np.random.Generator, *, begins: float, down: float, up: float) -> NDArray[np.float64]:
    rates = [begins]
    for change in rng.uniform(-down, up, _MINUTES - 1):
        rates.append(min(max(rates[-1] + change, 0.0), _MAX_ROWS_PER_S))
    return np.array(rates)


PATTERNS = {
    "cosine": _cosine,
    "random": _random,
    "increasing": _increasing,
    "decreasing": _decreasing,
    "convergence": _convergence,
}


def spikes(rng: np.random.Generator, minutes: int) -> NDArray[np.float64]:
    """Return the addition of spikes to a pattern per minute: 0, or 0.5 to 2 M up or down for one minute.

    Each kind begins in a minute with probability 0.05; if both do, a coin decides.
    """
    up, down = rng.random((2, minutes)) < _SPIKE_SHARE
    upward = np.where(up & down, rng.random(minutes) < 0.5, up)
    height = rng.uniform(*_SPIKE_ROWS_PER_S, minutes)
    return np.where(upward, height, np.where(down, -height, 0.0))


def _build(pattern: str, request: WorkloadRequest) -> Workload:
    rates = PATTERNS[pattern](request.rng(f"kanis-{pattern}"))
    return Workload.of_rates(request.text, 60.0, rates)


def _build_spikes(request: WorkloadRequest) -> Workload:
    pattern = "cosine" if request.parameter is None else request.parameter
    if pattern not in PATTERNS:
        raise InputError("workload-pattern-unknown", source="workload kanis-spikes", known=list(PATTERNS), got=pattern)
    rates = PATTERNS[pattern](request.rng(f"kanis-{pattern}"))
    spiked = np.maximum(rates + spikes(request.rng("kanis-spikes"), len(rates)), 0.0)
    return Workload.of_rates(request.text, 60.0, spiked)


BUILDERS: dict[str, Callable[[WorkloadRequest], Workload]] = {
    **{f"kanis-{pattern}": partial(_build, pattern) for pattern in PATTERNS},
    "kanis-spikes": _build_spikes,
}
