"""The offered rows of an operator at known instants, from its batches and from idling.

An idle query does not report offsets: with `minOffsetsPerTrigger` rows wait in the source meanwhile. So a total is
known where a batch was planned, and a rate covers whole intervals between batches, until no more rows can be waiting.
"""

import math
from bisect import bisect_left
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from gesscale.model.observation import Batch
from gesscale.model.offered import AT, OfferedPoint, offered_rate

#: Intervals between batches that show how many rows a query waits for.
_RECENT_INTERVALS = 10
#: Idling is believed when fewer than a tenth of the usual rows can be waiting.
_BELIEVED_INTERVALS = 10.0
#: Or after Spark's default `maxTriggerDelay`: then a batch would have come, however few rows wait.
_MAX_TRIGGER_DELAY_S = 900.0
_UNKNOWN_TRIGGER_S = 1.0


def newest_run(batches: Sequence[Batch]) -> Sequence[Batch]:
    """Return the batches since the query last started."""
    for index in range(len(batches) - 1, 0, -1):
        if batches[index].restarted_since(batches[index - 1]):
            return batches[index:]
    return batches


def driver_points(run: Sequence[Batch]) -> list[OfferedPoint]:
    """Return the totals of a run of the query, oldest first.

    Spark requests the latest offset of a source while it plans a batch, so a total belongs to the start of the batch
    (measured on 4.3: 2 to 4 ms after it). Batches of unequal length therefore do not distort the rate.
    """
    points: list[OfferedPoint] = []
    next_s = next_rows = math.inf
    for batch in reversed(run):
        rows, at_s = batch.offered_rows_total, batch.ended_at_s - batch.seconds
        if rows is None or at_s >= next_s:
            continue
        if rows > next_rows:
            break  # the counter restarted in a batch without a total
        points.append(OfferedPoint(at_s, rows))
        next_s, next_rows = at_s, rows
    points.reverse()
    return points


class Idling(NamedTuple):
    """What is known of a query that has been idle since its newest batch."""

    #: Until when.
    until_s: float
    #: Rows that may wait: no recent batch had fewer. 0 if none can be waiting; None if no batch shows it.
    most_rows: float | None


def idling(points: Sequence[OfferedPoint], newest: Batch, until_s: float) -> Idling:
    """Return how many rows may have come since the newest batch of a query that is idle."""
    recent, since_s = points[-_RECENT_INTERVALS - 1 :], until_s - newest.began_s
    growths = [after.rows - before.rows for before, after in pairwise(recent) if after.rows > before.rows]
    if not growths:
        is_empty = len(recent) > 1 or since_s >= _MAX_TRIGGER_DELAY_S
        return Idling(until_s, 0.0 if is_empty else None)
    most = min(growths)
    usual = sum(growths) / (recent[-1].at_s - recent[0].at_s)
    is_empty = since_s >= _MAX_TRIGGER_DELAY_S or usual * since_s >= _BELIEVED_INTERVALS * most
    return Idling(until_s, 0.0 if is_empty else most)


def add_rests(points: list[OfferedPoint], run: Sequence[Batch], window_began_s: float) -> None:
    """Add that no row came while a query was idle between two batches, where its next batch shows it.

    The rows of the first batch after idling came within one trigger interval if they came no faster than later ones.
    Otherwise they may have come at any time since the batch before.
    """
    for before, first, following in zip(run, run[1:], run[2:], strict=False):
        trigger_s, began_s = first.trigger_s or _UNKNOWN_TRIGGER_S, first.ended_at_s - first.seconds
        if not began_s - before.ended_at_s >= trigger_s > following.began_s - first.ended_at_s:
            continue
        totals = [each.offered_rows_total for each in (before, first, following)]
        known = [total for total in totals if total is not None]
        if len(known) < 3 or not (first.follows(before) and following.follows(first)):
            continue
        next_rate = (known[2] - known[1]) / max(trigger_s, following.began_s - began_s)
        if known[1] - known[0] <= 2 * trigger_s * next_rate:
            for at_s in (window_began_s, began_s - trigger_s):
                if before.ended_at_s < at_s < began_s:
                    add_idle_point(points, at_s)


def add_idle_point(points: list[OfferedPoint], at_s: float) -> None:
    """Add that no source offered a row between the newest point before an instant and the instant."""
    index = bisect_left(points, at_s, key=AT)
    if index and (index == len(points) or points[index].at_s > at_s):
        points.insert(index, OfferedPoint(at_s, points[index - 1].rows))


def rate_since(points: Sequence[OfferedPoint], since_s: float, idle: Idling | None) -> float | None:
    """Return the offered rate over whole intervals; of an idle query at most that of the rows which may wait."""
    rate = offered_rate(points, since_s)
    if rate is None or idle is None or not idle.most_rows:
        return rate
    most = OfferedPoint(idle.until_s, points[-1].rows + idle.most_rows)
    return min(rate, offered_rate([*points, most], since_s) or 0.0)


def trigger_or_default_s(batch: Batch) -> float:
    """Return the trigger interval of a batch, 1 s if it is unknown."""
    return batch.trigger_s or _UNKNOWN_TRIGGER_S
