"""Loads from real series of the Numenta Anomaly Benchmark: tweets, network, road traffic. See ``data/README.md``."""

import csv
import gzip
import io
from collections import defaultdict
from dataclasses import dataclass
from datetime import date
from functools import cache, partial
from importlib.resources import files
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from pydantic import TypeAdapter

from gesscale.common.yaml_text import read_yaml
from testbed.workloads.workload import Workload, WorkloadRequest

_READING_MIN = 5
_ANY = "any"


@dataclass(frozen=True, slots=True, kw_only=True)
class NumentaSeries:
    """A series and its conversion to a load."""

    #: Name of the load; without ``nab-``, the key of its rows in the data.
    name: str
    #: Minutes over which readings are averaged; a bin is a minute of the load, so this is also the speed.
    bin_min: int
    #: Length of the window, days.
    days: int
    #: First and last day on which a whole window can begin, and the default (first, last, default).
    first: date
    last: date
    default: date

    @property
    def window_bins(self) -> int:
        """Bins of the window, which are minutes of the load."""
        return self.days * 24 * 60 // self.bin_min


SERIES = TypeAdapter(tuple[NumentaSeries, ...]).validate_python(
    read_yaml(Path(__file__).with_name("data") / "numenta_series.yaml")
)


def window(series: NumentaSeries, begins_bin: int, *, name: str) -> Workload:
    """Return a window of a series as a load with a bin per minute."""
    means = bins(series)[begins_bin : begins_bin + series.window_bins]
    per_s = means / (_READING_MIN * 60.0)
    return Workload.of_rates(name, series.bin_min * 60.0, per_s).sped_up(series.bin_min)


@cache
def bins(series: NumentaSeries) -> NDArray[np.float64]:
    """Return the mean reading of each bin, from the midnight before the first reading on.

    Missing readings between two others are interpolated.
    """
    readings = filled(_readings_by_name()[series.name.removeprefix("nab-")])
    means: NDArray[np.float64] = readings.reshape(-1, series.bin_min // _READING_MIN).mean(axis=1)
    return means


def filled(readings: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return readings with NaN between two numbers interpolated."""
    at, is_known = np.arange(len(readings)), ~np.isnan(readings)
    line: NDArray[np.float64] = np.interp(at, at[is_known], readings[is_known], left=np.nan, right=np.nan)
    return line


@cache
def _readings_by_name() -> dict[str, NDArray[np.float64]]:
    """Return the readings of each series, from the midnight of the first day to that of the last, NaN if missing."""
    found: dict[str, list[float]] = defaultdict(list)
    packed = (files("testbed.workloads") / "data" / "numenta_series.csv.gz").read_bytes()
    with io.StringIO(gzip.decompress(packed).decode()) as text:
        _, *rows = csv.reader(text)
    for name, _, *readings in rows:
        found[name] += [float(reading) if reading else np.nan for reading in readings]
    return {name: np.array(readings) for name, readings in found.items()}


def _build(series: NumentaSeries, request: WorkloadRequest) -> Workload:
    return window(series, _begins_bin(series, request), name=request.text)


def _begins_bin(series: NumentaSeries, request: WorkloadRequest) -> int:
    (whole,) = np.nonzero(~np.isnan(bins(series)))
    if request.parameter == _ANY:
        return int(request.rng(series.name).integers(whole[0], whole[-1] + 2 - series.window_bins))
    per_day = 24 * 60 // series.bin_min
    day = request.day(series.first, series.last, series.default)
    first_midnight = -(-int(whole[0]) // per_day)
    return (first_midnight + (day - series.first).days) * per_day


BUILDERS = {series.name: partial(_build, series) for series in SERIES}
