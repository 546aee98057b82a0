"""The record of a query that a backtest plays: its batches, its load, and what it cost."""

from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from gesscale.common.errors import Problem
from gesscale.errors import InputError
from gesscale.model.observation import Batch
from gesscale.model.workflow import BatchCap
from gesscale.policies.gesscale.analysis.batch_caps import find_cap
from gesscale.spark.triggers import interval_of_starts
from testbed.workloads.workload import Workload

#: Batches by which a trigger interval and a cap are recognised; a late start hides the interval of its stretch
#: (_STRETCH, _EQUAL_BATCHES).
_STRETCH, _EQUAL_BATCHES = 16, 3
_STEP_S, _MAX_STEPS = 1.0, 200_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What a time cost: replicas in the mean, minutes with late rows, changes of the replicas, and replica-hours."""

    replicas: float
    late_min: float
    changes: float
    replica_h: float


@dataclass(frozen=True, kw_only=True)
class RecordedQuery:
    """A query as recorded, with seconds since the epoch.

    Raises
    ------
    InputError
        If it has fewer than two batches, or its trigger interval is not known.
    """

    name: str
    #: Screened, oldest first; their nodes are executors.
    batches: tuple[Batch, ...]
    trigger_s: float
    #: The cap on the rows of a batch; None if no batch showed one.
    cap: BatchCap | None = None
    #: Why the rows of a source are unknown: then the rows that were read are taken for the load.
    source_problem: Problem | None = None

    @cached_property
    def span_s(self) -> tuple[float, float]:
        """When its first batch began, and when its last one ended."""
        return self.batches[0].began_s, self.batches[-1].ended_at_s

    @cached_property
    def offered(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Instants, and the rows offered by then; they never decrease."""
        at_s, totals, base = [self.batches[0].began_s], [0.0], 0.0
        before: Batch | None = None
        for batch in self.batches:
            if before is not None and batch.restarted_since(before):
                base = totals[-1] - (before.backlog_rows or 0.0)
            if batch.offered_rows_total is None:
                at_s.append(batch.began_s)
                totals.append(totals[-1] + batch.rows)
            else:
                at_s.append(batch.began_s)
                totals.append(base + batch.offered_rows_total)
            before = batch
        instants, rows = np.array(at_s[1:]), np.maximum.accumulate(totals[1:])
        kept = np.concatenate([[True], np.diff(instants) > 0])
        return instants[kept], rows[kept]

    def workload(self, from_s: float) -> Workload:
        """Return the load from an instant on; rows that waited before are left out."""
        at_s, totals = self.offered
        until_s = self.span_s[1]
        step_s = max(_STEP_S, (until_s - from_s) / _MAX_STEPS)
        grid = np.arange(from_s, until_s + step_s, step_s)
        rates = np.diff(np.interp(grid, at_s, totals)) / step_s
        return Workload(name=self.name, step_s=step_s, rows_per_s=tuple(rates.tolist()), absolute=True)

    def replicas_at(self, at_s: float) -> int:
        """Return the executors of the batch that ran at an instant."""
        ended = bisect_right(self.batches, at_s, key=lambda batch: batch.ended_at_s)
        return len(self.batches[min(ended, len(self.batches) - 1)].nodes)

    @property
    def max_replicas(self) -> int:
        """The most executors that a batch had."""
        return max(len(batch.nodes) for batch in self.batches)

    def usage(self, from_s: float, slo_s: float) -> Usage:
        """Return what the query cost from an instant on."""
        batches = [batch for batch in self.batches if batch.ended_at_s > from_s]
        edges_s = [from_s, *(batch.ended_at_s for batch in batches)]
        seconds = edges_s[-1] - edges_s[0]
        lasted_s = (end_s - begin_s for begin_s, end_s in pairwise(edges_s))
        held = sum(len(batch.nodes) * each_s for batch, each_s in zip(batches, lasted_s, strict=True))
        return Usage(
            replicas=held / seconds,
            late_min=self._late_s(from_s, slo_s) / 60,
            changes=float(sum(len(one.nodes) != len(other.nodes) for one, other in pairwise(batches))),
            replica_h=held / 3600,
        )

    def _late_s(self, from_s: float, slo_s: float) -> float:
        """Return the time in which the oldest row that is not processed is older than the objective."""
        at_s, totals = self.offered
        late_s = 0.0
        done = totals[0] - (self.batches[0].backlog_rows or 0.0) - self.batches[0].rows
        for before, batch in pairwise((None, *self.batches)):
            assert batch is not None  # noqa: S101 - for mypy
            due_s = float(np.interp(min(done + 1, totals[-1]), totals, at_s))
            begin_s = max(from_s, due_s + slo_s, from_s if before is None else before.ended_at_s)
            late_s += max(0.0, batch.ended_at_s - begin_s) if batch.rows else 0.0
            done += batch.rows
        return late_s


def recorded_query(
    name: str,
    batches: Sequence[Batch],
    *,
    trigger_s: float | None = None,
    cap_rows: int | None = None,
    source_problem: Problem | None = None,
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
    return RecordedQuery(name=name, batches=known, trigger_s=trigger_s, cap=cap, source_problem=source_problem)


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
    seen = (find_cap(None, each).cap for each in stretches)
    rows = max((cap.rows for cap in seen if cap is not None), default=0)
    is_exceeded = any(batch.rows > 1.01 * rows for batch in batches)
    return None if not rows or is_exceeded else BatchCap(rows=rows)
