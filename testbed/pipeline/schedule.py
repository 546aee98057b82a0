"""When each row of a replay is due. Pure: the clock is an argument."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from gesscale.errors import InputError

MAX_COPIES = 256  # `testbed.pipeline.sink` packs ride and copy into one integer


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplaySchedule:
    """Rides in the order of their pickups, each ``copies`` times, ``speed`` times as fast as they happened.

    Row k is copy ``k % copies`` of ride ``k // copies``; all copies of a ride are due at once.

    Attributes
    ----------
    pickup_s
        Pickup times in seconds, sorted, one for each ride; any epoch.
    speed
        Seconds of the rides' day that pass in one second.
    copies
        How often each ride is served, 1..256.
    start_at_s
        When the first ride is due, seconds since the epoch.

    Raises
    ------
    InputError
        Where there is no ride, the times are not sorted, or speed or copies are out of range.
    """

    pickup_s: NDArray[np.float64]
    speed: float
    copies: int
    start_at_s: float

    def __post_init__(self) -> None:
        if self.pickup_s.size == 0:
            message = "replay: expected at least one ride, got none; has the cleaning dropped them all?"
            raise InputError(message)
        if np.any(np.diff(self.pickup_s) < 0):
            message = "replay: expected rides sorted by pickup time, got an unsorted file; clean them first"
            raise InputError(message)
        if not (np.isfinite(self.speed) and self.speed > 0):
            message = f"replay: expected speed > 0, got {self.speed!r}"
            raise InputError(message)
        if not 1 <= self.copies <= MAX_COPIES:
            message = f"replay: expected 1 <= copies <= {MAX_COPIES}, got {self.copies!r}"
            raise InputError(message)

    @property
    def rows_total(self) -> int:
        """Rows of the whole replay."""
        return int(self.pickup_s.size) * self.copies

    def due_at_s(self, rides: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return when these rides are due, seconds since the epoch."""
        since_first_s: NDArray[np.float64] = self.pickup_s[rides] - self.pickup_s[0]
        return self.start_at_s + since_first_s / self.speed

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
