"""Warnings about implausible round trips; the usual cause is a wrong unit.

Thresholds (round trips in ms, of pairs of different nodes):

==================  ===========================================  ================================================
figure              implausible                                  because
==================  ===========================================  ================================================
median              above 2,000                                  half way around the Earth and back takes 200
median and spread   below 1, the 95th percentile ten times the   nodes of one room lie within a small factor of
                    5th, 20 nodes or more                        each other, sites of a continent do not
median              below 0.005                                  the loopback interface takes longer
missing             more than half of the pairs                  fast paths are then missing as often as slow ones
all equal           three pairs or more                          no two measured paths are equal to the last digit
==================  ===========================================  ================================================
"""

import numpy as np

from gesscale.common.errors import Problem
from latency_map.delays import Delays
from latency_map.kinds import DelayUnit
from latency_map.survey import Survey

MEDIAN_ABOVE_MS = 2000.0
MEDIAN_BELOW_MS = 0.005
ROOM_MEDIAN_MS = 1.0
ROOM_SPREAD_RATIO = 10.0
ROOM_NODES = 20
MISSING_ABOVE_RATIO = 0.5
EQUAL_PAIRS = 3

_LARGER = {DelayUnit.NS: "us", DelayUnit.US: "ms", DelayUnit.MS: "s", DelayUnit.S: None}
_SMALLER = {DelayUnit.NS: None, DelayUnit.US: None, DelayUnit.MS: "us", DelayUnit.S: "ms"}


def find_implausible(survey: Survey, *, unit: DelayUnit) -> tuple[Problem, ...]:
    """Return warnings about implausible figures."""
    known, missing = _known(survey.rtt_ms)
    warnings = []
    if len(known):
        if len(known) >= EQUAL_PAIRS and known.min() == known.max():
            warnings.append(Problem("map-delays-equal", {"count": len(known), "rtt_ms": float(known[0])}))
        figures = np.percentile(known, (5, 50, 95), overwrite_input=True)
        low, median, high = (float(figure) for figure in figures)
        warnings += _check_unit(len(survey), unit, low, median, high)
    pairs = len(survey) * (len(survey) - 1) // 2
    if pairs and missing > MISSING_ABOVE_RATIO * pairs:
        warnings.append(Problem("map-mostly-missing", {"missing": missing, "pairs": pairs}))
    return tuple(warnings)


def _known(rtt_ms: Delays) -> tuple[Delays, int]:
    """Return the round trips between different nodes, and how many pairs are known in neither direction."""
    unknown = np.isnan(rtt_ms)
    others = ~np.eye(len(rtt_ms), dtype=bool)
    return rtt_ms[others & ~unknown], int(np.count_nonzero(others & unknown & unknown.T)) // 2


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
