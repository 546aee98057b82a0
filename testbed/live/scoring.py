"""Scores a live run from its record, as the arena scores a simulated one."""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from statistics import fmean
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from gesscale.errors import ClusterError
from gesscale.model.decision import Reason
from gesscale.model.observation import Batch
from testbed.arena.case import Case, CaseResult
from testbed.arena.runner import RunScorer, result_of
from testbed.arena.worlds.scenes import World
from testbed.live.record import Record
from testbed.scoring.sample import Completion, Sample


class Schedule(Protocol):
    """Due times of the rows of a run; rows are numbered in the order of their processing."""

    @property
    def rows_total(self) -> int:
        """Rows to process."""
        ...

    def offered_rows(self, now_s: float) -> int:
        """Return the number of rows that are due by an instant, seconds since the epoch."""
        ...

    def rows_due_at_s(self, rows: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return when these rows are due, seconds since the epoch."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveRun:
    """The recorded run of a case; its zero of time is when the first row was due."""

    #: Batches, decisions and changes of its only operator.
    record: Record
    #: Due times of the rows.
    schedule: Schedule
    #: Surplus rows in the sink, such as duplicates, and missing ones (rows_doubled, rows_lost).
    rows_doubled: int
    rows_lost: int

    @property
    def drained(self) -> bool:
        """True if every row was processed."""
        return self.record.processed_rows >= self.schedule.rows_total

    def ended_s(self, measured_s: float) -> float:
        """Return the end of the run: all rows processed or time limit, and not before the end of the measurement."""
        last_at_s = self.record.ordered[-1].ended_at_s
        if not self.drained:
            last_at_s = max([last_at_s, *(decision.at_s for decision in self.record.decisions)])
        return max(measured_s, self.record.since_start_s(last_at_s))


def result_of_run(
    run: LiveRun, case: Case, world: World, *, with_series: bool, late_start_counts: bool = False
) -> CaseResult:
    """Score a live run by the arena's scorer.

    Parameters
    ----------
    late_start_counts
        Score a run whose loop started after the load, too.

    Raises
    ------
    ClusterError
        If batches are missing in the record, or the loop started after the load.
    """
    failed = [each for each in run.record.decisions if each.plan.reason is Reason.POLICY_FAILED]
    if failed:
        return CaseResult(case=case, lost=f"the policy failed in {len(failed)} steps: {failed[0].sentence}")
    _require_whole(run.record.ordered)
    if not late_start_counts:
        _require_in_time(run.record, world.scene.period_s)
    (operator,) = world.scene.initial
    scorer = RunScorer(world, restart_is_supply=True, with_series=with_series)
    ended_s = run.ended_s(world.scene.duration_s)
    for sample in _samples(run, world, operator, ended_s):
        scorer.on_sample(operator, sample)
    for completion in _completions(run):
        scorer.on_completion(completion)
    result = result_of(case, world, scorer, ended_s)
    rows = {"rows_doubled": run.rows_doubled, "rows_lost": run.rows_lost}
    return replace(result, metrics={**result.metrics, **rows})


def _require_whole(batches: Sequence[Batch]) -> None:
    recorded = {batch.batch_id for batch in batches}
    missing = [number for number in range(max(recorded, default=0) + 1) if number not in recorded]
    if missing:
        raise ClusterError(
            "batches-not-recorded", missing=len(missing), last=max(recorded, default=0), first=missing[0]
        )


def _require_in_time(record: Record, period_s: float) -> None:
    late_s = record.since_start_s(min(decision.at_s for decision in record.decisions))
    if late_s > period_s:
        raise ClusterError("first-step-late", late_s=late_s, period_s=period_s)


def _samples(run: LiveRun, world: World, operator: str, ended_s: float) -> Iterator[Sample]:
    """Yield a sample for each interval between the arena's sample times and orders.

    Rows count as processed at the end of their batch, as in the simulator.
    """
    scene, record, best = world.scene, run.record, world.best[operator]
    batches = record.ordered
    ends_s = [record.since_start_s(batch.ended_at_s) for batch in batches]
    totals = [0, *accumulate(batch.rows for batch in batches)]
    orders_s = [max(0.0, record.since_start_s(order.at_s)) for order in record.rescales]
    kept = [len(scene.initial[operator]), *(order.replicas for order in record.rescales)]
    placed = list(
        accumulate(
            record.rescales,
            lambda nodes, order: (nodes | {*order.added}) - {*order.removed},
            initial=frozenset(scene.initial[operator]),
        )
    )
    grid = np.arange(0.0, ended_s, scene.sample_s).tolist()
    edges_s = sorted({*grid, *(at_s for at_s in orders_s if at_s < ended_s), scene.duration_s, ended_s})
    for from_s, until_s in pairwise(edges_s):
        seconds = until_s - from_s
        offered = [run.schedule.offered_rows(record.began_at_s + at_s) for at_s in (from_s, until_s)]
        done = [totals[bisect_right(ends_s, at_s)] for at_s in (from_s, until_s)]
        ended = bisect_right(ends_s, from_s)
        order = bisect_right(orders_s, from_s)
        supply, nodes = kept[order], placed[order]
        rate = (offered[1] - offered[0]) / seconds
        yield Sample(
            t_s=from_s,
            demand_replicas=best.smallest_for(rate)[0],
            supply_replicas=supply,
            serving_replicas=min(supply, len(batches[ended - 1].nodes)) if ended else kept[0],
            input_rows_per_s=rate,
            processed_rows_per_s=(done[1] - done[0]) / seconds,
            reconfigurations=orders_s.count(from_s),
            supply_price=supply * fmean(scene.nodes[node].price for node in nodes) if nodes else None,
        )


def _completions(run: LiveRun) -> Iterator[Completion]:
    """Yield the rows of each batch, which complete at its end."""
    record, schedule, first_row = run.record, run.schedule, 0
    for batch in record.ordered:
        if batch.rows:
            rows = np.array([first_row, first_row + batch.rows - 1])
            oldest_s, newest_s = schedule.rows_due_at_s(rows) - record.began_at_s
            yield Completion(
                rows=batch.rows,
                offered_from_s=float(oldest_s),
                offered_until_s=float(newest_s),
                at_s=record.since_start_s(batch.ended_at_s),
            )
        first_row += batch.rows
