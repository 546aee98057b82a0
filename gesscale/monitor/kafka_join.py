"""Joins the end offsets of a broker to the offered rows of a reading. Pure."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from gesscale.model.observation import Batch, OperatorReading
from gesscale.model.offered import OfferedPoint, offered_rate

#: Clocks of driver and scaler may differ by this much.
_CLOCKS_AGREE_S = 5.0
_MAX_ENDS = 512


def add_end(
    ends: Sequence[OfferedPoint], end: OfferedPoint, reading: OperatorReading, window_s: float
) -> list[OfferedPoint]:
    """Return the ends with a new one, without those that `join_end_offsets` no longer needs.

    They restart if the topic was made again or the clock stepped back.
    """
    if ends and (end.at_s <= ends[-1].at_s or end.rows < ends[-1].rows):
        return [end]
    newest = reading.batches[-1]
    since_s = min(newest.began_s - _CLOCKS_AGREE_S, reading.at_s - window_s)
    older = sum(each.at_s < since_s for each in ends)
    kept = [*ends[max(0, older - 1) :], end]
    return [kept[0], *kept[1:][-_MAX_ENDS:]]


def join_end_offsets(reading: OperatorReading, ends: Sequence[OfferedPoint], window_s: float) -> OperatorReading | None:
    """Return a reading that knows the rows which a topic got since the newest batch; None if the totals do not fit.

    Parameters
    ----------
    ends
        Sums of the end offsets, oldest first, as long as they grew; at least one. The driver's sum at the start of its
        newest batch connects them to its counter. An end that is older than this batch shows that both read the same
        topic: it cannot be higher than the driver's sum. Until there is one, the reading is unchanged.
    window_s
        Length of the window of the input rate.

    Notes
    -----
    If the driver reports no totals at all, neither of rows nor of offsets, the ends themselves are the counter of
    offered rows. Otherwise an offset stands for as many rows as for the driver.
    """
    newest = reading.batches[-1]
    began_s, read = newest.began_s, newest.end_offset_rows_total
    if not reading.offered_points and read is None:
        return _with_points(reading, ends, window_s)
    if newest.offered_rows_total is None and read is not None:
        return reading  # the driver does not know how many rows an offset stands for
    if read is None or newest.offered_rows_total is None or ends[-1].rows < read:
        return None
    older = [end for end in ends if end.at_s < began_s - _CLOCKS_AGREE_S]
    if not older:
        return reading
    if older[-1].rows > read:
        return None
    ratio, total = _rows_per_offset(reading.batches), newest.offered_rows_total
    known = [point for point in reading.offered_points if point.at_s <= began_s]
    newer = [
        OfferedPoint(end.at_s, total + ratio * (end.rows - read))
        for end in ends
        if end.at_s > began_s and end.rows >= read
    ]
    backlog_rows = reading.backlog_rows
    if newer and backlog_rows is not None:
        backlog_rows += ratio * (ends[-1].rows - read)
    joined = replace(reading, backlog_rows=backlog_rows)
    return _with_points(joined, [*known, *newer], window_s)


def _rows_per_offset(batches: Sequence[Batch]) -> float:
    """Return the rows for which an offset stood in the driver's totals since these last fell; 1 if it is unknown."""
    totals = [(each.offered_rows_total, each.end_offset_rows_total) for each in batches]
    rows = offsets = 0.0
    for before, after in pairwise((total, end) for total, end in totals if total is not None and end is not None):
        has_fallen = after[0] < before[0] or after[1] < before[1]
        rows = 0.0 if has_fallen else rows + after[0] - before[0]
        offsets = 0.0 if has_fallen else offsets + after[1] - before[1]
    return rows / offsets if offsets else 1.0


def _with_points(reading: OperatorReading, points: Sequence[OfferedPoint], window_s: float) -> OperatorReading:
    rate = offered_rate(points, reading.at_s - window_s)
    return replace(
        reading, offered_points=tuple(points), input_rows_per_s=reading.input_rows_per_s if rate is None else rate
    )
