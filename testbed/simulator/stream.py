"""Input streams of an operator: from a source of the workflow, or from upstream operators."""

import math
from collections import deque
from typing import NamedTuple

from testbed.workloads.workload import Workload

#: Number of segments beyond which a topic merges its oldest ones, to bound its memory.
_SEGMENTS = 4096

_ROUNDING = 1e-6


class SourceStream:
    """Whole rows of a workload."""

    def __init__(self, workload: Workload) -> None:
        self.workload = workload
        self._cached_at_s, self._cached_rows = -math.inf, 0.0  # a trigger and a sample often coincide

    def offered_rows(self, at_s: float) -> float:
        """Return the whole rows offered until an instant, cumulative."""
        if at_s != self._cached_at_s:
            self._cached_at_s = at_s
            self._cached_rows = float(math.floor(self.workload.offered_rows(at_s) + _ROUNDING))
        return self._cached_rows

    def event_span(self, from_row: float, until_row: float) -> tuple[float, float]:
        """Return when the first and the last of these rows were offered, seconds."""
        # A row exists once it is whole, which is before a pause that begins with it.
        offered_at_s = self.workload.offered_at_s
        from_s = offered_at_s(math.nextafter(from_row + 1, 0.0))
        until_s = offered_at_s(math.nextafter(until_row, 0.0))
        return from_s, until_s if until_s > from_s else from_s

    def forget(self, until_row: float) -> None:
        """Do nothing: a workload is defined by its steps."""


class _Segment(NamedTuple):
    from_row: float
    until_row: float
    at_s: float
    event_from_s: float
    event_until_s: float


class Topic:
    """A topic between operators: one or more publish to it, one reads.

    It accepts all rows, as Kafka does. An engine with bounded buffers limits its producers.
    """

    def __init__(self) -> None:
        self._segments: deque[_Segment] = deque()
        self._published = 0.0
        self._consumed = 0.0

    def publish(self, rows: float, at_s: float, event_from_s: float, event_until_s: float) -> None:
        """Append rows."""
        until_row = self._published + rows
        if until_row <= self._published:
            return
        self._segments.append(_Segment(self._published, until_row, at_s, event_from_s, event_until_s))
        self._published = until_row
        if len(self._segments) > _SEGMENTS:
            self._coarsen()

    def offered_rows(self, at_s: float) -> float:
        """Return the rows published until an instant, cumulative, including consumed ones."""
        rows = self._published
        for segment in reversed(self._segments):
            if segment.at_s <= at_s:
                break
            rows = segment.from_row
        return rows

    def event_span(self, from_row: float, until_row: float) -> tuple[float, float]:
        """Return when the source rows of these rows entered the workflow: the earliest and the latest.

        Raises
        ------
        ValueError
            If they are not published yet, or forgotten.
        """
        spans = [
            (_event_s(segment, max(from_row, segment.from_row)), _event_s(segment, min(until_row, segment.until_row)))
            for segment in self._until(until_row)
            if segment.until_row > from_row
        ]
        if not spans:
            raise ValueError(f"rows {from_row:g} to {until_row:g} are not in the topic")
        return min(begin for begin, _ in spans), max(end for _, end in spans)

    def forget(self, until_row: float) -> None:
        """Drop the rows before this one, which are consumed."""
        self._consumed = max(self._consumed, min(until_row, self._published))
        segments = self._segments
        while segments and segments[0].until_row <= self._consumed:
            segments.popleft()

    def _until(self, until_row: float) -> list[_Segment]:
        found = []
        for segment in self._segments:
            if segment.from_row >= until_row:
                break
            found.append(segment)
        return found

    def _coarsen(self) -> None:
        pairs = list(self._segments)
        merged = (
            _Segment(
                one.from_row,
                other.until_row,
                other.at_s,
                min(one.event_from_s, other.event_from_s),
                max(one.event_until_s, other.event_until_s),
            )
            for one, other in zip(pairs[::2], pairs[1::2], strict=False)
        )
        left_over = pairs[-1:] if len(pairs) % 2 else []
        self._segments = deque([*merged, *left_over])


#: Rows in the order of their offer to an operator, numbered from 0.
Stream = SourceStream | Topic


def _event_s(segment: _Segment, row: float) -> float:
    share = (row - segment.from_row) / (segment.until_row - segment.from_row)
    return segment.event_from_s + share * (segment.event_until_s - segment.event_from_s)
