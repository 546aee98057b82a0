"""Warnings about implausible round trips and names.

The usual causes are a wrong unit, a failed measurement that was written as a number, and two spellings of one node.
Thresholds (round trips in ms, of pairs of different nodes):

==================  ===========================================  ================================================
figure              implausible                                  because
==================  ===========================================  ================================================
0                   any pair                                     a measurement that failed or was rounded makes a
                                                                 node the nearest; two names of a machine have it
largest             three times every smaller one, and above a   programs write such figures for a lost probe; by
                    minute, 999, 9999, ... or 65535 in the unit  hand, 500 ms is written for a satellite
                    of the file, or multiples of 500 ms with
                    two signs of three: repeated, ten times
                    every smaller one, others have fractions
to itself           above 0                                      it is another measurement, or another table
median              above 2,000                                  half way around the Earth and back takes 200
median and spread   below 1, the 95th percentile ten times the   nodes of one room lie within a small factor of
                    5th, 20 nodes or more                        each other, sites of a continent do not
median              below 0.005                                  the loopback interface takes longer
missing             more than half of the pairs                  fast paths are then missing as often as slow ones
all equal           three pairs or more                          no two measured paths are equal to the last digit
==================  ===========================================  ================================================

Zeros and the figures of lost probes do not count for the median, the spread and equality.
"""

import math
import unicodedata

import numpy as np

from gesscale.common.errors import Problem
from latency_map.delays import MS_PER_UNIT, Delays
from latency_map.kinds import DelayUnit, member
from latency_map.survey import Mask, Survey

#: Age from which a survey is old: a day, the period of the load on shared links.
OLD_AFTER_S = 86400.0

MEDIAN_ABOVE_MS = 2000.0
MEDIAN_BELOW_MS = 0.005
ROOM_MEDIAN_MS = 1.0
ROOM_SPREAD_RATIO = 10.0
ROOM_NODES = 20
MISSING_ABOVE_RATIO = 0.5
EQUAL_PAIRS = 3
LOST_RATIO = 3.0
LOST_STEP_MS = 500.0
FAR_RATIO = 10.0
LOST_ABOVE_MS = 60_000.0

_MIN_NINES = 999.0
#: Largest values of integers of 15, 16, 31 and 32 bits.
_INTEGER_LIMITS = {32767, 65535, 2147483647, 4294967295}
_MAX_LOST_FIGURES = 8
_NAMED = 3

_LARGER = {DelayUnit.NS: "us", DelayUnit.US: "ms", DelayUnit.MS: "s", DelayUnit.S: None}
_SMALLER = {DelayUnit.NS: None, DelayUnit.US: None, DelayUnit.MS: "us", DelayUnit.S: "ms"}


def find_implausible(survey: Survey, *, unit: DelayUnit, one_way_ms: Delays | None = None) -> tuple[Problem, ...]:
    """Return warnings about implausible figures and names.

    Parameters
    ----------
    unit
        The unit that the source states.
    one_way_ms
        Shape ``(n, n)``: the delays of which the round trips are sums; None if the source has round trips. A 0 or the
        figure of a lost probe in one direction cannot be seen in the sum.
    """
    unit, rtt_ms, names = member(DelayUnit, unit), survey.rtt_ms, survey.names
    figures_ms = rtt_ms if one_way_ms is None else one_way_ms
    others = ~np.eye(len(rtt_ms), dtype=bool)
    lost = _lost_probes(figures_ms, unit)
    found = [
        _zero_delays(names, figures_ms),
        _as_lost(names, figures_ms, lost),
        _self_delays(survey),
        _unreached(survey),
        _alike(names),
    ]
    warnings = [problem for problem in found if problem]
    known = rtt_ms[others & ~(lost | lost.T) & (rtt_ms > 0)]
    if len(known):
        if len(known) >= EQUAL_PAIRS and known.min() == known.max():
            warnings.append(Problem("map-delays-equal", {"count": len(known), "rtt_ms": float(known[0])}))
        figures = np.percentile(known, (5, 50, 95), overwrite_input=True)
        low, median, high = (float(figure) for figure in figures)
        warnings += _check_unit(len(survey), unit, low, median, high)
    unknown = np.isnan(rtt_ms)
    missing, pairs = int(np.count_nonzero(others & unknown & unknown.T)) // 2, len(survey) * (len(survey) - 1) // 2
    if pairs and missing > MISSING_ABOVE_RATIO * pairs:
        warnings.append(Problem("map-mostly-missing", {"missing": missing, "pairs": pairs}))
    return tuple(warnings)


def _zero_delays(names: tuple[str, ...], figures_ms: Delays) -> Problem | None:
    """Return the warning about pairs of nodes with a delay of 0; None if there are none."""
    zeros = figures_ms == 0
    np.fill_diagonal(zeros, val=False)
    return Problem("map-zero-delays", _pairs(names, zeros)) if zeros.any() else None


def _self_delays(survey: Survey) -> Problem | None:
    """Return the warning about nodes with a delay to themselves, with the largest; None if there are none."""
    to_itself_ms = np.nan_to_num(survey.rtt_ms.diagonal())
    count, max_ms = int(np.count_nonzero(to_itself_ms)), float(to_itself_ms.max())
    if not count:
        return None
    node = min(survey.names[row] for row in np.flatnonzero(to_itself_ms == max_ms))
    return Problem("map-self-delays", {"count": count, "node": node, "rtt_ms": max_ms})


def age_problem(survey: Survey, now_s: float) -> Problem:
    """Return the code of the age of a survey: recent, old, from the future or unknown."""
    if survey.measured_at_s is None:
        return Problem("map-age-unknown")
    age_s = now_s - survey.measured_at_s
    code = "map-from-future" if age_s < 0 else "map-old" if age_s > OLD_AFTER_S else "map-recent"
    return Problem(code, {"hours": age_s / 3600})


def _unreached(survey: Survey) -> Problem | None:
    """Return the warning about nodes without a delay above 0 to any other node; None if it holds for none or all."""
    measured = survey.rtt_ms > 0
    np.fill_diagonal(measured, val=False)
    lone = np.flatnonzero(~(measured | measured.T).any(axis=0))
    if not 0 < len(lone) < len(survey):
        return None
    return Problem("map-nodes-unreached", {"count": len(lone), "nodes": [survey.names[row] for row in lone[:_NAMED]]})


def _alike(names: tuple[str, ...]) -> Problem | None:
    """Return the warning about names that differ only in case, encoding, dashes, blanks, a last dot or first zeros."""
    groups: dict[str, list[str]] = {}
    for name in names:
        plain = unicodedata.normalize("NFKC", name).casefold()
        dashed = "".join("-" if unicodedata.category(each) == "Pd" else each for each in plain)
        spelled = dashed.lstrip("0") if dashed.isdecimal() else " ".join(dashed.rstrip(".").split())
        groups.setdefault(spelled, []).append(name)
    alike = [group for group in groups.values() if len(group) > 1]
    if not alike:
        return None
    return Problem("map-names-alike", {"count": len(alike), "first": alike[0][0], "second": alike[0][1]})


def _lost_probes(rtt_ms: Delays, unit: DelayUnit) -> Mask:
    """Mark the cells that stand for a lost probe: the largest figures, if they are typical and far above all others."""
    times, over = MS_PER_UNIT[unit]
    lost: Mask = np.zeros(rtt_ms.shape, dtype=bool)
    rest, in_nines = rtt_ms[~np.isnan(rtt_ms)], False
    for _ in range(_MAX_LOST_FIGURES):
        top_ms = float(rest.max(initial=0.0))
        nines = top_ms > LOST_ABOVE_MS or _is_in_nines(top_ms / times * over)
        if not nines and (top_ms < LOST_STEP_MS or top_ms % LOST_STEP_MS):
            break
        rest, in_nines = rest[rest < top_ms], in_nines or nines
        next_ms = float(rest.max(initial=0.0))
        if top_ms < LOST_RATIO * next_ms or not next_ms:
            continue
        marked = rtt_ms >= top_ms
        repeated = bool(np.count_nonzero(np.triu(marked | marked.T, 1)) > 1)
        signs = (repeated, top_ms >= FAR_RATIO * next_ms, bool((rest % 1).any()))
        if in_nines or sum(signs) > 1:
            lost = marked
    return lost


def _is_in_nines(delay: float) -> bool:
    """Return whether a delay, or half of it if both ways were added, is 999, 9999, ... or the limit of an integer."""
    for each in (delay, delay / 2):
        nines = each >= _MIN_NINES and set(f"{each:.9g}") <= {"9", "."}
        if nines or any(math.isclose(each, limit) for limit in _INTEGER_LIMITS):
            return True
    return False


def _as_lost(names: tuple[str, ...], figures_ms: Delays, lost: Mask) -> Problem | None:
    if not lost.any():
        return None
    found_ms = np.unique(figures_ms[lost])[::-1].tolist()
    values_ms = [int(each) if each.is_integer() else each for each in found_ms]
    return Problem("map-delays-as-lost", {**_pairs(names, lost), "delays_ms": values_ms})


def _pairs(names: tuple[str, ...], marked: Mask) -> dict[str, object]:
    """Return the number of the pairs with a marked cell, and the first of them."""
    pairs = np.argwhere(np.triu(marked | marked.T, 1))
    return {"count": len(pairs), "pairs": [f"{names[a]} - {names[b]}" for a, b in pairs[:_NAMED]]}


def _check_unit(nodes: int, unit: DelayUnit, low: float, median: float, high: float) -> list[Problem]:
    """Return a warning if another unit would fit the 5th, 50th and 95th percentile better."""
    figures = {"median_ms": median, "low_ms": low, "high_ms": high, "unit": unit.value}
    if median > MEDIAN_ABOVE_MS:
        return [_unit_warning("map-delays-long", _SMALLER[unit], figures)]
    if median < MEDIAN_BELOW_MS and nodes > 2:
        return [_unit_warning("map-delays-short", _LARGER[unit], figures)]
    if nodes >= ROOM_NODES and median < ROOM_MEDIAN_MS and high >= ROOM_SPREAD_RATIO * low:
        return [_unit_warning("map-delays-unequal", _LARGER[unit], {**figures, "nodes": nodes})]
    return []


def _unit_warning(code: str, likely_unit: str | None, figures: dict[str, float | str]) -> Problem:
    """Return the warning, which asks for another unit if there is one."""
    if likely_unit is None:
        return Problem("map-delays-implausible", figures)
    return Problem(code, {**figures, "likely_unit": likely_unit})
