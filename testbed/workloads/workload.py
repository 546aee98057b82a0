"""Offered load over time, and requests for a load by name."""

import math
from bisect import bisect_right
from collections.abc import Iterable, Mapping
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
        If it has no steps or no rows, or a rate or step is not a finite number in its range.
    """

    #: Name in commands and results.
    name: str
    #: Length of a step, seconds.
    step_s: float
    #: The rate of each step, rows/s.
    rows_per_s: tuple[float, ...]
    #: Whether the rates are absolute. Those of a pattern are not: only its shape matters, and experiments scale it to
    #: the capacity of the replicas.
    absolute: bool = False
    _offered: tuple[float, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not (math.isfinite(self.step_s) and self.step_s > 0):
            raise InputError("workload-step-invalid", source=f"workload {self.name}", got=self.step_s)
        for index, rate in enumerate(self.rows_per_s):
            if not (math.isfinite(rate) and rate >= 0):
                raise InputError(
                    "workload-rate-invalid", source=f"workload {self.name}", got=rate, at_s=index * self.step_s
                )
        if not any(self.rows_per_s):
            raise InputError("workload-empty", source=f"workload {self.name}")
        totals = tuple(accumulate((rate * self.step_s for rate in self.rows_per_s), initial=0.0))
        if not math.isfinite(totals[-1]):
            raise InputError(
                "workload-rates-too-large", source=f"workload {self.name}", peak_rows_per_s=self.peak_rows_per_s
            )
        object.__setattr__(self, "_offered", totals)

    @property
    def duration_s(self) -> float:
        """Time during which rows are offered, seconds."""
        return self.step_s * len(self.rows_per_s)

    @property
    def peak_rows_per_s(self) -> float:
        """The highest rate, rows/s."""
        return max(self.rows_per_s)

    @property
    def total_rows(self) -> float:
        """Number of rows offered."""
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

    def sped_up(self, speed: float) -> "Workload":
        """Return the same rows in less time: rates multiplied by a speed above 0, steps divided by it."""
        if not (math.isfinite(speed) and speed > 0):
            raise ValueError(f"speed must be a finite number above 0, is {speed}")
        return replace(self, step_s=self.step_s / speed, rows_per_s=tuple(rate * speed for rate in self.rows_per_s))

    def with_duration(self, duration_s: float) -> "Workload":
        """Return the same rates over another duration above 0, which changes the steps and the number of rows."""
        return replace(self, step_s=duration_s / len(self.rows_per_s))

    @staticmethod
    def of_rates(name: str, step_s: float, rates: Iterable[float]) -> "Workload":
        """Return a pattern from any iterable of rates."""
        return Workload(name=name, step_s=step_s, rows_per_s=tuple(map(float, rates)))


_MAX_MINUTES = 1440.0


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadRequest:
    """A request for a load."""

    #: Text of the request, such as ``nyc:2014-10-01``; also the name of the load.
    text: str
    #: Text after the colon; None without a colon.
    parameter: str | None
    #: Seed of everything random, >= 0.
    seed: int

    def rng(self, name: str) -> np.random.Generator:
        """Return the random generator of a load; other names and seeds give other numbers."""
        return np.random.default_rng([self.seed, crc32(name.encode())])

    def minutes(self, default: float) -> float:
        """Return the parameter as a number of minutes, 1..1440.

        Raises
        ------
        InputError
            If it is anything else.
        """
        if self.parameter is None:
            return default
        try:
            minutes = float(self.parameter)
        except ValueError:
            minutes = 0.0
        if not 1 <= minutes <= _MAX_MINUTES:  # NaN fails too
            raise InputError(
                "workload-minutes-invalid", source=f"workload {self.text}", max=_MAX_MINUTES, got=self.parameter
            )
        return minutes

    def numbers(self, defaults: Mapping[str, float]) -> dict[str, float]:
        """Return the numbers of ``name=number,name=number``, with the defaults of those that are not given.

        Raises
        ------
        InputError
            If a part has another form or name, a number is not finite or below 0, ``period`` or ``length`` is not
            1..1440 minutes, or ``minimum`` exceeds ``maximum``.
        """
        numbers, source = dict(defaults), f"workload {self.text}"
        for part in () if self.parameter is None else self.parameter.split(","):
            name, _, text = part.partition("=")
            try:
                number = float(text)
            except ValueError:
                number = -1.0
            if name not in defaults or not 0 <= number < math.inf:  # NaN fails too
                raise InputError("workload-parameter-invalid", source=source, known=list(defaults), got=part)
            if name in ("period", "length") and not 1 <= number <= _MAX_MINUTES:
                raise InputError("workload-minutes-invalid", source=source, max=_MAX_MINUTES, got=part)
            numbers[name] = number
        if numbers.get("minimum", 0.0) > numbers.get("maximum", math.inf):
            raise InputError(
                "workload-range-invalid", source=source, minimum=numbers["minimum"], maximum=numbers["maximum"]
            )
        return numbers

    def day(self, first: date, last: date, default: date) -> date:
        """Return the parameter as a day within the given bounds.

        Raises
        ------
        InputError
            If it is anything else.
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
                "workload-day-invalid",
                source=f"workload {name}",
                first=str(first),
                last=str(last),
                example=f"{name}:{default}",
                got=self.parameter,
            )
        return day
