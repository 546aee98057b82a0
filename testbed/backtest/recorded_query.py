"""The record of a query that a backtest plays: its batches, its load, and what it cost."""

from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gesscale.errors import InputError
from gesscale.model.observation import Batch
from gesscale.model.workflow import BatchCap
from gesscale.policies.gesscale.analysis.batch_caps import find_cap
from gesscale.spark.triggers import interval_of_starts
from testbed.workloads.user_csv import MAX_DAYS
from testbed.workloads.workload import Workload

#: Batches by which a trigger interval and a cap are recognised; a late start hides the interval of its stretch
#: (_STRETCH, _EQUAL_BATCHES).
_STRETCH, _EQUAL_BATCHES = 16, 3
_STEP_S, _MAX_STEPS = 1.0, 200_000


class Usage(NamedTuple):
    """What a time cost: replicas in the mean, minutes with late rows, changes of the replicas, and replica-hours."""

    replicas: float
    late_min: float
    changes: float
    replica_h: float


class Offered(NamedTuple):
    """Instants, seconds since the epoch, and the rows offered by then, which never decrease."""

    at_s: NDArray[np.float64]
    rows: NDArray[np.float64]
    #: Rows that waited at the first instant.
    waiting: float


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedQuery:
    """A query as recorded.

    Raises
    ------
    InputError
        If it is longer than a load may be, as with a wrong time.
    """

    name: str
    #: Screened, oldest first; each has executors, which are its nodes.
    batches: tuple[Batch, ...]
    offered: Offered
    trigger_s: float
    #: The cap on the rows of a batch; None if no batch showed one.
    cap: BatchCap | None = None

    def __post_init__(self) -> None:
        days = (self.span_s[1] - self.span_s[0]) / 86_400
        if not 0 < days <= MAX_DAYS:
            raise InputError("load-too-long", source=self.name, max_days=MAX_DAYS, got_days=days)

    @property
    def span_s(self) -> tuple[float, float]:
        """When its first batch began, and when its last one ended."""
        return self.batches[0].began_s, self.batches[-1].ended_at_s

    def workload(self, from_s: float) -> Workload:
        """Return the load from an instant on; rows that waited before are left out."""
        until_s = self.span_s[1]
        step_s = max(_STEP_S, (until_s - from_s) / _MAX_STEPS)
        grid = np.arange(from_s, until_s + step_s, step_s)
        rates = np.diff(np.interp(grid, self.offered.at_s, self.offered.rows)) / step_s
        return Workload(name=self.name, step_s=step_s, rows_per_s=tuple(rates.tolist()), absolute=True)

    def replicas_at(self, at_s: float) -> int:
        """Return the executors of the batch that ran at an instant."""
        ended = bisect_right(self.batches, at_s, key=lambda batch: batch.ended_at_s)
        return len(self.batches[min(ended, len(self.batches) - 1)].nodes)

    def usage(self, from_s: float, slo_s: float) -> Usage:
        """Return what the query cost from an instant on."""
        replica_s = late_s = 0.0
        changes, before_s, held = 0, self.span_s[0], len(self.batches[0].nodes)
        done = self.offered.rows[0] - self.offered.waiting
        for batch in self.batches:
            begin_s, end_s = max(from_s, before_s), batch.ended_at_s
            due_s = float(np.interp(min(done + 1, self.offered.rows[-1]), self.offered.rows, self.offered.at_s))
            if end_s > begin_s:
                replica_s += len(batch.nodes) * (end_s - begin_s)
                changes += len(batch.nodes) != held
                late_s += max(0.0, end_s - max(begin_s, due_s + slo_s)) if batch.rows else 0.0
            before_s, held, done = end_s, len(batch.nodes), done + batch.rows
        return Usage(replica_s / (before_s - from_s), late_s / 60, float(changes), replica_s / 3600)


def recorded_query(
    name: str, batches: Sequence[Batch], *, trigger_s: float | None = None, cap_rows: int | None = None
) -> RecordedQuery:
    """Return a query from its batches in the order in which they ended; what is not given is found in them.

    Raises
    ------
    InputError
        If there are too few of them, or they show no trigger interval.
    """
    if len(batches) < 2:
        raise InputError("backtest-batches-missing", source=name, got=len(batches))
    if not any(batch.nodes for batch in batches):
        raise InputError("backtest-executors-missing", source=name)
    trigger_s = trigger_s or batches[-1].trigger_s or _trigger_s(batches)
    if trigger_s is None:
        raise InputError("backtest-trigger-unknown", source=name)
    known = tuple(replace(batch, trigger_s=trigger_s) for batch in batches if batch.nodes)
    cap = BatchCap(rows=cap_rows) if cap_rows else _cap(known)
    return RecordedQuery(name=name, batches=known, offered=_offered(known), trigger_s=trigger_s, cap=cap)


def _offered(batches: Sequence[Batch]) -> Offered:
    """Return the rows that were offered when each batch began; without offsets those that were read by then."""
    totals, base = [0.0], 0.0
    for before, batch in pairwise((batches[0], *batches)):
        if batch is not before and batch.restarted_since(before):
            base = totals[-1] - (before.backlog_rows or 0.0)
        known = batch.offered_rows_total
        totals.append(totals[-1] + batch.rows if known is None else base + known)
    at_s, rows = np.array([batch.began_s for batch in batches]), np.maximum.accumulate(totals[1:])
    kept = np.concatenate([[True], np.diff(at_s) > 0])
    return Offered(at_s[kept], rows[kept], batches[0].rows + (batches[0].backlog_rows or 0.0))


def _trigger_s(batches: Sequence[Batch]) -> float | None:
    """Return the interval that most stretches of batches show."""
    periods = [(batch.began_s, batch.ended_at_s) for batch in batches]
    stretches = [periods[at : at + _STRETCH] for at in range(0, len(periods), _STRETCH // 2)]
    found = Counter(interval for each in stretches if (interval := interval_of_starts(each)) is not None)
    return found.most_common(1)[0][0] if found else None


def _cap(batches: Sequence[Batch]) -> BatchCap | None:
    """Return the cap that batches report or show."""
    last = find_cap(None, batches[-_STRETCH:]).cap
    if last is not None:
        return last
    stretches = (batches[at - _EQUAL_BATCHES : at] for at in range(_EQUAL_BATCHES, len(batches) + 1))
    rows = max((cap.rows for each in stretches if (cap := find_cap(None, each).cap) is not None), default=0)
    is_exceeded = any(batch.rows > 1.01 * rows for batch in batches)
    return None if not rows or is_exceeded else BatchCap(rows=rows)
