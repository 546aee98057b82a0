"""Batches of one operator become its reading over a window. Pure: the clock is an argument."""

import math
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from gesscale.batch_record import HostWork
from gesscale.model.evidence import saturated, warm
from gesscale.model.observation import Batch, MissingReading, NodeReading, OperatorReading
from gesscale.monitor.screen import Screened

_UNKNOWN_TRIGGER_S = 1.0
_LEAST_S = 0.001  # Spark counts milliseconds


#: Tells the figures of each replica of a placement from the batches of a window and the seconds they stand
#: for.
ByNode = Callable[[Sequence[Batch], tuple[str, ...], float], Mapping[str, NodeReading]]


def summarise(
    operator: str,
    screened: Screened,
    *,
    now_s: float,
    window_s: float,
    stale_after_s: float,
    last_progress_at_s: float | None = None,
    cpu_share: float | None = None,
    by_node: ByNode | None = None,
) -> OperatorReading | MissingReading:
    """Read an operator over the window that ends now.

    Parameters
    ----------
    window_s
        Length of the window, seconds; it holds the batches that ended in it, and where none did because
        one batch takes longer than that, the newest batch.
    last_progress_at_s
        When the query last said anything, idling included; None where that is not known.
    by_node
        Tells what was measured of single replicas; None where nothing was.

    Notes
    -----
    Rules: specification section 3; `evidence` has those for saturated and warm batches. Shares count batches,
    each once. Rates and the busy share cover the time up to the end of the newest batch, not up to now,
    because a batch that still runs is not known.
    """
    kept, faults = screened.batches, screened.faults
    if not kept:
        first = f"none of its batches can be used, {len(faults)} faults, the first: {faults[0]}" if faults else ""
        detail = first or "no batch has ended yet"
        return MissingReading(operator=operator, detail=detail)
    newest = kept[-1]
    heard_s = max(newest.ended_at_s, _past(last_progress_at_s, now_s))
    if now_s - heard_s > stale_after_s:
        detail = f"its newest figures are {now_s - heard_s:.0f} s old, {stale_after_s:g} s are allowed"
        return MissingReading(operator=operator, detail=detail, stale=True)
    if not newest.nodes:
        detail = f"batch {newest.batch_id} names no host of a replica"
        return MissingReading(operator=operator, detail=detail)
    span = _span(kept, heard_s=heard_s, window_began_s=now_s - window_s)
    if span.until_s <= span.begin_s:
        detail = f"it idled {now_s - heard_s:.0f} s ago, before the window of {window_s:g} s, and is silent since"
        return MissingReading(operator=operator, detail=detail, stale=True)
    reading = _reading(operator, kept, span, now_s=now_s, window_s=window_s, cpu_share=cpu_share, by_node=by_node)
    return replace(reading, doubt=screened.doubt) if screened.doubt else reading


@dataclass(frozen=True, slots=True, kw_only=True)
class _Span:
    """The part of the record that a window covers."""

    #: Index of the first batch that belongs to it; the number of batches where none does.
    first: int
    #: The time in which these batches' rows were processed, idling included (begin_s, until_s).
    begin_s: float
    until_s: float
    #: Whether the query said that it idles since its newest batch.
    idles: bool
    #: Whether the query idled between the batch before the first and the first.
    rested: bool = False


def _span(kept: Sequence[Batch], *, heard_s: float, window_began_s: float) -> _Span:
    newest = kept[-1]
    idles = heard_s - newest.ended_at_s >= _trigger_s(newest)
    until_s = heard_s if idles else newest.ended_at_s
    first = bisect_right(kept, window_began_s, key=lambda batch: batch.ended_at_s)
    if first == len(kept) and idles:
        return _Span(first=first, begin_s=window_began_s, until_s=until_s, idles=idles)
    first = min(first, len(kept) - 1)
    began_s = kept[first].ended_at_s - max(kept[first].seconds, kept[first].trigger_s or 0.0)
    if first == 0:
        return _Span(first=first, begin_s=began_s, until_s=until_s, idles=idles)
    before = kept[first - 1]
    follows = kept[first].follows(before)
    rested = follows and _started_s(kept[first]) - before.ended_at_s >= _trigger_s(kept[first])
    if follows and not rested:
        begin_s = before.ended_at_s
    else:
        begin_s = max(before.ended_at_s, min(window_began_s, began_s))
    return _Span(first=first, begin_s=begin_s, until_s=until_s, idles=idles, rested=rested)


def _reading(
    operator: str,
    kept: Sequence[Batch],
    span: _Span,
    *,
    now_s: float,
    window_s: float,
    cpu_share: float | None,
    by_node: ByNode | None,
) -> OperatorReading:
    newest = kept[-1]
    placement = tuple(sorted(set(newest.nodes)))
    inside = kept[span.first :]
    began = [batch.ended_at_s - batch.seconds for batch in inside]
    seen_s = max(_LEAST_S, span.until_s - span.begin_s - _unseen_s(inside))
    busy_s = sum([batch.ended_at_s - max(at_s, span.begin_s) for batch, at_s in zip(inside, began, strict=True)])
    # The two batches before one, and the last that had rows, decide whether it is saturated or warm.
    worked = next((index for index in reversed(range(span.first)) if kept[index].rows > 0), 0)
    since = max(0, min(span.first - 2, worked))
    judged, back = kept[since:], span.first - since
    at_limit, is_warm = saturated(judged)[back:], warm(judged)[back:]
    return OperatorReading(
        operator=operator,
        at_s=now_s,
        placement=placement,
        input_rows_per_s=_input_rows_per_s(kept, span),
        throughput_rows_per_s=sum([batch.rows for batch in inside]) / seen_s,
        backlog_rows=newest.backlog_rows,
        saturated_share=sum(at_limit) / len(inside) if inside else 0.0,
        busy_share=min(1.0, busy_s / seen_s),
        output_rows_per_s=_output_rows_per_s(inside, newest, seen_s),
        cpu_share=cpu_share,
        by_node=by_node(inside, placement, seen_s) if by_node else {},
        warm_batches=tuple(
            batch
            for batch, at_s, evidence in zip(inside, began, is_warm, strict=True)
            if evidence and not batch.fixed_slots and at_s >= now_s - window_s
        ),
        batches=tuple(kept),
        trigger_s=newest.trigger_s,
        fixed_slots=bool(newest.fixed_slots),
    )


def _output_rows_per_s(inside: Sequence[Batch], newest: Batch, seen_s: float) -> float | None:
    known = [batch.output_rows for batch in inside if batch.output_rows is not None]
    return sum(known) / seen_s if len(known) == len(inside) and newest.output_rows is not None else None


def _input_rows_per_s(kept: Sequence[Batch], span: _Span) -> float | None:
    """Divide the growth of the offered rows by the time between the instants when Spark asked for them.

    Spark asks a source for its latest offset while it plans a batch, so a total belongs to the batch's start
    (measured on 4.3: 2 to 4 ms after it), and batches of unequal length do not distort the rate.
    """
    if span.first == len(kept):
        return 0.0  # it idles: no source had a row to offer in the whole window
    told = (index for index in range(len(kept) - 1, -1, -1) if kept[index].offered_rows_total is not None)
    index = next(told, -1)
    if index < span.first:
        return None
    last = base = kept[index]
    for earlier in told:
        if index < span.first or base.began_again_since(kept[earlier]):
            break
        index, base = earlier, kept[earlier]
    from_s = _started_s(base)
    if span.rested and index < span.first:
        from_s = max(from_s, span.begin_s)
    to_s = span.until_s if span.idles else _started_s(last)
    return (_offered(last) - _offered(base)) / (to_s - from_s) if to_s > from_s else None


def _unseen_s(inside: Sequence[Batch]) -> float:
    """Return the time of batches that are missing from the record; a restart of the query is not such."""
    return sum(
        max(0.0, _started_s(batch) - before.ended_at_s)
        for before, batch in pairwise(inside)
        if batch.batch_id > before.batch_id + 1
    )


def _past(instant_s: float | None, now_s: float) -> float:
    if instant_s is None or not math.isfinite(instant_s):
        return -math.inf
    return min(instant_s, now_s)


def _started_s(batch: Batch) -> float:
    return batch.ended_at_s - batch.seconds


def _trigger_s(batch: Batch) -> float:
    return batch.trigger_s or _UNKNOWN_TRIGGER_S


def _offered(batch: Batch) -> float:
    return batch.offered_rows_total or 0.0


@dataclass(frozen=True, slots=True)
class WorkByNode:
    """Tells what single replicas did; a `ByNode`."""

    #: By the instant at which a batch ended, by node. A batch that does not tell is missing.
    work: Mapping[float, Mapping[str, HostWork]] = field(default_factory=dict)

    def __call__(self, batches: Sequence[Batch], placement: Sequence[str], seconds: float) -> Mapping[str, NodeReading]:
        """Return the figures of each replica of a placement."""
        known = [self.work[batch.ended_at_s] for batch in batches if batch.ended_at_s in self.work]
        if not self.work or len(known) < len(batches):
            return {}
        newest = known[-1] if known else {}
        has_state = any(work.state_partitions is not None for work in newest.values())
        return {
            node: _node_reading(
                (work[node] for work in known if node in work),
                seconds,
                (newest[node].state_partitions if node in newest else 0) if has_state else None,
            )
            for node in placement
        }


def _node_reading(work: Iterable[HostWork], seconds: float, state_partitions: int | None) -> NodeReading:
    rows = busy_s = 0.0
    for each in work:
        rows += each.rows
        busy_s += each.busy_s
    return NodeReading(
        throughput_rows_per_s=rows / seconds, cpu_share=min(1.0, busy_s / seconds), state_partitions=state_partitions
    )
