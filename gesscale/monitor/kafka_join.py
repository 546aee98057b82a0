"""Joins the end offsets of a broker to the offered rows of a reading. Pure."""

from collections.abc import Sequence
from dataclasses import replace

from gesscale.model.observation import OperatorReading
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
    since_s = min(newest.ended_at_s - newest.seconds - _CLOCKS_AGREE_S, reading.at_s - window_s)
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
    If the driver reports no totals at all, the ends themselves are the counter of offered rows.
    """
    newest = reading.batches[-1]
    began_s, read = newest.ended_at_s - newest.seconds, newest.end_offset_rows_total
    if not reading.offered_points:
        return _with_points(reading, ends, window_s)
    if read is None or newest.offered_rows_total is None or ends[-1].rows < read:
        return None
    older = [end for end in ends if end.at_s < began_s - _CLOCKS_AGREE_S]
    if not older:
        return reading
    if older[-1].rows > read:
        return None
    base, last_s = newest.offered_rows_total - read, reading.offered_points[-1].at_s
    newer = [OfferedPoint(end.at_s, base + end.rows) for end in ends if end.at_s > last_s and end.rows >= read]
    backlog_rows = reading.backlog_rows
    if newer and backlog_rows is not None:
        backlog_rows += ends[-1].rows - read
    joined = replace(reading, backlog_rows=backlog_rows)
    return _with_points(joined, [*reading.offered_points, *newer], window_s)


def _with_points(reading: OperatorReading, points: Sequence[OfferedPoint], window_s: float) -> OperatorReading:
    rate = offered_rate(points, reading.at_s - window_s)
    return replace(
        reading, offered_points=tuple(points), input_rows_per_s=reading.input_rows_per_s if rate is None else rate
    )
