"""Bottleneck detection for Dhalion and HPA-Varga (Kanis 2023, sections 6.7.1 and 6.7.4).

In a Flink job a full buffer causes back pressure, so rows wait before the producers. Kafka accepts all rows, so they
wait before the operator that cannot keep up. Each operator that reads from Kafka is its own source.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from pydantic import Field

from gesscale.fields import MAX_ROWS
from gesscale.model.observation import OperatorReading
from gesscale.model.workflow import Workflow
from testbed.baselines.shared.signals import is_source, lag_increase_rows_per_s, lag_slope_rows_per_s
from testbed.baselines.shared.sizing import SizingSettings


class LagSettings(SizingSettings):
    """Thresholds for back pressure and a growing lag (Kanis 2023, sections 6.7.1 and 6.7.4)."""

    back_pressure_threshold: float = Field(0.5, gt=0, lt=1)
    """An operator is overloaded if more than this share of its batches is saturated, 0..1. Default: half of them."""
    lag_growth_share: float = Field(0.01, ge=0, le=1)
    """The lag grows if each second adds at least this share of the throughput, 0..1. Default: 1 %, which separates
    growth from noise at any load. The 1000 rows/s of table 6.4 are for up to 2.5 million."""
    lag_growth_rows_per_second: float = Field(0.0, ge=0, le=MAX_ROWS)
    """Minimum growth of the lag, rows per second. Default: no minimum; table 6.4 has 1000."""
    lag_growth_by: Literal["slope", "counter"] = "slope"
    """Method: the slope of the lag, or its increase as if it were a counter, so that every fall counts as growth.
    Default: the slope. The Dhalion of the thesis uses Prometheus' `rate()`, which is for counters."""


# Time over which the growth of the lag is measured: table 6.4.
_LAG_WINDOW_S = 60.0


@dataclass(frozen=True, slots=True)
class Bottlenecks:
    """Finds the bottlenecks of one observation."""

    #: The workflow graph.
    workflow: Workflow
    #: Readings of the operators with usable metrics.
    readings: Mapping[str, OperatorReading]
    #: Thresholds for back pressure and a growing lag.
    settings: LagSettings

    @property
    def causing_back_pressure(self) -> tuple[str, ...]:
        """The overloaded operators that block a producer and are not blocked themselves, farthest upstream first."""
        return tuple(
            name
            for name in self._not_blocked()
            if self._overloaded(name)
            and any(self._is_blocked_downstream(producer) for producer in self.workflow.upstream(name))
        )

    @property
    def accumulating_lag(self) -> tuple[str, ...]:
        """The sources and overloaded operators whose lag grows without back pressure, farthest upstream first."""
        return tuple(name for name in self.lagging if lag_grows(self.readings[name], self.settings))

    @property
    def lagging(self) -> tuple[str, ...]:
        """The sources and overloaded operators without back pressure, whether their lag grows or not."""
        return tuple(name for name in self._not_blocked() if is_source(name, self.workflow) or self._overloaded(name))

    def _not_blocked(self) -> tuple[str, ...]:
        return tuple(
            name
            for name in self.workflow.topological_order
            if name in self.readings and not self._is_blocked_downstream(name)
        )

    def _overloaded(self, name: str) -> bool:
        return name in self.readings and self.readings[name].saturated_share > self.settings.back_pressure_threshold

    def _is_blocked_downstream(self, name: str) -> bool:
        """Return True if an operator is blocked by a consumer that is overloaded, or blocked itself."""
        return (
            name in self.readings
            and is_blocked(self.readings[name])
            and any(
                self._overloaded(consumer) or self._is_blocked_downstream(consumer)
                for consumer in self.workflow.downstream(name)
            )
        )


def is_blocked(reading: OperatorReading) -> bool:
    """Return True if an operator has rows and time but does not process the rows, as under back pressure.

    A micro-batch leaves rows behind only if it is full or late, so an operator on Spark is never blocked.
    """
    newest = reading.batches[-1] if reading.batches else None
    return newest is not None and bool(newest.backlog_rows) and not (newest.is_full or newest.is_late)


def lag_grows(reading: OperatorReading, settings: LagSettings) -> bool:
    """Return True if the backlog of an operator grows faster than the thresholds of the settings."""
    slope = _growth_rows_per_s(reading, settings)
    least = max(settings.lag_growth_rows_per_second, settings.lag_growth_share * reading.throughput_rows_per_s)
    return slope is not None and slope > least


def lag_growth(readings: Iterable[OperatorReading], settings: LagSettings) -> float | None:
    """Return the growth of the lag of some operators, relative to their throughput; None if unknown.

    Notes
    -----
    ``deriv(lag) / throughput`` of equations 4.5 and 6.2. A throughput of 0 counts as 1 row/s.
    """
    growths = [
        (slope, reading.throughput_rows_per_s)
        for reading in readings
        if (slope := _growth_rows_per_s(reading, settings)) is not None
    ]
    if not growths:
        return None
    return sum(slope for slope, _ in growths) / (sum(throughput for _, throughput in growths) or 1.0)


def _growth_rows_per_s(reading: OperatorReading, settings: LagSettings) -> float | None:
    measure = lag_slope_rows_per_s if settings.lag_growth_by == "slope" else lag_increase_rows_per_s
    return measure(reading, _LAG_WINDOW_S)
