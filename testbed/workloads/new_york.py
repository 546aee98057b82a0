"""Taxi days of New York: real demand per half hour, July 2014 to January 2015.

See ``data/README.md`` for source and licence.
"""

import csv
from datetime import date
from functools import cache
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray

from gesscale.errors import InputError
from testbed.workloads.workload import Workload, WorkloadRequest

#: Real seconds per second of the load (the paper, V-A).
SPEED = 10.0
#: Injections of each record (the paper, V-A).
COPIES = 3
#: A Tuesday; the day of ``make demo``.
DEMO_DAY = date(2015, 1, 6)
#: Wednesday and Thursday, like the paper's 1 and 2 May 2013, with schools open, no holiday, and weather as
#: mild as in early May; the series, July to January, holds no spring.
DEFAULT_BEGINS = date(2014, 10, 1)

_DAYS = 2
_HALF_HOUR_S = 1800.0
_STEPS = 18  # per half hour: 100 s of New York each, 10 s at speed 10
_HALF_HOURS_PER_DAY = 48
_DAY_S = 86400.0


@cache
def passengers_by_day() -> dict[date, tuple[int, ...]]:
    """Return the passengers of each half hour from midnight, 48 for each day."""
    with (files("testbed.workloads") / "data" / "nyc_taxi_passengers.csv").open(encoding="utf-8") as file:
        _, *rows = csv.reader(file)
    return {date.fromisoformat(day): tuple(map(int, counts)) for day, *counts in rows}


def taxi_days(begins: date, *, name: str) -> Workload:
    """Return two days at speed 10, with each passenger three times: 288 min.

    The rate is continuous, without steps of 180 s at the half hours, and each half hour keeps its rows.

    Raises
    ------
    InputError
        If the day is not in the series.
    """
    series = passengers_by_day()
    if begins not in series:
        raise InputError(
            "workload-day-invalid",
            source=f"workload {name}",
            first=str(min(series)),
            last=str(max(series)),
            example=str(DEFAULT_BEGINS),
            got=str(begins),
        )
    counts = [count for day in sorted(series) for count in series[day]]
    first = (begins - min(series)).days * _HALF_HOURS_PER_DAY
    last = min(first + _DAYS * _HALF_HOURS_PER_DAY, len(counts))
    before, after = counts[max(0, first - 1)], counts[min(last, len(counts) - 1)]
    rates = smoothed(np.array([before, *counts[first:last], after]) / _HALF_HOUR_S, _STEPS)
    return Workload.of_rates(name, _HALF_HOUR_S / _STEPS, rates).sped_up(SPEED).scaled(COPIES)


def taxi_day(begins: date, *, name: str) -> Workload:
    """Return one day from 04:00, when demand is lowest, at speed 10, with each passenger three times: 144 min.

    Raises
    ------
    InputError
        If the day is not in the series, or its last one.
    """
    days = taxi_days(begins, name=name)
    if days.duration_s < _DAYS * _DAY_S / SPEED:
        raise InputError("workload-day-last", source=f"workload {name}", got=str(begins))
    first = 4 * 2 * _STEPS
    return Workload.of_rates(name, days.step_s, days.rows_per_s[first : first + _HALF_HOURS_PER_DAY * _STEPS])


def smoothed(means: NDArray[np.float64], steps: int) -> NDArray[np.float64]:
    """Return a continuous rate, linear from edge to middle to edge of each interval, that keeps each mean.

    At an edge the rate is the mean of the two neighbours, or twice the smaller one if that is less, so the value in the
    middle, which preserves the mean, is never below 0.
    """
    low, high = means[:-1], means[1:]
    edges = np.minimum((low + high) / 2, 2 * np.minimum(low, high))
    left, right = edges[:-1, None], edges[1:, None]
    middle = 2 * means[1:-1, None] - (left + right) / 2
    share = (np.arange(steps // 2) + 0.5) / (steps // 2)
    rates: NDArray[np.float64] = np.hstack([left + (middle - left) * share, middle + (right - middle) * share])
    return rates.ravel()


def _build(request: WorkloadRequest) -> Workload:
    return taxi_days(_begins(request, DEFAULT_BEGINS), name=request.text)


def _build_day(request: WorkloadRequest) -> Workload:
    return taxi_day(_begins(request, DEMO_DAY), name=request.text)


def _begins(request: WorkloadRequest, default: date) -> date:
    if request.parameter == "any":
        starts = sorted(passengers_by_day())[: 1 - _DAYS]
        return starts[int(request.rng("nyc").integers(len(starts)))]
    days = passengers_by_day()
    return request.day(min(days), max(days), default)


BUILDERS = {"nyc": _build, "nyc-day": _build_day}
