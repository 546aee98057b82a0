"""Whether round trips can be what they are said to be: the common faults are of unit, and show in the figures.

Thresholds (round trips in ms, of pairs of different nodes):

==================  ===========================================  ================================================
figure              implausible                                  because
==================  ===========================================  ================================================
median              above 2,000                                  half round the Earth and back in fibre takes 200
median and spread   below 1, the 95th percentile ten times the   nodes of one room lie within a small factor of
                    5th, 20 nodes or more                        each other, sites of a continent do not
median              below 0.005                                  the loopback of one machine takes more
missing             more than half of the pairs                  fast paths are then missing as often as slow ones
all equal           three pairs or more                          no two measured paths are alike to the last digit
==================  ===========================================  ================================================
"""

import numpy as np

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

_LARGER = {DelayUnit.US: "ms", DelayUnit.MS: "s", DelayUnit.S: None}
_SMALLER = {DelayUnit.US: None, DelayUnit.MS: "us", DelayUnit.S: "ms"}


def find_implausible(survey: Survey, *, unit: DelayUnit) -> tuple[str, ...]:
    """Find what speaks against round trips being what they are said to be."""
    known, missing = _known(survey.rtt_ms)
    warnings = []
    if len(known):
        if len(known) >= EQUAL_PAIRS and known.min() == known.max():
            warnings.append(f"all {len(known)} round trips are {known[0]:g} ms: was this measured?")
        figures = np.percentile(known, (5, 50, 95), overwrite_input=True)
        low, median, high = (float(figure) for figure in figures)
        warnings += _of_unit(len(survey), unit, low, median, high)
    pairs = len(survey) * (len(survey) - 1) // 2
    if pairs and missing > MISSING_ABOVE_RATIO * pairs:
        warnings.append(f"{missing} of {pairs} pairs are missing ({missing / pairs:.0%})")
    return tuple(warnings)


def _known(rtt_ms: Delays) -> tuple[Delays, int]:
    """Return the round trips between different nodes, and how many pairs are known in neither direction."""
    unknown = np.isnan(rtt_ms)
    others = ~np.eye(len(rtt_ms), dtype=bool)
    return rtt_ms[others & ~unknown], int(np.count_nonzero(others & unknown & unknown.T)) // 2


def _of_unit(nodes: int, unit: DelayUnit, low: float, median: float, high: float) -> list[str]:
    """Say whether another unit would fit the 5th, 50th and 95th percentile better."""
    figures = f"the median round trip is {median:.4g} ms (5 % below {low:.4g}, 5 % above {high:.4g})"
    if median > MEDIAN_ABOVE_MS:
        return [f"{figures}, more than any network takes{_perhaps(_SMALLER[unit], unit)}"]
    if median < MEDIAN_BELOW_MS and nodes > 2:
        return [f"{figures}, less than one machine takes to answer itself{_perhaps(_LARGER[unit], unit)}"]
    if nodes >= ROOM_NODES and median < ROOM_MEDIAN_MS and high >= ROOM_SPREAD_RATIO * low:
        return [f"{figures}, little for {nodes} nodes so unequal{_perhaps(_LARGER[unit], unit)}"]
    return []


def _perhaps(other: str | None, unit: DelayUnit) -> str:
    return f": are the figures in {other} rather than {unit}?" if other else ""
