"""The offered rows of an operator at known instants, from its batches and from idling."""

from bisect import bisect_left
from collections.abc import Sequence

from gesscale.model.observation import Batch
from gesscale.model.offered import AT, OfferedPoint


def driver_points(batches: Sequence[Batch]) -> list[OfferedPoint]:
    """Return the totals of the newest run of the query, oldest first.

    Spark requests the latest offset of a source while it plans a batch, so a total belongs to the start of the batch
    (measured on 4.3: 2 to 4 ms after it). Batches of unequal length therefore do not distort the rate.
    """
    points: list[OfferedPoint] = []
    later: Batch | None = None
    for batch in reversed(batches):
        if later is not None and later.restarted_since(batch):
            break
        later, rows = batch, batch.offered_rows_total
        if rows is None:
            continue
        at_s = batch.ended_at_s - batch.seconds
        if points and rows > points[-1].rows:
            break  # the counter restarted in a batch without a total
        if not points or at_s < points[-1].at_s:
            points.append(OfferedPoint(at_s, rows))
    points.reverse()
    return points


def add_idle_point(points: list[OfferedPoint], at_s: float) -> None:
    """Add that no source offered a row between the newest point before an instant and the instant."""
    index = bisect_left(points, at_s, key=AT)
    if index and (index == len(points) or points[index].at_s > at_s):
        points.insert(index, OfferedPoint(at_s, points[index - 1].rows))
