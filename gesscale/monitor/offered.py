"""The offered rows of an operator at known instants, from its batches and from idling."""

import math
from bisect import bisect_left
from collections.abc import Sequence

from gesscale.model.observation import Batch
from gesscale.model.offered import AT, OfferedPoint


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


def add_idle_point(points: list[OfferedPoint], at_s: float) -> None:
    """Add that no source offered a row between the newest point before an instant and the instant."""
    index = bisect_left(points, at_s, key=AT)
    if index and (index == len(points) or points[index].at_s > at_s):
        points.insert(index, OfferedPoint(at_s, points[index - 1].rows))
