"""Where an overload comes from, as Dhalion and HPA-Varga look for it (Kanis 2023, sections 6.7.1 and 6.7.4).

A full buffer holds back its producers, as in a Flink job: rows then wait before the producers. Kafka takes all rows, so
they wait before the operator that cannot keep up. Each operator that reads Kafka is its own source.
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
    """When the lag counts as growing (Kanis 2023, sections 6.7.1 and 6.7.4)."""

    lag_growth_share: float = Field(0.01, ge=0, le=1)
    """The lag grows where each second adds this share of the throughput to it, 0..1. Default: 1 %, which separates
    growth from noise at any load. The 1000 rows/s of table 6.4 are for up to 2.5 million."""
    lag_growth_rows_per_second: float = Field(0.0, ge=0, le=MAX_ROWS)
    """The lag grows only where each second also adds at least so many rows. Default: any number; table 6.4 has 1000."""
    lag_growth_by: Literal["slope", "counter"] = "slope"
    """Growth by the slope of the lag, or as if the lag were a counter, which makes every fall a growth. Default: the
    slope. The thesis's Dhalion uses Prometheus' `rate()`, which is for counters."""


# Time over which the growth of the lag is measured: table 6.4.
_LAG_WINDOW_S = 60.0


@dataclass(frozen=True, slots=True)
class Bottlenecks:
    """Finds them in one observation."""

    #: Who feeds whom.
    workflow: Workflow
    #: Of the operators that can be judged.
    readings: Mapping[str, OperatorReading]
    #: An operator that is saturated in more than this share of its batches is overloaded, 0..1.
    threshold: float
    #: From when on the lag grows.
    settings: LagSettings

    @property
    def pressing(self) -> tuple[str, ...]:
        """The operators that hold others back and are not held back themselves, farthest upstream first.

        Of several consumers of an operator that is held back, those that are overloaded.
        """
        return tuple(
            name
            for name in self._free()
            if self._overloaded(name) and any(self._is_held_back(producer) for producer in self.workflow.upstream(name))
        )

    @property
    def overrun(self) -> tuple[str, ...]:
        """The operators before which rows pile up though nothing holds them back, farthest upstream first.

        Sources, and overloaded operators.
        """
        return tuple(
            name
            for name in self._free()
            if lag_grows(self.readings[name], self.settings)
            and (is_source(name, self.workflow) or self._overloaded(name))
        )

    def _free(self) -> tuple[str, ...]:
        return tuple(
            name for name in self.workflow.topological_order if name in self.readings and not self._is_held_back(name)
        )

    def _overloaded(self, name: str) -> bool:
        return name in self.readings and self.readings[name].saturated_share > self.threshold

    def _is_held_back(self, name: str) -> bool:
        """Say whether an operator is blocked by a consumer that is overloaded, or held back in its turn."""
        return (
            name in self.readings
            and is_blocked(self.readings[name])
            and any(
                self._overloaded(consumer) or self._is_held_back(consumer)
                for consumer in self.workflow.downstream(name)
            )
        )


def is_blocked(reading: OperatorReading) -> bool:
    """Say whether an operator has rows and time but does not take the rows, as when its output is held back.

    A micro-batch leaves rows behind only where it is full or late, so an operator on Spark is never blocked.
    """
    newest = reading.batches[-1] if reading.batches else None
    return newest is not None and bool(newest.backlog_rows) and not (newest.is_full or newest.is_late)


def lag_grows(reading: OperatorReading, settings: LagSettings) -> bool:
    """Say whether rows pile up before an operator faster than the settings ignore."""
    slope = _growth_rows_per_s(reading, settings)
    least = max(settings.lag_growth_rows_per_second, settings.lag_growth_share * reading.throughput_rows_per_s)
    return slope is not None and slope > least


def lag_growth(readings: Iterable[OperatorReading], settings: LagSettings) -> float | None:
    """Return how fast the lag of some operators grows against what they process.

    Notes
    -----
    ``deriv(lag) / throughput`` of equations 4.5 and 6.2. Where nothing is processed, the throughput counts as 1 row/s.
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
