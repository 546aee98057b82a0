"""One row of a map: the round trips from this machine to others."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from latency_map.errors import LatencyMapError
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
        By node; the source is not among them.
    measured_at_s
        When, in seconds since the epoch.
    origin
        Where it comes from, for people.

    Returns
    -------
    Survey
        The source first, then the others; only the row of the source is known, where there was a reply.

    Raises
    ------
    LatencyMapError
        The source is among the targets, or no target replied.
    """
    if source in reports:
        message = f"targets: expected nodes other than the source, got {source!r} among them; leave it out"
        raise LatencyMapError(message)
    if not any(report.summary.replies for report in reports.values()):
        message = f"targets: expected a reply of at least one of {len(reports)}, got none"
        raise LatencyMapError(message)
    names = (source, *reports)
    rtt_ms = np.full((len(names), len(names)), math.nan)
    np.fill_diagonal(rtt_ms, 0.0)
    medians_ms = [report.summary.median_ms for report in reports.values()]
    rtt_ms[0, 1:] = [math.nan if median_ms is None else median_ms for median_ms in medians_ms]
    return Survey(names=names, rtt_ms=rtt_ms, measured_at_s=measured_at_s, origin=origin)
