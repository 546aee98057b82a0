"""The workload as Daedalus sees it: rows offered and rows processed per second, on a regular grid of time."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gesscale.model.observation import Batch

_ROUNDING = 1e-6


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """Rows offered per second.

    Attributes
    ----------
    until_s
        The end of the newest bin, seconds since the epoch.
    offered_rows
        Rows offered until then, as the batches count them.
    rows_per_s
        Of each bin, oldest first, to five digits.
    """

    until_s: float
    offered_rows: float
    rows_per_s: tuple[float, ...]


def extended(
    history: History | None, batches: Sequence[Batch], step_s: float, most_bins: int
) -> History | None:
    """Return the history with the rows of newer batches.

    Parameters
    ----------
    history
        So far; None at the beginning.
    batches
        The recent ones, oldest first.
    step_s
        Length of a bin.
    most_bins
        The oldest beyond these are forgotten.

    Returns
    -------
    History or None
        With each bin that is over; None while there is none. A time without reports has the mean rate of the rows that
        came meanwhile. Where the query counts again, it lies on the line between its neighbours.
    """
    points = _offered(batches)
    if history is not None:
        points = [point for point in points if point[0] > history.until_s]
        if points and points[0][1] >= history.offered_rows:
            points.insert(0, (history.until_s, history.offered_rows))
    if not points:
        return history
    times, totals = zip(*points, strict=True)
    last = math.floor(times[-1] / step_s + _ROUNDING)
    first = max(math.ceil(times[0] / step_s - _ROUNDING), last - most_bins)
    if last <= first:
        return history
    at_edges = np.interp(np.arange(first, last + 1) * step_s, times, totals)
    rates = np.diff(at_edges) / step_s
    kept = _before(history, first, step_s, float(rates[0]), most_bins)
    return History(
        until_s=last * step_s,
        offered_rows=float(at_edges[-1]),
        rows_per_s=(*kept, *(rounded(rate) for rate in rates.tolist()))[-most_bins:],
    )


def idled(history: History | None, at_s: float, step_s: float, most_bins: int) -> History | None:
    """Return the history of an operator to which nothing was offered until an instant."""
    if history is None:
        return None
    bins = math.floor((at_s - history.until_s) / step_s + _ROUNDING)
    if bins <= 0:
        return history
    return History(
        until_s=history.until_s + bins * step_s,
        offered_rows=history.offered_rows,
        rows_per_s=(*history.rows_per_s, *[0.0] * min(bins, most_bins))[-most_bins:],
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Flows:
    """What was offered and what was processed, rows/s, bin by bin.

    Attributes
    ----------
    ends_s
        When each bin ends, seconds since the epoch.
    offered, processed
        Of each bin.
    """

    ends_s: NDArray[np.float64]
    offered: NDArray[np.float64]
    processed: NDArray[np.float64]


def flows(history: History, batches: Sequence[Batch], since_s: float, step_s: float) -> Flows:
    """Return what is known of the bins that began at an instant or later.

    Parameters
    ----------
    history
        What was offered.
    batches
        The recent ones, oldest first. The rows of each are spread over its trigger interval, or over the time that it
        took where that was longer.
    since_s
        The edge of a bin.
    step_s
        Length of a bin.
    """
    edges_s: list[float] = []
    totals: list[float] = []
    rows = 0.0
    for batch in batches:
        began_s = batch.ended_at_s - max(batch.seconds, batch.trigger_s or 0.0)
        edges_s += [max(began_s, edges_s[-1]) if edges_s else began_s, batch.ended_at_s]
        totals += [rows, rows + batch.rows]
        rows += batch.rows
    if not edges_s:
        return Flows(ends_s=np.empty(0), offered=np.empty(0), processed=np.empty(0))
    first_s = history.until_s - step_s * len(history.rows_per_s)
    grid_s = np.linspace(first_s, history.until_s, len(history.rows_per_s) + 1)
    seen = (grid_s >= max(since_s, edges_s[0]) - _ROUNDING) & (grid_s <= edges_s[-1] + _ROUNDING)
    return Flows(
        ends_s=grid_s[seen][1:],
        offered=np.asarray(history.rows_per_s)[seen[1:] & seen[:-1]],
        processed=np.diff(np.interp(grid_s[seen], edges_s, totals)) / step_s,
    )


def rounded(figure: float) -> float:
    """Return a figure to five digits, as it is remembered."""
    return float(f"{figure:.5g}")


def _offered(batches: Sequence[Batch]) -> list[tuple[float, float]]:
    """Return when batches began and what had been offered by then, since the query last began to count."""
    points: list[tuple[float, float]] = []
    for batch in reversed(batches):
        total = batch.offered_rows_total
        if total is None or not math.isfinite(total):
            continue
        point = (batch.ended_at_s - batch.seconds, total)
        if points and not (point[0] < points[-1][0] and point[1] <= points[-1][1]):
            break
        points.append(point)
    return points[::-1]


def _before(
    history: History | None, first: int, step_s: float, next_rate: float, most_bins: int
) -> tuple[float, ...]:
    """Return the bins before the first new one, without a gap; none where the gap is longer than what is kept."""
    if history is None:
        return ()
    gap = round(first - history.until_s / step_s)
    if gap >= most_bins:
        return ()
    between = np.linspace(history.rows_per_s[-1], next_rate, gap + 2)[1:-1]
    return (*history.rows_per_s, *(rounded(rate) for rate in between.tolist()))
