"""What is wrong with the cells of a survey: missing, zero where it should not be, two ways that differ."""

from collections.abc import Iterator

import numpy as np

from latency_map.kinds import Asymmetry
from latency_map.quality.findings import Concern, Finding, Severity, Worst
from latency_map.quality.gaps import find_islands, missing_pairs
from latency_map.quality.ties import first_pair
from latency_map.survey import Survey

USUAL_DIFFERENCE_RATIO = 0.1
"""Median relative difference of two directions up to which they differ as two measurements do."""

_MOSTLY_RATIO = 0.5


def judge_cells(survey: Survey, asymmetry: Asymmetry) -> Iterator[Finding]:
    """Find what is wrong with the cells of a survey.

    Parameters
    ----------
    survey
        Any survey.
    asymmetry
        What will be done where two directions differ: that they do is an error only where it is refused.

    Yields
    ------
    Finding
        All the errors that there are, and warnings.
    """
    yield from _find_missing(survey)
    yield from _find_self_delays(survey)
    yield from _find_asymmetry(survey, asymmetry)
    yield from _find_one_way(survey)
    yield from _find_zeros(survey)
    yield from _find_estimated(survey)


def _find_missing(survey: Survey) -> Iterator[Finding]:
    missing = missing_pairs(survey.rtt_ms)
    if not missing.any():
        return
    n, per_node = len(survey), missing.sum(axis=1)
    most = per_node.max()
    node = min(survey.names[row] for row in np.flatnonzero(per_node == most))
    yield Finding(
        concern=Concern.MISSING_PAIRS,
        severity=Severity.ERROR,
        count=int(missing.sum()) // 2,
        out_of=n * (n - 1) // 2,
        counted="pairs",
        worst=Worst(nodes=(node,), rtt_ms=None, text=f"{node}: no delay to {most} of {n - 1} nodes"),
        advice="measure them; or repair --fill path or coordinates, or --drop-incomplete",
    )
    islands = find_islands(survey.rtt_ms)
    sizes = np.bincount(islands)
    if len(sizes) == 1:
        return
    groups = [
        tuple(sorted(np.array(survey.names)[islands == island].tolist())) for island in range(len(sizes))
    ]
    smallest = min(groups, key=lambda names: (len(names), names))
    shown = ", ".join(smallest[:3]) + (f", ... {len(smallest) - 3} more" if len(smallest) > 3 else "")
    yield Finding(
        concern=Concern.ISLANDS,
        severity=Severity.ERROR,
        count=n - int(sizes.max()),
        out_of=n,
        counted="nodes outside the largest island",
        worst=Worst(nodes=smallest, rtt_ms=None, text=f"no measured way from {shown} to the others"),
        figures={"islands": len(sizes), "largest_nodes": int(sizes.max())},
        advice="measure at least one pair between them; no fill can bridge them, --drop-incomplete leaves one",
    )


def _find_self_delays(survey: Survey) -> Iterator[Finding]:
    to_itself_ms = np.nan_to_num(survey.rtt_ms.diagonal())
    count = int(np.count_nonzero(to_itself_ms))
    if count:
        most_ms = float(to_itself_ms.max())
        node = min(survey.names[row] for row in np.flatnonzero(to_itself_ms == most_ms))
        yield Finding(
            concern=Concern.SELF_DELAYS,
            severity=Severity.ERROR,
            count=count,
            out_of=len(survey),
            counted="nodes",
            worst=Worst(nodes=(node,), rtt_ms=most_ms, text=f"{node}: {most_ms:.4g} ms to itself"),
            advice="repair --zero-diagonal",
        )


def _find_asymmetry(survey: Survey, asymmetry: Asymmetry) -> Iterator[Finding]:
    there_ms = survey.rtt_ms
    apart_ms = np.triu(np.nan_to_num(np.abs(there_ms - there_ms.T)), 1)
    differing = apart_ms > 0
    if not differing.any():
        return
    both = np.triu(~np.isnan(there_ms) & ~np.isnan(there_ms.T), 1)
    relative = apart_ms[differing] / np.maximum(there_ms, there_ms.T)[differing]
    median, worst_ratio = float(np.median(relative)), float(relative.max())
    a, b = sorted(first_pair(survey.names, apart_ms == apart_ms.max()), key=survey.names.__getitem__)
    severity = Severity.WARNING if median > USUAL_DIFFERENCE_RATIO else Severity.INFO
    ways_ms = (float(there_ms[a, b]), float(there_ms[b, a]))
    yield Finding(
        concern=Concern.ASYMMETRY,
        severity=Severity.ERROR if asymmetry is Asymmetry.REFUSE else severity,
        count=int(differing.sum()),
        out_of=int(both.sum()),
        counted="pairs known both ways",
        worst=Worst(
            nodes=(survey.names[a], survey.names[b]),
            rtt_ms=max(ways_ms),
            text=f"{survey.names[a]} to {survey.names[b]} {ways_ms[0]:.4g} ms, back {ways_ms[1]:.4g} ms",
        ),
        figures={"median_difference_ratio": median, "worst_difference_ratio": worst_ratio},
        advice=f"they differ by {median:.0%} (median); repair --symmetrise max (or mean), or decide with"
        " --asymmetry max",
    )


def _find_one_way(survey: Survey) -> Iterator[Finding]:
    known = ~np.isnan(survey.rtt_ms)
    lone = known & ~known.T
    np.fill_diagonal(lone, val=False)
    if lone.any():
        per_node = lone.sum(axis=0)
        node = min(survey.names[row] for row in np.flatnonzero(per_node == per_node.max()))
        n = len(survey)
        yield Finding(
            concern=Concern.ONE_WAY_PAIRS,
            severity=Severity.WARNING,
            count=int(lone.sum()),
            out_of=n * (n - 1) // 2,
            counted="pairs",
            worst=Worst(
                nodes=(node,), rtt_ms=None, text=f"{node}: no delay from it to {per_node.max()} that reach it"
            ),
            advice="the known direction stands for both; repair --symmetrise writes it into the map",
        )


def _find_zeros(survey: Survey) -> Iterator[Finding]:
    zeros = survey.rtt_ms == 0
    np.fill_diagonal(zeros, val=False)
    if zeros.any():
        n = len(survey)
        a, b = first_pair(survey.names, zeros)
        names = (survey.names[a], survey.names[b])
        yield Finding(
            concern=Concern.ZERO_DELAYS,
            severity=Severity.WARNING,
            count=int(zeros.sum()),
            out_of=n * (n - 1),
            counted="cells",
            worst=Worst(nodes=names, rtt_ms=0.0, text=f"{names[0]} to {names[1]} 0 ms"),
            advice="a failed or rounded measurement looks like the nearest node; repair --drop-zeros, then --fill",
        )


def _find_estimated(survey: Survey) -> Iterator[Finding]:
    count = int(np.count_nonzero(survey.estimated & ~np.isnan(survey.rtt_ms)))
    if count:
        known = int(np.count_nonzero(~np.isnan(survey.rtt_ms) & ~np.eye(len(survey), dtype=bool)))
        yield Finding(
            concern=Concern.ESTIMATED,
            severity=Severity.WARNING if count > _MOSTLY_RATIO * known else Severity.INFO,
            count=count,
            out_of=known,
            counted="cells",
            advice="they were not measured; see the changes that the map lists for the error to expect",
        )
