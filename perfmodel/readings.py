"""Inputs of Eq. 1: saturation readings, and the distinct conditions that they were taken under.

Readings of similar conditions are one point of the fit, their weighted median. So a reading that contradicts the others
of its conditions has no effect, and a long stay on one placement does not outweigh the rest.
"""

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from gesscale.common.errors import InvalidValueError, Problem

#: Beyond any figure of a cluster. Quotients, squares and cubes of values between them are still finite.
_SMALLEST, _LARGEST = 1e-9, 1e15

#: Maximum age of a reading: a week, the longest rhythm of most loads. Age at which evidence counts half: a day.
MAX_AGE_S, HALF_LIFE_S = 7 * 86400.0, 86400.0

#: Conditions within 5 % of the capacity, and within 10 ms or 5 % of the delay, are the same. A Spark map costs about
#: 4.4 round trips per batch: 10 ms are 2 % of a batch of 2 s, as much as readings scatter.
SAME_CAPACITY_LOG = 0.05
SAME_DELAY_MS, SAME_DELAY_SHARE = 10.0, 0.05

#: Readings that differ by more than this share from the median of as many before them under the same conditions, this
#: number in a row and on one side, are a change of the operator, such as new code or a throttled node.
CHANGED_SHARE, CHANGED_IN_A_ROW = 0.2, 3
#: The same for the readings of a model that follows the cost of a row: each differs from the mean of those before it,
#: as a logarithm. Mean of at most this number of readings.
_COST_LOG, _MEAN_OF = 0.08, 20
#: Newest readings of the present conditions, to which the earlier ones are scaled if they differ by more than this.
_NEWEST, _DRIFT_LOG = 5, 0.04
#: Number of distinct conditions that are fitted, the newest.
MAX_CONDITIONS = 16
#: Share of its weight that a reading of any age keeps.
_MIN_SHARE = 1e-3


class ModelError(InvalidValueError):
    """A reading, or a set of readings, that a performance model cannot use."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """One window in which an operator worked at its limit.

    Raises
    ------
    ModelError
        When a value is beyond 1e15, above 0 by less than 1e-9, or out of its range.
    """

    #: n, at least 1.
    replicas: int
    #: NDmax of the placement, round trip, the driver's node included.
    nd_max_ms: float
    #: Sum of the capacity weights of the replicas.
    weight: float | None = None
    #: Mean rows of its batches.
    batch_rows: float | None = None
    #: Observed throughput, the MST; above 0.
    rows_per_s: float
    #: Time of the observation, seconds since the epoch.
    at_s: float = 0.0

    def __post_init__(self) -> None:
        _check("replicas", self.replicas, least=1)
        _check("nd_max_ms", self.nd_max_ms, least=0)
        _check("weight", self.weight)
        _check("batch_rows", self.batch_rows)
        _check("rows_per_s", self.rows_per_s)
        _check("at_s", self.at_s, least=-_LARGEST)

    @property
    def capacity(self) -> float:
        """The sum of the capacity weights if given, else n."""
        return float(self.replicas) if self.weight is None else self.weight


def _check(name: str, value: float | None, *, least: float = _SMALLEST) -> None:
    if value is None or least <= value <= _LARGEST:
        return
    limit = "> 0" if least == _SMALLEST else f">= {least:g}"
    got = value if isinstance(value, float) or value <= _LARGEST else math.inf  # a long int cannot be printed
    raise ModelError("reading-invalid", owner="reading", field=name, limit=limit, got=got)


def same_conditions(capacity_log: float, nd_max_ms: float, other_nd_max_ms: float) -> bool:
    """Return whether two placements count as the same conditions; the logarithm is that of their capacities' ratio."""
    resolution_ms = max(SAME_DELAY_MS, SAME_DELAY_SHARE * max(nd_max_ms, other_nd_max_ms))
    return abs(capacity_log) <= SAME_CAPACITY_LOG and abs(nd_max_ms - other_nd_max_ms) <= resolution_ms


class ReadingGroup(NamedTuple):
    """Saturation readings of the same conditions, those of the newest."""

    #: n, or the sum of the capacity weights.
    capacity: float
    #: Round trip.
    nd_max_ms: float
    #: The median of the readings.
    rows_per_s: float
    #: Weight in the fit, by the age of the readings; a power of 2.
    weight: float


class Distinct(NamedTuple):
    """Distinct conditions, and warnings of readings that were left out."""

    conditions: tuple[ReadingGroup, ...]
    #: Number of readings used.
    readings: int
    warnings: tuple[Problem, ...]


class KeyedReadings(tuple[Reading, ...]):
    """Readings as a cache key: equal ones are mostly identical objects, so that a comparison is cheap."""

    __slots__ = ()

    def __hash__(self) -> int:
        return hash((len(self), self[:1], self[-1:]))


def at_present_cost(readings: Sequence[Reading]) -> Sequence[Reading]:
    """Scale readings to the present cost of a row, oldest first.

    Where the newest ones of some conditions contradict those before, all earlier ones are scaled, whatever their
    conditions: what they show of replicas and delays still holds.
    """
    return _at_present_cost(KeyedReadings(readings))


@lru_cache(maxsize=256)
def _at_present_cost(readings: KeyedReadings) -> Sequence[Reading]:
    ordered = sorted(readings, key=lambda reading: (reading.at_s, reading.capacity, reading.nd_max_ms))
    homes = {id(reading): home for home, group in enumerate(_groups(ordered)) for reading in group}
    logs, scales = np.log([reading.rows_per_s for reading in ordered]), np.zeros(len(ordered))
    known: dict[int, list[int]] = defaultdict(list)
    apart: dict[int, list[int]] = defaultdict(list)
    alike = -1  # the newest reading that agreed with those before it: the cost had not changed yet
    for at, reading in enumerate(ordered):
        home = homes[id(reading)]
        now, before = (logs + scales)[[at]], (logs + scales)[known[home][-_MEAN_OF:]]
        difference = float(now[0] - before.mean()) if len(before) >= CHANGED_IN_A_ROW else 0.0
        if abs(difference) <= _COST_LOG:
            known[home] += [*apart.pop(home, ()), at]
            alike = at if len(before) >= CHANGED_IN_A_ROW else alike
            continue
        if apart[home] and (logs[apart[home][-1]] > before.mean()) != (difference > 0):
            known[home] += apart.pop(home)
        apart[home].append(at)
        if len(apart[home]) == CHANGED_IN_A_ROW:
            newest = apart.pop(home)
            scales[: min(newest[0], alike + 1)] += float(logs[newest].mean() - before.mean())
            known[home] = newest
    same = [at for at, reading in enumerate(ordered) if homes[id(reading)] == homes[id(ordered[-1])]]
    newest, earlier = same[-_NEWEST:], same[:-_NEWEST]
    if earlier:  # the cost may also change too slowly for a contradiction
        levels = logs + scales
        gap = float(levels[newest].mean() - np.median(levels[earlier]))
        scales[: newest[0]] += gap if abs(gap) > _DRIFT_LOG else 0.0
    pairs = zip(ordered, np.exp(scales).tolist(), strict=True)
    return [each if scale == 1 else replace(each, rows_per_s=each.rows_per_s * scale) for each, scale in pairs]


def distinct_conditions(
    readings: Sequence[Reading], now_s: float | None = None, *, max_age_s: float | None, half_life_s: float | None
) -> Distinct:
    """Group readings by their conditions, whatever their order; see `fit_eq1`."""
    if not readings:
        return Distinct((), 0, ())
    now_s = max(reading.at_s for reading in readings) if now_s is None else now_s
    oldest_s = -math.inf if max_age_s is None else now_s - max_age_s
    young = KeyedReadings(reading for reading in readings if reading.at_s >= oldest_s)
    # The newest reading has full weight; hence the weights change only with the readings.
    return _grouped(young, half_life_s)


@lru_cache(maxsize=2048)
def _grouped(readings: KeyedReadings, half_life_s: float | None) -> Distinct:
    groups = _groups(readings)
    since_s = max((_changed_at_s(group) for group in groups), default=-math.inf)
    warnings: list[Problem] = []
    if dropped := sum(reading.at_s < since_s for reading in readings):
        warnings.append(Problem("model-readings-dropped", {"count": dropped}))
        groups = [[reading for reading in group if reading.at_s >= since_s] for group in groups]
    used = [group for group in groups if group][:MAX_CONDITIONS]  # the newest first
    newest_s = max((group[0].at_s for group in used), default=0.0)
    return Distinct(
        tuple(sorted(_condition(group, newest_s, half_life_s) for group in used)), sum(map(len, used)), tuple(warnings)
    )


def _groups(readings: Sequence[Reading]) -> list[list[Reading]]:
    """Return the readings by conditions, the newest first."""
    ordered = sorted(
        readings, key=lambda reading: (-reading.at_s, reading.capacity, reading.nd_max_ms, reading.rows_per_s)
    )
    homes: dict[tuple[float, float], list[Reading]] = {}
    for reading in ordered:
        place = reading.capacity, reading.nd_max_ms
        if place not in homes:
            near = (
                group for key, group in homes.items() if same_conditions(math.log(place[0] / key[0]), place[1], key[1])
            )
            homes[place] = next(near, [])
        homes[place].append(reading)
    return [*{id(group): group for group in homes.values()}.values()]


def _changed_at_s(group: Sequence[Reading]) -> float:
    """Return the time of the first reading after the newest change; minus infinity without a change."""
    if len(group) < 2 * CHANGED_IN_A_ROW:
        return -math.inf
    rates = np.array([reading.rows_per_s for reading in group])
    runs = np.lib.stride_tricks.sliding_window_view(rates, 2 * CHANGED_IN_A_ROW)  # the newest first
    apart = runs[:, :CHANGED_IN_A_ROW] / np.median(runs[:, CHANGED_IN_A_ROW:], axis=1, keepdims=True) - 1
    changed = np.flatnonzero((apart.min(axis=1) > CHANGED_SHARE) | (apart.max(axis=1) < -CHANGED_SHARE))
    return group[int(changed[0]) + CHANGED_IN_A_ROW - 1].at_s if len(changed) else -math.inf


def _condition(group: Sequence[Reading], newest_s: float, half_life_s: float | None) -> ReadingGroup:
    ages_s = np.array([newest_s - reading.at_s for reading in group])
    weights = np.ones(len(group)) if half_life_s is None else np.maximum(0.5 ** (ages_s / half_life_s), _MIN_SHARE)
    rates = np.array([reading.rows_per_s for reading in group])
    order = np.argsort(rates, kind="stable")
    until = np.cumsum(weights[order])
    middles = np.searchsorted(until, [0.5 * until[-1] * (1 - 1e-9), 0.5 * until[-1] * (1 + 1e-9)])
    return ReadingGroup(
        capacity=group[0].capacity,
        nd_max_ms=group[0].nd_max_ms,
        # With four digits, another reading mostly leaves the fit, which is cached, as it is.
        rows_per_s=float(f"{rates[order][np.minimum(middles, len(group) - 1)].mean():.4g}"),
        weight=2.0 ** round(math.log2(float(weights.max()))),
    )
