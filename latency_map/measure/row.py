"""One row of a map: the round trips from this machine to others."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from latency_map.measure.probes import PairSummary, RttSample, UnknownHost, Unreachable, summarise
from latency_map.survey import Survey


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetReport:
    """What the probes of one node said.

    Attributes
    ----------
    address
        Where it was asked.
    summary
        Times and counts.
    reason
        Why the last probe that could not be sent or delivered failed; empty where there was none.
    """

    address: str
    summary: PairSummary
    reason: str


def report_target(address: str, samples: Sequence[RttSample]) -> TargetReport:
    """Sum up the probes of one node, in the order of sending."""
    reasons = [sample.reason for sample in samples if isinstance(sample, UnknownHost | Unreachable)]
    return TargetReport(address=address, summary=summarise(samples), reason=reasons[-1] if reasons else "")


def row_to_survey(
    source: str, reports: Mapping[str, TargetReport], *, measured_at_s: float, origin: str
) -> Survey:
    """Make a survey of one row.

    Parameters
    ----------
    source
        The node that measured.
    reports
        By node; the source is not among them, and at least one replied.
    measured_at_s
        When, in seconds since the epoch.
    origin
        Where it comes from, for people.

    Returns
    -------
    Survey
        The source first, then the others; only the row of the source is known, where there was a reply.
    """
    names = (source, *reports)
    rtt_ms = np.full((len(names), len(names)), math.nan)
    np.fill_diagonal(rtt_ms, 0.0)
    medians_ms = [report.summary.median_ms for report in reports.values()]
    rtt_ms[0, 1:] = [math.nan if median_ms is None else median_ms for median_ms in medians_ms]
    return Survey(names=names, rtt_ms=rtt_ms, measured_at_s=measured_at_s, origin=origin)
