"""Reads the load, the lag and the replicas of a query from a CSV file or a Prometheus server."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Annotated, NamedTuple

import numpy as np
from pydantic import BaseModel, BeforeValidator, Field

from gesscale.batch_record import PREFIX
from gesscale.csv_table import read_csv
from gesscale.errors import InputError
from gesscale.model.observation import Batch
from gesscale.monitor.prometheus_query import query_prometheus
from testbed.backtest.recorded_query import Offered, RecordedQuery

#: Trigger interval that is assumed, and the time between two points of a Prometheus server, seconds.
_TRIGGER_S, _STEP_S = 10.0, 60
_MAX_STEPS = 200_000
_MAX_BYTES, _MAX_ELEMENTS, _TIMEOUT_S = 8 << 20, 200_000, 30.0
#: Queries of gesscale's gauges; another scaler's replace them.
GAUGES = {
    "rows_per_s": f'sum(rate({PREFIX}offered_rows_total{{operator="%s"}}[2m]))',
    "lag_rows": f'sum({PREFIX}backlog_rows{{operator="%s"}})',
    "replicas": f'count({PREFIX}batch_replica_info{{operator="%s"}})',
}


def _seconds(text: object) -> object:
    try:
        return float(str(text))
    except ValueError:
        moment = datetime.fromisoformat(str(text))
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


_Amount = Annotated[float, Field(ge=0, le=1e12, allow_inf_nan=False, description="a number from 0 to 1e12")]


class Point(BaseModel):
    """What was measured at an instant: rows that come per second, rows that wait, and replicas."""

    timestamp: Annotated[float, BeforeValidator(_seconds), Field(description="seconds since the epoch, or ISO 8601")]
    rows_per_s: _Amount
    lag_rows: _Amount
    replicas: Annotated[int, Field(ge=1, le=10_000, description="a whole number from 1 to 10000")]


def read_points(file: Path) -> list[Point]:
    """Read a CSV file with the columns of `Point`.

    Raises
    ------
    InputError
        If it cannot be read, or a column or a cell is wrong.
    """
    return [row.read_as(Point) for row in read_csv(file, tuple(Point.model_fields)).rows]


class Prometheus(NamedTuple):
    """What is asked of a Prometheus server."""

    url: str
    #: By the columns of `Point`; an empty one is that of gesscale's gauges of the operator (queries, operator).
    queries: Mapping[str, str]
    operator: str
    #: When what is read ends, and its length, seconds.
    until_s: float
    span_s: float

    def points(self) -> list[Point]:
        """Return the points at which all queries have a value.

        Raises
        ------
        MetricsUnavailableError
            If the server cannot be read.
        InputError
            If a query gives no series, or several.
        """
        columns = {name: self._column(query or GAUGES[name] % self.operator) for name, query in self.queries.items()}
        times = sorted(set.intersection(*map(set, columns.values())))
        rows = ({"timestamp": at_s, **{name: column[at_s] for name, column in columns.items()}} for at_s in times)
        return [Point.model_validate(row) for row in rows if row["replicas"] >= 1]

    def _column(self, query: str) -> Mapping[float, float]:
        found = query_prometheus(
            self.url,
            f"({query})[{self.span_s:.0f}s:{_STEP_S}s]",
            query,
            now_s=self.until_s,
            timeout_s=_TIMEOUT_S,
            max_bytes=_MAX_BYTES,
            max_elements=_MAX_ELEMENTS,
        )
        if len(found) != 1:
            raise InputError("backtest-series-ambiguous", source=self.url, query=query, got=len(found))
        return dict(found[0].values)


def query_of_points(name: str, points: Sequence[Point], trigger_s: float | None) -> RecordedQuery:
    """Return a query whose batches are as long as its trigger interval; between points, rates and lags are linear.

    Raises
    ------
    InputError
        If there are fewer than three points, or their times do not rise.
    """
    if len(points) < 3 or any(one.timestamp >= other.timestamp for one, other in pairwise(points)):
        raise InputError("backtest-points-unusable", source=name, got=len(points))
    trigger_s = trigger_s or _TRIGGER_S
    times_s, rates, lags, replicas = np.array([list(vars(point).values()) for point in points]).T
    totals = np.concatenate([[0.0], np.cumsum(rates[:-1] * np.diff(times_s))]) + lags[0]
    step_s = max(trigger_s, (times_s[-1] - times_s[0]) / _MAX_STEPS)
    grid = np.arange(times_s[0], times_s[-1] + step_s, step_s)
    offered, lag = np.interp(grid, times_s, totals), np.interp(grid, times_s, lags)
    rows = np.maximum(np.diff(offered - lag), 0.0).round()
    held = replicas[np.searchsorted(times_s, grid[:-1], side="right") - 1]
    figures = zip(grid[1:].tolist(), rows.tolist(), lag[1:].tolist(), held.tolist(), strict=True)
    batches = tuple(
        Batch(
            batch_id=number,
            ended_at_s=at_s,
            rows=int(count),
            seconds=step_s,
            backlog_rows=waiting,
            nodes=tuple(map(str, range(int(executors)))),
        )
        for number, (at_s, count, waiting, executors) in enumerate(figures)
    )
    return RecordedQuery(name=name, batches=batches, offered=Offered(grid, offered, float(lag[0])), trigger_s=trigger_s)
