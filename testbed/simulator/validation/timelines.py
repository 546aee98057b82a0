"""A simulated course against the recorded one: what each came to, and how far they are apart at the same instants."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gesscale.model.observation import Batch
from gesscale.model.workflow import Operator
from testbed.simulator.validation.recorded_run import RecordedOrder, starts
from testbed.simulator.validation.refit import CALM_S

Series = NDArray[np.float64]

_BIN_S = 10.0
_MINUTE_S = 60.0
LEAST_S = CALM_S + 2 * _MINUTE_S
"""Two whole minutes can be compared then."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunTimeline:
    """What a course came to, from the time on when the query had started up.

    Attributes
    ----------
    processed_rows
        Rows processed.
    batch_time_s
        Mean duration of the batch that ran, weighted by time.
    backlog_rows, backlog_peak_rows
        Mean and greatest backlog.
    serving_s
        Mean time from the order of a replica to the end of the first batch that it worked on; None without one.
    """

    processed_rows: float
    batch_time_s: float
    backlog_rows: float
    backlog_peak_rows: float
    serving_s: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TimelineErrors:
    """How far two courses are apart, as mean absolute differences at the same instants.

    Attributes
    ----------
    throughput_pct, throughput_minute_pct
        Of the rows processed in each 10 s, and in each minute, in per cent of their mean.
    batch_time_pct
        Of the duration of the batch that ran, weighted by time, in per cent of its mean.
    batch_time_minute_pct
        The same of its means over minutes.
    backlog_pct
        Of the backlog, in per cent of the largest that was recorded.
    row_delay_s
        Of the instants by which the same number of rows had been processed, seconds; each row counts alike.
    """

    throughput_pct: float
    throughput_minute_pct: float
    batch_time_pct: float
    batch_time_minute_pct: float
    backlog_pct: float
    row_delay_s: float


def timeline_of(batches: Sequence[Batch], orders: Sequence[RecordedOrder], operator: Operator) -> RunTimeline:
    """Sum up a course of at least 150 s.

    Parameters
    ----------
    batches
        Oldest first, on time that begins with the run.
    orders
        On the same time.
    operator
        Whose batches they are.
    """
    seconds = np.arange(CALM_S, batches[-1].ended_at_s, 1.0)
    backlog = backlog_rows(batches, seconds)
    serving_s = [start.serving_s for start in starts(batches, orders, operator)]
    return RunTimeline(
        processed_rows=float(np.diff(_processed(batches, seconds[[0, -1]]))[0]),
        batch_time_s=float(batch_time_s(batches, seconds).mean()),
        backlog_rows=float(backlog.mean()),
        backlog_peak_rows=float(backlog.max()),
        serving_s=float(np.mean(serving_s)) if serving_s else None,
    )


def timeline_errors(recorded: Sequence[Batch], simulated: Sequence[Batch]) -> TimelineErrors:
    """Compare two courses from the time on when the query had started up.

    Parameters
    ----------
    recorded, simulated
        Batches on one time, oldest first, of at least 150 s.
    """
    until_s = min(recorded[-1].ended_at_s, simulated[-1].ended_at_s)
    pair = (recorded, simulated)
    bins, minutes = (np.arange(CALM_S, until_s, width) for width in (_BIN_S, _MINUTE_S))
    grid = np.arange(CALM_S, until_s, 1.0)
    taken = [batch_time_s(timeline, grid) for timeline in pair]
    whole = int(len(grid) // _MINUTE_S * _MINUTE_S)
    backlogs = [backlog_rows(timeline, grid) for timeline in pair]
    return TimelineErrors(
        throughput_pct=_error_pct(*(np.diff(_processed(timeline, bins)) for timeline in pair)),
        throughput_minute_pct=_error_pct(*(np.diff(_processed(timeline, minutes)) for timeline in pair)),
        batch_time_pct=_error_pct(*taken),
        batch_time_minute_pct=_error_pct(
            *(series[:whole].reshape(-1, int(_MINUTE_S)).mean(axis=1) for series in taken)
        ),
        backlog_pct=_error_pct(*backlogs, whole=max(1.0, float(backlogs[0].max()))),
        row_delay_s=_row_delay_s(recorded, simulated, until_s),
    )


def rows_per_s(batches: Sequence[Batch], edges_s: Series) -> Series:
    """Return the throughput between edges: the rows of a batch are spread over the time since the one before."""
    result: Series = np.diff(_processed(batches, edges_s)) / np.diff(edges_s)
    return result


def batch_time_s(batches: Sequence[Batch], at_s: Series) -> Series:
    """Return how long the batch took that ran at each instant, or that came next."""
    ends = np.array([batch.ended_at_s for batch in batches])
    durations = np.array([batch.seconds for batch in batches])
    result: Series = durations[np.minimum(np.searchsorted(ends, at_s), len(durations) - 1)]
    return result


def backlog_rows(batches: Sequence[Batch], at_s: Series) -> Series:
    """Return the backlog: that of a batch's report holds when it ends, and changes evenly in between."""
    ends = [batch.ended_at_s for batch in batches]
    result: Series = np.interp(at_s, ends, [batch.backlog_rows or 0.0 for batch in batches])
    return result


def replicas(batches: Sequence[Batch], at_s: Series) -> Series:
    """Return how many replicas the last batch named that had ended by each instant."""
    ends = np.array([batch.ended_at_s for batch in batches])
    counts = np.array([float(len(batch.nodes)) for batch in batches])
    result: Series = counts[np.maximum(np.searchsorted(ends, at_s, side="right") - 1, 0)]
    return result


def _processed(batches: Sequence[Batch], at_s: Series) -> Series:
    ends = [batch.ended_at_s for batch in batches]
    result: Series = np.interp(at_s, ends, np.cumsum([batch.rows for batch in batches]))
    return result


def _row_delay_s(recorded: Sequence[Batch], simulated: Sequence[Batch], until_s: float) -> float:
    curves = [
        (np.cumsum([float(batch.rows) for batch in timeline]), [batch.ended_at_s for batch in timeline])
        for timeline in (recorded, simulated)
    ]
    calm = max(float(_processed(timeline, np.array([CALM_S]))[0]) for timeline in (recorded, simulated))
    most = min(float(_processed(timeline, np.array([until_s]))[0]) for timeline in (recorded, simulated))
    rows = np.linspace(calm, most, 1000)
    one, other = (np.interp(rows, counts, ends) for counts, ends in curves)
    return float(np.abs(one - other).mean())


def _error_pct(recorded: Series, simulated: Series, *, whole: float | None = None) -> float:
    """Return the mean absolute difference in per cent of the recorded mean, or of another whole."""
    part = max(1e-9, float(recorded.mean())) if whole is None else whole
    return 100 * float(np.abs(simulated - recorded).mean()) / part
