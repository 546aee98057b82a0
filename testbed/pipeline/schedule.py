"""Due times of the rows of a replay. Pure: the clock is an argument."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from gesscale.errors import InputError

#: From this ratio of the slowest to the mean speed on, each replica gets one task: more tasks cost more than they gain.
SIMILAR_SPEED = 0.7
_DECREASE, _MIN_SHARE = 2.0, 0.15
#: Lower bound on the ratio of the slowest to the mean speed; it limits the number of tasks, about 2 / share.
_MIN_SPEED = 1 / 8
MAX_COPIES = 256  # `testbed.pipeline.sink` packs ride and copy into one integer


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplaySchedule:
    """Replay of rides in the order of their pickups, each ``copies`` times, at ``speed`` times the original speed.

    Row k is copy ``k % copies`` of ride ``k // copies``; all copies of a ride are due at once.

    Raises
    ------
    InputError
        If there is no ride, the times are not sorted, or speed or copies are out of range.
    """

    #: Pickup times in seconds, sorted, one for each ride; any epoch.
    pickup_s: NDArray[np.float64]
    #: Seconds of the original day per second.
    speed: float
    #: Copies of each ride, 1..256.
    copies: int
    #: When the first ride is due, seconds since the epoch.
    start_at_s: float

    def __post_init__(self) -> None:
        if self.pickup_s.size == 0:
            raise InputError("replay-without-rides")
        if np.any(np.diff(self.pickup_s) < 0):
            raise InputError("replay-not-sorted")
        if not (np.isfinite(self.speed) and self.speed > 0):
            raise InputError("number-not-positive", place="speed", got=self.speed)
        if not 1 <= self.copies <= MAX_COPIES:
            raise InputError("replay-copies-invalid", max_copies=MAX_COPIES, got=self.copies)

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
        """Return the number of rows that are due at an instant."""
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
    """Split the rows [start, end) so that slots of unequal speed finish at about the same time.

    Spark gives the next task to any free slot. So the first tasks have the share of the slowest slot, and later ones
    are shorter: guided self-scheduling (Polychronopoulos, Kuck, 1987).

    Examples
    --------
    >>> split_by_speed(0, 90, 3, 1 / 3)
    [(0, 30), (30, 60), (60, 90)]
    >>> [high - low for low, high in split_by_speed(0, 1000, 3, 0.1)]
    [100, 100, 100, 100, 100, 100, 80, 64, 51, 41, 32, 26, 21, 17, 15, 15, 15, 15, 8]
    """
    if slots * slowest_share >= SIMILAR_SPEED:
        return split_rows(start, end, slots)
    slowest_share = max(slowest_share, _MIN_SPEED / slots)
    first, ranges = (end - start) * slowest_share, []
    while start < end:
        rows = max(1, int(max(min(first, (end - start) * slowest_share * _DECREASE), first * _MIN_SHARE)))
        ranges.append((start, min(end, start + rows)))
        start += rows
    return ranges
