"""Offered load over time, as a value, and a load that can be called by name."""

import math
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import date
from itertools import accumulate
from zlib import crc32

import numpy as np

from gesscale.errors import InputError


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """Rows offered per second, constant within each step.

    Raises
    ------
    InputError
        Without steps, without any row, or at a rate or step that is not a finite number in its range.
    """

    #: How commands and results call it.
    name: str
    #: Length of a step, seconds.
    step_s: float
    #: The rate of each step, rows/s.
    rows_per_s: tuple[float, ...]
    #: Whether the rates are meant as they are. A pattern's are not: its shape counts, and who plays it scales
    #: it to what the replicas can carry.
    absolute: bool = False
    _offered: tuple[float, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not (math.isfinite(self.step_s) and self.step_s > 0):
            raise InputError(f"workload {self.name}: expected a step above 0 s, got {self.step_s}")
        for index, rate in enumerate(self.rows_per_s):
            if not (math.isfinite(rate) and rate >= 0):
                raise InputError(
                    f"workload {self.name}: expected a finite rate >= 0 rows/s, got {rate} at {index * self.step_s:g} s"
                )
        if not any(self.rows_per_s):
            raise InputError(f"workload {self.name}: expected at least one rate above 0, got none")
        totals = tuple(accumulate((rate * self.step_s for rate in self.rows_per_s), initial=0.0))
        if not math.isfinite(totals[-1]):
            raise InputError(
                f"workload {self.name}: expected rates whose rows can be summed up, got {self.peak_rows_per_s:g}"
            )
        object.__setattr__(self, "_offered", totals)

    @property
    def duration_s(self) -> float:
        """How long rows are offered, seconds."""
        return self.step_s * len(self.rows_per_s)

    @property
    def peak_rows_per_s(self) -> float:
        """The highest rate, rows/s."""
        return max(self.rows_per_s)

    @property
    def total_rows(self) -> float:
        """All rows that are offered."""
        return self._offered[-1]

    def offered_rows(self, at_s: float) -> float:
        """Return the rows offered from the beginning until an instant."""
        step_s, rates = self.step_s, self.rows_per_s
        position = at_s / step_s
        index = int(position)
        if position <= 0:
            return 0.0
        if index >= len(rates):
            return self._offered[-1]
        return self._offered[index] + (position - index) * step_s * rates[index]

    def offered_at_s(self, row: float) -> float:
        """Return when a row was offered, the first being row 0; the inverse of `offered_rows`."""
        row, offered = max(0.0, row), self._offered
        if row >= offered[-1]:
            return self.duration_s
        index = bisect_right(offered, row) - 1
        begun_s, rate = self.step_s * index, self.rows_per_s[index]
        return begun_s + (row - offered[index]) / rate if rate > 0 else begun_s

    def scaled(self, factor: float) -> "Workload":
        """Return the same shape at rates multiplied by a factor above 0."""
        return replace(self, rows_per_s=tuple(rate * factor for rate in self.rows_per_s))

    def faster(self, speed: float) -> "Workload":
        """Return the same rows in less time: rates multiplied by a speed above 0, steps divided by it."""
        if not (math.isfinite(speed) and speed > 0):
            raise InputError(f"workload {self.name}: expected a speed above 0, got {speed}")
        return replace(self, step_s=self.step_s / speed, rows_per_s=tuple(rate * speed for rate in self.rows_per_s))

    def lasting(self, duration_s: float) -> "Workload":
        """Return the same rates over another time above 0: steps are longer or shorter, rows more or fewer."""
        return replace(self, step_s=duration_s / len(self.rows_per_s))

    @staticmethod
    def of_rates(name: str, step_s: float, rates: Iterable[float]) -> "Workload":
        """Return a pattern from any iterable of rates."""
        return Workload(name=name, step_s=step_s, rows_per_s=tuple(map(float, rates)))


_MINUTES_MOST = 1440.0


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadRequest:
    """A request for a load."""

    #: As it was written, such as ``nyc:2014-10-01``; the name of the load that results.
    text: str
    #: What stood after the colon; None without a colon.
    parameter: str | None
    #: Decides all that is random, >= 0.
    seed: int

    def rng(self, name: str) -> np.random.Generator:
        """Return the generator of a load's name: another name or seed draws other numbers."""
        return np.random.default_rng([self.seed, crc32(name.encode())])

    def minutes(self, default: float) -> float:
        """Return the parameter where it is a number of minutes, 1..1440.

        Raises
        ------
        InputError
            Where it is something else.
        """
        if self.parameter is None:
            return default
        try:
            minutes = float(self.parameter)
        except ValueError:
            minutes = 0.0
        if not 1 <= minutes <= _MINUTES_MOST:  # NaN fails too
            raise InputError(
                f"workload {self.text!r}: expected minutes after the colon, 1 to {_MINUTES_MOST:g}, "
                f"got {self.parameter!r}"
            )
        return minutes

    def day(self, first: date, last: date, default: date) -> date:
        """Return the parameter where it is a day from a first to a last one.

        Raises
        ------
        InputError
            Where it is something else.
        """
        if self.parameter is None:
            return default
        try:
            day = date.fromisoformat(self.parameter)
        except ValueError:
            day = None
        if day is None or not first <= day <= last:
            name, _, _ = self.text.partition(":")
            raise InputError(
                f"workload {self.text!r}: expected a day from {first} to {last}, such as {name}:{default}, or "
                f"{name}:any, got {self.parameter!r}"
            )
        return day
