"""Offered load as a counter: cumulative rows at known instants, and the rate between them."""

from bisect import bisect_right
from collections.abc import Sequence
from operator import attrgetter
from typing import Annotated, NamedTuple

from pydantic import Field

from gesscale.fields import MAX_EPOCH_S


class OfferedPoint(NamedTuple):
    """Cumulative rows that the sources had offered at an instant."""

    #: Seconds since the epoch.
    at_s: Annotated[float, Field(ge=-MAX_EPOCH_S, le=MAX_EPOCH_S)]
    #: Rows since the start of the counter; bounded in a file, so that arithmetic does not overflow.
    rows: Annotated[float, Field(ge=0, le=1e18)]


AT = attrgetter("at_s")


def offered_rate(points: Sequence[OfferedPoint], since_s: float) -> float | None:
    """Return the growth per second since the newest point at or before an instant, or else since the oldest point.

    It covers at least the two newest points; None if there are fewer.
    """
    if len(points) < 2:
        return None
    base = points[min(max(0, bisect_right(points, since_s, key=AT) - 1), len(points) - 2)]
    newest = points[-1]
    return (newest.rows - base.rows) / (newest.at_s - base.at_s)
