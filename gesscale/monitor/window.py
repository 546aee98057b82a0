"""Computes the reading of an operator over a window from its batches. Pure: the clock is an argument."""

import math
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from gesscale.batch_record import HostWork
from gesscale.common.errors import Problem
from gesscale.model.cycles import PATIENT_CYCLES, WINDOW_CYCLES, cycle_s
from gesscale.model.evidence import first_that_matters, mark_saturated, mark_warm
from gesscale.model.observation import Batch, MissingReading, NodeReading, OperatorReading
from gesscale.model.offered import OfferedPoint
from gesscale.monitor.batch_screen import ScreenedBatches
from gesscale.monitor.offered import (
    Idling,
    add_idle_point,
    add_rests,
    driver_points,
    idling,
    newest_run,
    rate_since,
    trigger_or_default_s,
)
from gesscale.monitor.useful_replicas import useful_replicas

_MIN_DURATION_S = 0.001  # Spark counts milliseconds
#: Code of a missing reading whose fields have `running_s`.
BATCH_RUNNING = "batch-running"


#: Computes the figures of each replica of a placement from the batches of a window and its length in seconds.
ByNode = Callable[[Sequence[Batch], tuple[str, ...], float], Mapping[str, NodeReading]]


def summarise(
    operator: str,
    screened: ScreenedBatches,
    *,
    now_s: float,
    window_s: float,
    stale_after_s: float,
    last_progress_at_s: float | None = None,
    running_s: float | None = None,
    cpu_share: float | None = None,
    by_node: ByNode | None = None,
) -> OperatorReading | MissingReading:
    """Compute the reading of an operator over the window that ends now.

    Parameters
    ----------
    window_s
        Length of the window, seconds; at least two cycles of the query. It contains the batches that ended in it; if
        there are none because the running batch takes longer, it contains the newest batch.
    stale_after_s
        Age from which figures are stale, seconds; at least three cycles of the query.
    last_progress_at_s
        When the query last reported progress, including idling; None if unknown.
    running_s
        How long a batch has been running; None if none is, or it is unknown.
    cpu_share
        CPU utilisation, if it is measured apart from the replicas.
    by_node
        Computes the figures of each replica; None if they are not measured.

    Notes
    -----
    `evidence` defines saturated and warm batches. Shares count each batch once. Rates and the busy share cover the time
    up to the end of the newest batch, not up to now, because the running batch is not known.
    """
    batches, problems = screened.batches, screened.problems
    if not batches:
        return _without_batches(operator, problems, running_s)
    newest, cycle = batches[-1], cycle_s(batches)
    window_s, stale_after_s = max(window_s, WINDOW_CYCLES * cycle), max(stale_after_s, PATIENT_CYCLES * cycle)
    progress_s = max(newest.ended_at_s, _past(last_progress_at_s, now_s))
    if (age_s := now_s - progress_s) > stale_after_s:
        stale = {"age_s": age_s, "max_age_s": stale_after_s} if running_s is None else {"running_s": running_s}
        return missing_reading(operator, "metrics-stale" if running_s is None else BATCH_RUNNING, stale=True, **stale)
    if not newest.nodes:
        return missing_reading(operator, "batch-without-hosts", batch_id=newest.batch_id)
    span = _span(batches, progress_s=progress_s, window_began_s=now_s - window_s)
    if span.until_s <= span.begin_s:
        return missing_reading(operator, "metrics-silent", stale=True, age_s=now_s - progress_s, window_s=window_s)
    return _reading(
        operator,
        screened,
        span,
        now_s=now_s,
        window_s=window_s,
        running_s=running_s,
        cpu_share=cpu_share,
        by_node=by_node,
    )


def _without_batches(operator: str, problems: Sequence[Problem], running_s: float | None) -> MissingReading:
    if problems:
        return missing_reading(operator, "batches-unusable", problems=len(problems), first=str(problems[0]))
    if running_s is not None:
        return missing_reading(operator, BATCH_RUNNING, running_s=running_s)
    return missing_reading(operator, "batches-missing")


def missing_reading(operator: str, code: str, /, *, stale: bool = False, **fields: Any) -> MissingReading:
    """Return why an operator has no reading."""
    return MissingReading(operator=operator, code=code, fields=fields, stale=stale)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Span:
    """The part of the record inside a window."""

    #: Index of its first batch; the number of batches if it has none.
    first: int
    #: The time in which the rows of these batches were processed, including idling (begin_s, until_s).
    begin_s: float
    until_s: float
    #: Whether the query has reported that it is idle since its newest batch.
    is_idle: bool


def _span(batches: Sequence[Batch], *, progress_s: float, window_began_s: float) -> _Span:
    newest = batches[-1]
    is_idle = progress_s - newest.ended_at_s >= trigger_or_default_s(newest)
    until_s = progress_s if is_idle else newest.ended_at_s
    first = bisect_right(batches, window_began_s, key=lambda batch: batch.ended_at_s)
    if first == len(batches) and is_idle:
        return _Span(first=first, begin_s=window_began_s, until_s=until_s, is_idle=is_idle)
    first = min(first, len(batches) - 1)
    began_s = batches[first].ended_at_s - max(batches[first].seconds, batches[first].trigger_s or 0.0)
    if first == 0:
        return _Span(first=first, begin_s=began_s, until_s=until_s, is_idle=is_idle)
    before = batches[first - 1]
    follows = batches[first].follows(before)
    resumes_after_idling = follows and batches[first].began_s - before.ended_at_s >= trigger_or_default_s(
        batches[first]
    )
    if follows and not resumes_after_idling:
        begin_s = before.ended_at_s
    else:
        begin_s = max(before.ended_at_s, min(window_began_s, began_s))
    return _Span(first=first, begin_s=begin_s, until_s=until_s, is_idle=is_idle)


def _reading(
    operator: str,
    screened: ScreenedBatches,
    span: _Span,
    *,
    now_s: float,
    window_s: float,
    running_s: float | None,
    cpu_share: float | None,
    by_node: ByNode | None,
) -> OperatorReading:
    batches = screened.batches
    newest = batches[-1]
    placement = tuple(sorted(set(newest.nodes)))
    inside, run = batches[span.first :], newest_run(batches)
    points = driver_points(run)
    idle = idling(points, newest, span.until_s) if span.is_idle else None
    add_rests(points, run, now_s - window_s)
    if idle is not None and idle.most_rows == 0 and newest.offered_rows_total is not None:
        add_idle_point(points, span.until_s)
    began = [batch.began_s for batch in inside]
    duration_s = max(_MIN_DURATION_S, span.until_s - span.begin_s - _gap_s(inside))
    busy_s = sum([batch.ended_at_s - max(at_s, span.begin_s) for batch, at_s in zip(inside, began, strict=True)])
    since = first_that_matters(batches, span.first)
    recent, skipped = batches[since:], span.first - since
    is_saturated, is_warm = mark_saturated(recent)[skipped:], mark_warm(recent)[skipped:]
    nodes = by_node(inside, placement, duration_s) if by_node else {}
    return OperatorReading(
        operator=operator,
        at_s=now_s,
        placement=placement,
        offered_points=tuple(points),
        input_rows_per_s=_input_rows_per_s(points, inside, now_s - window_s, idle),
        throughput_rows_per_s=sum([batch.rows for batch in inside]) / duration_s,
        backlog_rows=newest.backlog_rows,
        saturated_share=sum(is_saturated) / len(inside) if inside else 0.0,
        busy_share=min(1.0, busy_s / duration_s),
        output_rows_per_s=_output_rows_per_s(inside, newest, duration_s),
        cpu_share=_mean_cpu(nodes.values()) if cpu_share is None else cpu_share,
        by_node=nodes,
        warm_batches=tuple(
            batch
            for batch, at_s, evidence in zip(inside, began, is_warm, strict=True)
            if evidence and not batch.fixed_slots and at_s >= now_s - window_s
        ),
        batches=batches,
        trigger_s=newest.trigger_s,
        useful_replicas=useful_replicas(
            run, [batch for batch, full, warm in zip(inside, is_saturated, is_warm, strict=True) if full and warm]
        ),
        busiest_share=_busiest_share(by_node, [batch for batch in inside if batch.is_late], placement),
        fixed_slots=bool(newest.fixed_slots),
        idle_at_s=span.until_s if span.is_idle else None,
        running_s=running_s,
        problem=str(screened.newest_problem) if screened.newest_problem else "",
    )


def _mean_cpu(nodes: Collection[NodeReading]) -> float | None:
    shares = [each.cpu_share for each in nodes if each.cpu_share is not None]
    return sum(shares) / len(shares) if shares and len(shares) == len(nodes) else None


def _busiest_share(by_node: ByNode | None, late: Sequence[Batch], placement: tuple[str, ...]) -> float | None:
    """Return the mean share of the busiest replica; over several batches the largest partition may move."""
    if by_node is None or len(placement) < 2:
        return None
    shares = []
    for batch in late:
        work = by_node((batch,), placement, math.ceil(batch.ended_at_s)).values()  # so long that no share reaches 1
        rows, busy = [each.throughput_rows_per_s for each in work], [each.busy_share for each in work]
        shares += [max(max(each) / sum(each) for each in (rows, busy) if sum(each))] if sum(rows) else []
    return min(1.0, sum(shares) / len(shares)) if shares else None


def _output_rows_per_s(inside: Sequence[Batch], newest: Batch, duration_s: float) -> float | None:
    known = [batch.output_rows for batch in inside if batch.output_rows is not None]
    return sum(known) / duration_s if len(known) == len(inside) and newest.output_rows is not None else None


def _input_rows_per_s(
    points: Sequence[OfferedPoint], inside: Sequence[Batch], window_began_s: float, idle: Idling | None
) -> float | None:
    if not points and not inside and idle is not None and idle.most_rows == 0:
        return 0.0
    if not points or (inside and points[-1].at_s < inside[0].began_s):
        return None
    return rate_since(points, window_began_s, idle)


def _gap_s(inside: Sequence[Batch]) -> float:
    """Return the time of batches that are missing from the record; a restart of the query does not count."""
    return sum(
        max(0.0, batch.began_s - before.ended_at_s)
        for before, batch in pairwise(inside)
        if batch.batch_id > before.batch_id + 1
    )


def _past(instant_s: float | None, now_s: float) -> float:
    if instant_s is None or not math.isfinite(instant_s):
        return -math.inf
    return min(instant_s, now_s)


@dataclass(frozen=True, slots=True)
class WorkByNode:
    """Figures of each replica from the recorded work; a `ByNode`."""

    #: Work by end of the batch and node; only batches that report it.
    work: Mapping[float, Mapping[str, HostWork]] = field(default_factory=dict)

    def __call__(self, batches: Sequence[Batch], placement: Sequence[str], seconds: float) -> Mapping[str, NodeReading]:
        """Return the figures of each replica of a placement; empty if a batch does not report them."""
        known = [self.work[batch.ended_at_s] for batch in batches if batch.ended_at_s in self.work]
        if not self.work or len(known) < len(batches):
            return {}
        newest = known[-1] if known else {}
        has_cpu = all(each.cpu_s is not None for work in known for each in work.values())
        has_state = any(work.state_partitions is not None for work in newest.values())
        return {
            node: _node_reading(
                (work[node] for work in known if node in work),
                seconds,
                has_cpu,
                (newest[node].state_partitions if node in newest else 0) if has_state else None,
            )
            for node in placement
        }


def _node_reading(work: Iterable[HostWork], seconds: float, has_cpu: bool, state_partitions: int | None) -> NodeReading:
    rows = busy_s = cpu_s = 0.0
    for each in work:
        rows += each.rows
        busy_s += each.busy_s
        cpu_s += each.cpu_s or 0.0
    return NodeReading(
        throughput_rows_per_s=rows / seconds,
        busy_share=min(1.0, busy_s / seconds),
        cpu_share=min(1.0, cpu_s / seconds) if has_cpu else None,
        state_partitions=state_partitions,
    )
