"""What the batches of a record show about its query: plausible laws of the batch time, and what they leave open."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from typing import NamedTuple

import numpy as np

from gesscale.common.errors import Problem
from gesscale.errors import InputError
from gesscale.model.evidence import mark_warm
from gesscale.model.observation import Batch
from gesscale.model.workflow import BatchCap
from perfmodel import BatchEvidence, BatchSample, FittedBatchTime, Points, fit_batch_time, learned
from perfmodel.batch_time import MIN_BATCHES
from testbed.backtest.recorded_query import RecordedQuery

#: Fewest warm batches with rows; of fewer the first ones, which are slow, decide.
MIN_WARM = 10
#: Newest warm batches that are read, and how many are one step of learning (_READ, _STEP).
_READ, _STEP = 20_000, 15
_LEAST_ROW_S = 1e-7
#: Intervals with waiting rows that show a rate, at least; the trigger intervals from which rows wait; and the scatter
#: of a batch, which rates do not show (MIN_WAITING, _WAITING_TRIGGERS, _USUAL_NOISE).
MIN_WAITING, _WAITING_TRIGGERS, _USUAL_NOISE = 3, 3.0, 0.05


class FittedLaw(NamedTuple):
    """Time of a batch of R rows on n replicas: fixed_s + R (row_s / n + shared_row_s)."""

    fixed_s: float
    #: Time of a row that replicas divide, and that they do not (row_s, shared_row_s).
    row_s: float
    shared_row_s: float

    def batch_s(self, rows: float, replicas: int) -> float:
        """Return the time of a batch."""
        return self.fixed_s + rows * (self.row_s / replicas + self.shared_row_s)

    def mst_rows_per_s(self, replicas: int, trigger_s: float, cap: BatchCap | None) -> float:
        """Return the rows that full batches take per second; without a cap those of one trigger interval."""
        if cap is not None:
            rows = cap.at(replicas)
            return rows / max(self.batch_s(rows, replicas), trigger_s)
        limit_s = max(trigger_s, 2 * self.fixed_s)
        return (limit_s - self.fixed_s) / (self.row_s / replicas + self.shared_row_s) / limit_s


@dataclass(frozen=True, slots=True, kw_only=True)
class Learned:
    """The laws that fit the batches of a query."""

    #: The likeliest law, and those at the ends of what is plausible.
    laws: tuple[FittedLaw, ...]
    #: Standard deviation of the time of a batch around the law, as a share.
    noise: float
    #: Warm batches with rows, and the numbers of replicas that they had (batches, replicas).
    batches: int
    replicas: tuple[int, ...]
    #: What the batches leave open.
    left_open: tuple[Problem, ...]


def learn(batches: Sequence[Batch], source: str) -> Learned:
    """Fit laws to the warm batches.

    One number of replicas does not show what a replica adds: the laws then range from rows that replicas divide to rows
    that they do not.

    Raises
    ------
    InputError
        If there are fewer than `MIN_WARM` of them.
    """
    samples = [
        BatchSample(batch.rows, batch.seconds, len(batch.nodes), len(batch.nodes), 0.0, 0.0, batch.ended_at_s)
        for batch, is_warm in zip(batches, mark_warm(batches), strict=True)
        if is_warm and batch.rows and batch.nodes
    ][-_READ:]
    if len(samples) < MIN_WARM:
        raise InputError("backtest-warm-batches-few", source=source, min=MIN_WARM, got=len(samples))
    evidence = BatchEvidence()
    for at in range(0, len(samples), _STEP):
        evidence = learned(evidence, samples[at : at + _STEP])
    fitted = fit_batch_time(evidence)
    assert fitted is not None  # noqa: S101 - there are samples
    held = tuple(sorted({round(each.weight) for each in evidence.sums if each.batches >= MIN_BATCHES}))
    laws = _laws(fitted, held)
    left_open = [each for each in fitted.warnings if each.code == "model-rows-alike"]
    if len(held) == 1:
        (replicas,) = held
        laws = (*(_divided(law, replicas) for law in laws), _whole(laws[0], replicas))
        left_open.append(Problem("backtest-replicas-constant", {"replicas": replicas}))
    return Learned(
        laws=laws, noise=sqrt(evidence.noise), batches=len(samples), replicas=held, left_open=tuple(left_open)
    )


def learn_rates(query: RecordedQuery) -> Learned:
    """Fit laws to the rates at which rows that waited were processed: all rows of a batch are divided.

    Where rows never waited, a replica carries at least what it carried.
    """
    rates = [(len(each.nodes), each.rows / each.seconds / len(each.nodes)) for each in query.batches]
    waited = [
        rate
        for rate, before, batch in zip(rates[1:], query.batches, query.batches[1:], strict=False)
        if min(before.backlog_rows or 0.0, batch.backlog_rows or 0.0)
        > _WAITING_TRIGGERS * query.trigger_s * rate[0] * rate[1]
    ]
    left_open = []
    if len(waited) < MIN_WAITING:
        waited = [max(rates, key=lambda each: each[1])]
        left_open.append(Problem("backtest-capacity-unseen", {"rows_per_s": waited[0][1]}))
    each_s = 1 / np.maximum(np.quantile([rate for _, rate in waited], [0.5, 0.1, 0.9]), 1e-9)
    laws = tuple(FittedLaw(0.0, float(row_s), 0.0) for row_s in each_s)
    held = tuple(sorted({replicas for replicas, _ in waited}))
    if len(held) == 1 and not left_open:
        laws = (*laws, _whole(laws[0], held[0]))
        left_open.append(Problem("backtest-replicas-constant", {"replicas": held[0]}))
    return Learned(laws=laws, noise=_USUAL_NOISE, batches=len(waited), replicas=held, left_open=tuple(left_open))


def _laws(fitted: FittedBatchTime, replicas: Sequence[int]) -> tuple[FittedLaw, ...]:
    """Return the fitted law, and those that are as slow and as fast as its 90 % interval at the largest batch."""
    fixed_s, row_s, even_row_s, shared_row_s = fitted.theta[:4]
    likeliest = FittedLaw(fixed_s, max(row_s + even_row_s, _LEAST_ROW_S), shared_row_s)
    weight = np.array(replicas, dtype=float)
    rows = np.full(len(weight), fitted.evidence.max_rows)
    points = Points(weight=weight, even_weight=weight, driver_ms=0 * weight, pair_ms=0 * weight, cap_rows=rows)
    seconds = np.array([likeliest.batch_s(fitted.evidence.max_rows, each) for each in replicas])
    factor = 1 + float(fitted.half_width(points, rows, seconds).max())
    return (
        likeliest,
        FittedLaw(*(factor * each for each in likeliest)),
        FittedLaw(*(each / factor for each in likeliest)),
    )


def _divided(law: FittedLaw, replicas: int) -> FittedLaw:
    """Return the law with the same times on a number of replicas whose rows replicas divide."""
    return FittedLaw(law.fixed_s, law.row_s + law.shared_row_s * replicas, 0.0)


def _whole(law: FittedLaw, replicas: int) -> FittedLaw:
    """Return the same whose rows replicas do not divide."""
    return FittedLaw(law.fixed_s, _LEAST_ROW_S, law.row_s / replicas + law.shared_row_s)
