"""When each row of a replay is due. Pure: the clock is an argument."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from gesscale.errors import InputError

#: Replicas whose slowest has so much of the mean speed get a task each: more tasks would cost more than they
#: gain.
ALIKE = 0.7
_FALLING, _LEAST = 2.0, 0.15
#: A replica that does less than this of the mean gets no shorter tasks for that: their number is about 2 /
#: share.
_SLOWEST = 1 / 8
MAX_COPIES = 256  # `testbed.pipeline.sink` packs ride and copy into one integer


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplaySchedule:
    """Rides in the order of their pickups, each ``copies`` times, ``speed`` times as fast as they happened.

    Row k is copy ``k % copies`` of ride ``k // copies``; all copies of a ride are due at once.

    Raises
    ------
    InputError
        Where there is no ride, the times are not sorted, or speed or copies are out of range.
    """

    #: Pickup times in seconds, sorted, one for each ride; any epoch.
    pickup_s: NDArray[np.float64]
    #: Seconds of the rides' day that pass in one second.
    speed: float
    #: How often each ride is served, 1..256.
    copies: int
    #: When the first ride is due, seconds since the epoch.
    start_at_s: float

    def __post_init__(self) -> None:
        if self.pickup_s.size == 0:
            raise InputError("replay: expected at least one ride, got none; has the cleaning dropped them all?")
        if np.any(np.diff(self.pickup_s) < 0):
            raise InputError("replay: expected rides sorted by pickup time, got an unsorted file; clean them first")
        if not (np.isfinite(self.speed) and self.speed > 0):
            raise InputError(f"replay: expected speed > 0, got {self.speed!r}")
        if not 1 <= self.copies <= MAX_COPIES:
            raise InputError(f"replay: expected 1 <= copies <= {MAX_COPIES}, got {self.copies!r}")

    @property
    def rows_total(self) -> int:
        """Rows of the whole replay."""
        return int(self.pickup_s.size) * self.copies

    def due_at_s(self, rides: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return when these rides are due, seconds since the epoch."""
        since_first_s: NDArray[np.float64] = self.pickup_s[rides] - self.pickup_s[0]
        return self.start_at_s + since_first_s / self.speed

    def rows_due_at_s(self, rows: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return when these rows are due, seconds since the epoch."""
        return self.due_at_s(rows // self.copies)

    def offered_rows(self, now_s: float) -> int:
        """Return how many rows are due by an instant."""
        reached_s = self.pickup_s[0] + (now_s - self.start_at_s) * self.speed
        return int(np.searchsorted(self.pickup_s, reached_s, side="right")) * self.copies


def split_rows(start: int, end: int, tasks: int) -> list[tuple[int, int]]:
    """Split the rows [start, end) into at most ``tasks`` ranges that differ by one row at most.

    Examples
    --------
    >>> split_rows(10, 20, 3)
    [(10, 13), (13, 16), (16, 20)]
    >>> split_rows(5, 5, 3)
    []
    """
    edges = [start + (end - start) * task // tasks for task in range(tasks + 1)]
    return [(low, high) for low, high in pairwise(edges) if low < high]


def split_by_speed(start: int, end: int, slots: int, slowest_share: float) -> list[tuple[int, int]]:
    """Split the rows [start, end) so that slots of unequal speed end at about the same time.

    Spark gives the next task to the slot that is free, whatever its speed. So the first tasks are as long as the
    slowest slot needs for its share, and later ones shorter: guided self-scheduling (Polychronopoulos, Kuck, 1987).

    Examples
    --------
    >>> split_by_speed(0, 90, 3, 1 / 3)
    [(0, 30), (30, 60), (60, 90)]
    >>> [high - low for low, high in split_by_speed(0, 1000, 3, 0.1)]
    [100, 100, 100, 100, 100, 100, 80, 64, 51, 41, 32, 26, 21, 17, 15, 15, 15, 15, 8]
    """
    if slots * slowest_share >= ALIKE:
        return split_rows(start, end, slots)
    slowest_share = max(slowest_share, _SLOWEST / slots)
    first, ranges = (end - start) * slowest_share, []
    while start < end:
        rows = max(1, int(max(min(first, (end - start) * slowest_share * _FALLING), first * _LEAST)))
        ranges.append((start, min(end, start + rows)))
        start += rows
    return ranges
