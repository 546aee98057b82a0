"""One row of a map: the round trips from this machine to others."""

import math
from collections.abc import Mapping

import numpy as np

from latency_map.measure.probes import PairSummary
from latency_map.survey import Survey


def row_to_survey(
    source: str, summaries: Mapping[str, PairSummary], *, measured_at_s: float, origin: str
) -> Survey:
    """Make a survey of one row.

    Parameters
    ----------
    measured_at_s
        When, in seconds since the epoch.
    """
    names = (source, *summaries)
    rtt_ms = np.full((len(names), len(names)), math.nan)
    np.fill_diagonal(rtt_ms, 0.0)
    medians_ms = [summary.median_ms for summary in summaries.values()]
    rtt_ms[0, 1:] = [math.nan if median_ms is None else median_ms for median_ms in medians_ms]
    return Survey(names=names, rtt_ms=rtt_ms, measured_at_s=measured_at_s, origin=origin)
