"""Age of the oldest row that is not yet through, and the time in which it exceeded the objective.

A row is through when its batch has ended. Sources hand rows out in the order in which they were offered, so the oldest
waiting row is the one after those that all ended batches processed, and the curve of offered rows has its instant.
Between two known points of the curve rows are assumed to have been offered evenly.
"""

import math
from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import NamedTuple

from gesscale.model.observation import Batch, MissingReading, OperatorReading, RowAge, WorkflowObservation
from gesscale.model.offered import OfferedPoint, offered_rate
from gesscale.model.workflow import Workflow
from gesscale.monitor.offered import trigger_or_default_s
from gesscale.monitor.window import BATCH_RUNNING

_ROWS = attrgetter("rows")
#: Points over which the rate is taken that shows when the next row is due.
_RECENT_POINTS = 11
#: Limit of the curve; beyond it every second point is dropped.
_MAX_POINTS = 4096


class OldestRow(NamedTuple):
    """A span of time in which the instant when the oldest waiting row was offered moves linearly."""

    from_s: float
    until_s: float
    #: When the oldest row at the begin and at the end of the span was offered.
    offered_from_s: float
    offered_until_s: float

    def part(self, from_s: float, until_s: float) -> "OldestRow":
        """Return the part between two instants."""
        return OldestRow(from_s, until_s, self.offered_s(from_s), self.offered_s(until_s))

    def offered_s(self, at_s: float) -> float:
        """Return when the oldest row at an instant was offered."""
        rise_s = self.offered_until_s - self.offered_from_s
        if rise_s == 0:
            return self.offered_from_s
        return self.offered_from_s + rise_s * (at_s - self.from_s) / (self.until_s - self.from_s)

    def late_part(self, objective_s: float) -> "OldestRow | None":
        """Return the part in which the row is older than an objective; None if it never is."""
        begin_s = self.from_s - self.offered_from_s - objective_s
        end_s = self.until_s - self.offered_until_s - objective_s
        if max(begin_s, end_s) <= 0:
            return None
        if min(begin_s, end_s) >= 0:
            return self
        crossed_s = self.from_s + (self.until_s - self.from_s) * begin_s / (begin_s - end_s)
        return self.part(crossed_s, self.until_s) if end_s > 0 else self.part(self.from_s, crossed_s)


@dataclass(slots=True)
class RowAgeMeter:
    """Follows the rows of one operator from step to step.

    It keeps the curve of offered rows as far back as rows wait, and counts each batch once, however many steps see it.
    A query that resumes from its checkpoint continues the count.
    """

    #: Seconds in which the oldest row was older than the objective, since the first reading; None before it is known.
    late_s: float | None = None
    #: The part of it until the end of the newest batch.
    ended_s: float = 0.0
    _since_s: float | None = None
    _newest: Batch | None = None
    _base: float = 0.0  # rows through before the counters of the present run of the query
    _through: float = 0.0
    _points: list[OfferedPoint] = field(default_factory=list)

    def measure(self, reading: OperatorReading, objective_s: float) -> RowAge:
        """Return the age of the rows of a reading; it is unknown if the sources do not report offered rows."""
        if self._since_s is None:
            self._since_s = reading.at_s
        if self._newest is not None and reading.batches[-1].ended_at_s < self._newest.ended_at_s:
            self._newest = None  # the clock was set back
        for batch in reading.batches:
            if self._newest is None or batch.ended_at_s > self._newest.ended_at_s:
                self.add(batch, objective_s)
        self._add_newer_points(reading)
        return self._age(reading.at_s, objective_s, reading.running_s, idles=reading.idle_at_s is not None)

    def measure_without(self, missing: MissingReading, at_s: float, objective_s: float) -> RowAge:
        """Return the age of the rows without a reading: it is known as long as a batch runs that the driver reports."""
        running_s = missing.fields.get("running_s") if missing.code == BATCH_RUNNING else None
        if running_s is None:
            return RowAge(objective_s=objective_s, late_s=self.late_s)
        if self._newest is None:
            return RowAge(objective_s=objective_s, seconds=running_s, is_least=True, late_s=self.late_s)
        return self._age(at_s, objective_s, running_s, idles=False)

    def _age(self, at_s: float, objective_s: float, running_s: float | None, *, idles: bool) -> RowAge:
        offered_s = self._open_offered_s(at_s, running_s, idles=idles)
        if self._newest is None or offered_s is None or self._newest.fixed_slots:
            return RowAge(objective_s=objective_s, late_s=self.late_s)
        waiting = OldestRow(self._newest.ended_at_s, at_s, offered_s, offered_s)
        self.late_s = max(self.late_s or 0.0, self.ended_s + self._late_s(waiting, objective_s))
        is_least = self._through + 1 <= self._points[0].rows
        return RowAge(objective_s=objective_s, seconds=at_s - offered_s, is_least=is_least, late_s=self.late_s)

    def add(self, batch: Batch, objective_s: float) -> None:
        """Add the next batch."""
        before, self._newest = self._newest, batch
        offered, processed = batch.offered_rows_total, batch.processed_rows_total
        if offered is None or processed is None:
            self._newest = None
            return
        restarted = before is not None and (
            batch.restarted_since(before) or (batch.is_first_of_run and self._through - self._base >= 1)
        )
        if before is None or (restarted and batch.batch_id != before.batch_id + 1):
            self._base, self._points = 0.0, [OfferedPoint(batch.began_s, offered)]
            self._through = processed
            return
        if restarted:
            self._base = self._through
        elif self._rested(batch, before):
            idle_until_s = batch.began_s - trigger_or_default_s(batch)
            self._append([OfferedPoint(idle_until_s, self._base + (before.offered_rows_total or 0.0))])
        self._append([OfferedPoint(batch.began_s, self._base + offered)])
        reached = max(self._through, self._base + processed - batch.rows)  # more if batches between were not seen
        offered_s = [min(self._offered_s(each), batch.ended_at_s) for each in (self._through, reached)]
        self.ended_s += self._late_s(OldestRow(before.ended_at_s, batch.ended_at_s, *offered_s), objective_s)
        self._through = self._base + processed
        self._forget_old_points()

    def _rested(self, batch: Batch, before: Batch) -> bool:
        """Return whether the query looked for rows one trigger interval before a batch, and found none."""
        left = before.backlog_rows or 0.0
        return left < 1 and batch.follows(before) and batch.began_s - before.ended_at_s >= trigger_or_default_s(batch)

    def _add_newer_points(self, reading: OperatorReading) -> None:
        if self._newest is None:
            return
        began_s, offered = self._newest.began_s, self._newest.offered_rows_total or 0.0
        newer = [point for point in reading.offered_points if point.at_s > began_s]
        if reading.idle_at_s is not None and all(point.rows <= offered for point in newer):
            newer = [OfferedPoint(reading.idle_at_s, offered)]
        self._append(OfferedPoint(point.at_s, self._base + point.rows) for point in newer)

    def _append(self, points: Iterable[OfferedPoint]) -> None:
        """Add points of the curve, in place of those that they contradict."""
        for point in points:
            while len(self._points) > 1 and (self._points[-1].at_s >= point.at_s or self._points[-1].rows > point.rows):
                self._points.pop()
            if self._points[-1].at_s < point.at_s:
                self._points.append(point)

    def _offered_s(self, through: float) -> float:
        """Return when the next row was offered, at the latest; infinite if that is after the curve."""
        index = bisect_left(self._points, through + 1, key=_ROWS)
        if index in {0, len(self._points)}:
            return math.inf if index else self._points[0].at_s
        (before_s, before), (after_s, after) = self._points[index - 1 : index + 1]
        return before_s + (after_s - before_s) * (through + 1 - before) / (after - before)

    def _open_offered_s(self, at_s: float, running_s: float | None, *, idles: bool) -> float | None:
        """Return when the oldest row that waits now was offered; now if none waits, None if it is unknown.

        The rows since the newest batch began are not known before the next one ends. They come at the rate of late,
        unless the query reports that it is idle.
        """
        if not self._points:
            return None
        known_s = self._offered_s(self._through)
        if known_s < math.inf:
            return min(known_s, at_s)
        if idles and running_s is None:
            return at_s
        newest = self._points[-1]
        rate = offered_rate(self._points, self._points[-_RECENT_POINTS:][0].at_s)
        if rate is None and running_s is None:
            return None
        due_s = newest.at_s + (self._through + 1 - newest.rows) / rate if rate else math.inf
        running_since_s = math.inf if running_s is None else at_s - running_s
        return min(max(newest.at_s, min(due_s, running_since_s)), at_s)

    def _late_s(self, span: OldestRow, objective_s: float) -> float:
        """Return the time of a span, since counting began, in which its row is late."""
        begin_s = max(span.from_s, self._since_s or 0.0)
        if begin_s >= span.until_s:
            return 0.0
        late = span.part(begin_s, span.until_s).late_part(objective_s)
        return 0.0 if late is None else late.until_s - late.from_s

    def _forget_old_points(self) -> None:
        """Drop the points before the oldest waiting row that no rate needs."""
        index = bisect_left(self._points, self._through + 1, key=_ROWS)
        del self._points[: max(0, min(index - 1, len(self._points) - _RECENT_POINTS))]
        if len(self._points) > _MAX_POINTS:
            del self._points[1:-1:2]


@dataclass(frozen=True, slots=True)
class RowAges:
    """The meters of the operators of a workflow."""

    meters: dict[str, RowAgeMeter] = field(default_factory=dict)

    def measure(self, observation: WorkflowObservation, workflow: Workflow) -> WorkflowObservation:
        """Return an observation with the age of the rows of every operator."""
        ages = {}
        for name in workflow.operators:
            meter, objective_s = self.meters.setdefault(name, RowAgeMeter()), workflow.objective_s(name)
            if (reading := observation.readings.get(name)) is not None:
                ages[name] = meter.measure(reading, objective_s)
            elif (missing := observation.missing_readings.get(name)) is not None:
                ages[name] = meter.measure_without(missing, observation.at_s, objective_s)
        return replace(observation, row_ages=ages)
