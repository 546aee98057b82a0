"""When rows came through, from rates alone: first in, first out between the cumulative input and output."""

from collections import deque
from collections.abc import Iterator

from testbed.scoring.provision import is_rounding
from testbed.scoring.sample import Completion

_NOTHING_ROWS = 1e-6


class FluidQueue:
    """Rows as a fluid that waits in one line.

    Where more is processed than there is, the surplus counts for nothing: it was offered before the series began.
    What rounded rates leave behind when nothing goes in or out any more is no row that waits.
    """

    __slots__ = ("_offered_rows", "_rows", "_waiting")

    def __init__(self) -> None:
        self._rows = self._offered_rows = 0.0
        self._waiting: deque[tuple[float, float, float]] = deque()  # rows, offered from, offered until

    def hold(
        self, from_s: float, until_s: float, input_rows_per_s: float, processed_rows_per_s: float
    ) -> Iterator[Completion]:
        """Let rows in and out at even rates for a while, and return those that came out."""
        seconds = until_s - from_s
        self._offered_rows += input_rows_per_s * seconds
        if input_rows_per_s == processed_rows_per_s == 0 and is_rounding(self._rows, self._offered_rows):
            self._empty()
            return
        net = processed_rows_per_s - input_rows_per_s
        busy_s = min(seconds, self._rows / net) if net > 0 else seconds
        if busy_s > 0:
            offered = input_rows_per_s * busy_s
            if offered > 0:
                self._waiting.append((offered, from_s, from_s + busy_s))
            yield from self._serve(from_s, busy_s, processed_rows_per_s)
            self._rows -= net * busy_s
            if self._rows <= _NOTHING_ROWS:
                self._empty()
        if busy_s < seconds and input_rows_per_s > 0:
            at_s = from_s + busy_s
            yield Completion(
                rows=input_rows_per_s * (until_s - at_s),
                offered_from_s=at_s,
                offered_until_s=until_s,
                arrived_from_s=at_s,
                at_s=until_s,
            )

    def _empty(self) -> None:
        self._rows = 0.0
        self._waiting.clear()

    def _serve(self, from_s: float, seconds: float, rate: float) -> Iterator[Completion]:
        left = rate * seconds
        while left > _NOTHING_ROWS and self._waiting:
            rows, first_s, last_s = self._waiting.popleft()
            served = min(rows, left)
            reached_s = first_s + (last_s - first_s) * served / rows
            until_s = from_s + served / rate
            yield Completion(
                rows=served,
                offered_from_s=first_s,
                offered_until_s=reached_s,
                arrived_from_s=from_s,
                at_s=until_s,
            )
            if rows - served > _NOTHING_ROWS:
                self._waiting.appendleft((rows - served, reached_s, last_s))
            from_s, left = until_s, left - served
