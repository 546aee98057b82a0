"""What the last addition of replicas brought, measured: the time of a row in late batches before and after it."""

import math
from collections.abc import Iterable, Sequence
from typing import ClassVar, NamedTuple, Self

import numpy as np
from pydantic import BaseModel, ConfigDict

from gesscale.model.decision import Reason
from gesscale.model.evidence import mark_warm
from gesscale.model.observation import Batch, OperatorReading
from gesscale.model.order import Order
from gesscale.policies.gesscale.analysis.capacity import OperatorModel
from gesscale.policies.gesscale.analysis.idleness import without_rows
from perfmodel import BatchEvidence

#: Replicas are given back if they brought less than this share of the gain that their number promises, and surely
#: less than the second one (the upper end of a 90 % interval).
LEAST_GAIN, SURE_GAIN = 0.10, 0.5
#: The fewest late batches after an addition, and the most before it, that are compared; at least one before it.
_FEWEST, _MOST = 2, 10
#: Share of the batches since the addition that must be late.
_LATE_SHARE = 0.8
_Z_90, _LEAST_ERROR = 1.645, 0.05
#: Round trips that a batch may have (measured: 4 to 26); delays that could explain a missing gain are left to the law.
_MOST_TRIPS = 26.0
#: A replica with this many times its even share has the largest partition.
_HOT = 1.5
#: Time within which additions are one growth.
_GROWTH_S = 600.0
#: Age up to which an earlier placement shows what a replica does.
_RECENT_S = 1800.0


class BeforeGrowth(BaseModel):
    """The late batches before an addition of replicas."""

    model_config: ClassVar[ConfigDict] = ConfigDict(frozen=True, extra="forbid")

    #: When replicas were added, and the nodes then.
    at_s: float
    nodes: tuple[str, ...]
    #: Mean rows and duration of these batches, and the relative error of the time of a row (rows, seconds, error).
    rows: float
    seconds: float
    error: float


class Growth(BaseModel):
    """Additions one after the other, none of them older than ten minutes when the next one came."""

    model_config: ClassVar[ConfigDict] = ConfigDict(frozen=True, extra="forbid")

    #: When the last one was ordered, and its nodes.
    ordered_at_s: float = 0.0
    placement: tuple[str, ...] = ()
    #: Before each of them, the oldest first.
    before: tuple[BeforeGrowth, ...] = ()

    def updated(self, reading: OperatorReading, order: Order | None) -> Self:
        """Note the newest order: an addition, or the end of the growth."""
        if order is None or order.at_s <= self.ordered_at_s:
            return self
        begun = {"ordered_at_s": order.at_s, "placement": order.placement}
        if order.reason != Reason.OVERLOADED or order.added <= 0:
            return self.model_copy(update={**begun, "before": ()})
        added_to = set(order.placement)
        earlier = [each for each in _warm(reading.batches) if _is_late(each) and each.began_s < order.at_s]
        late = [each for each in earlier if {*each.nodes} < added_to and len(each.nodes) == order.before][-_MOST:]
        before = [each for each in self.before if order.at_s - each.at_s < _GROWTH_S and {*each.nodes} < added_to]
        if late:
            rows, seconds, error = _means(late)
            nodes = late[-1].nodes
            before.append(BeforeGrowth(at_s=order.at_s, nodes=nodes, rows=rows, seconds=seconds, error=error))
        return self.model_copy(update={**begun, "before": tuple(before)})


class NoGain(NamedTuple):
    """An addition that brought nothing."""

    #: SinkLimit or HotPartition.
    reason: Reason
    #: The number of replicas that does as much.
    replicas: int
    #: Replicas before it and with it (before, after).
    before: int
    after: int
    #: By how much rows became faster: measured and expected, per cent (faster_pct, expected_pct).
    faster_pct: float
    expected_pct: float
    #: Share of the busiest replica, if that is the cause.
    busiest_pct: float | None


def missing_gain(
    fitted: OperatorModel, reading: OperatorReading, growth: Growth, evidence: BatchEvidence
) -> NoGain | None:
    """Return what shows that additions brought nothing; None if they did, or if that is not known yet."""
    present = set(reading.placement)
    if not growth.before or set(growth.placement) != present or without_rows(reading):
        return None
    since = [each for each in _warm(reading.batches) if each.began_s >= growth.ordered_at_s]
    since = [each for each in since if set(each.nodes) == present]
    late = [each for each in since if _is_late(each)]
    if len(late) < max(_FEWEST, _LATE_SHARE * len(since)):  # a few late ones of many are the slow ones by chance
        return None
    now = _means(late)
    found = (_missing_since(fitted, reading, each, now, evidence) for each in growth.before)
    return next((each for each in found if each is not None), None)


def _missing_since(
    fitted: OperatorModel,
    reading: OperatorReading,
    before: BeforeGrowth,
    now: tuple[float, float, float],
    evidence: BatchEvidence,
) -> NoGain | None:
    rows, seconds, error = now
    expected = fitted.speedup(reading.placement, before.nodes) - 1
    added_s = (fitted.round_trips_ms(reading.placement) - fitted.round_trips_ms(before.nodes)) / 1000
    if expected <= 0 or not _MOST_TRIPS * added_s < SURE_GAIN * seconds * expected / (1 + expected):
        return None
    then_s = _row_s(before.rows, before.seconds, fitted.overhead_s(before.nodes))
    faster = then_s / _row_s(rows, seconds, fitted.overhead_s(reading.placement)) - 1
    surely = (1 + faster) * (1 + _Z_90 * math.hypot(error, before.error)) - 1
    if faster >= LEAST_GAIN * expected or surely >= SURE_GAIN * expected:
        return None
    busiest = reading.busiest_share or 0.0
    is_hot = busiest * reading.replicas >= _HOT
    fewest = 1 / busiest if is_hot else _fewest(rows / seconds, evidence, reading.at_s)
    # One more than by these figures: partitions seldom spread evenly, nor do replicas add up. What was gained stays.
    enough = len(before.nodes) * max(1.0, 1 + faster - _LEAST_ERROR)
    least = max(fitted.operator.min_replicas, math.ceil(min(fewest + 0.9, enough)))
    if least >= reading.replicas:
        return None
    return NoGain(
        reason=Reason.HOT_PARTITION if is_hot else Reason.SINK_LIMIT,
        replicas=least,
        before=len(before.nodes),
        after=reading.replicas,
        faster_pct=100 * faster,
        expected_pct=100 * expected,
        busiest_pct=100 * busiest if is_hot else None,
    )


def _fewest(rows_per_s: float, evidence: BatchEvidence, at_s: float) -> float:
    """Return how many replicas of the speed that one had on a recent placement do as much as all do now."""
    recent = (each for each in evidence.sums if each.squared_rows > 0 and at_s - each.at_s < _RECENT_S)
    return min((rows_per_s * each.both / each.squared_rows * each.weight for each in recent), default=math.inf)


def _warm(batches: Sequence[Batch]) -> list[Batch]:
    return [each for each, is_warm in zip(batches, mark_warm(batches), strict=True) if is_warm and each.rows]


def _is_late(batch: Batch) -> bool:
    """Return whether a batch kept the query busy all the time."""
    return batch.is_late or batch.is_full


def _means(batches: Iterable[Batch]) -> tuple[float, float, float]:
    """Return the mean rows and duration, and the relative error of the time of a row."""
    rows, seconds = np.array([(each.rows, each.seconds) for each in batches]).T
    each_s = seconds / rows
    spread = float(each_s.std(ddof=1) / each_s.mean()) if len(rows) > 1 else 0.0
    error = max(_LEAST_ERROR, spread) / math.sqrt(len(rows))
    return float(rows.mean()), float(seconds.mean()), error


def _row_s(rows: float, seconds: float, overhead_s: float) -> float:
    return (seconds - min(overhead_s, seconds / 2)) / rows
