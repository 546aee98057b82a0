"""Checks: what is wrong with a survey, how much it matters, and what to do about it.

Which findings are errors is a law: there is one exactly where `Survey.to_map`, asked with the same asymmetry,
refuses the survey or leaves a pair without a delay. These are missing pairs (and the islands they make), a node
apart from itself, and, where asymmetry is to be refused, two directions that differ.
"""

from collections.abc import Iterator

import numpy as np

from latency_map.delays import Delays, round_trips_ms
from latency_map.kinds import Asymmetry, DelayKind, DelayUnit
from latency_map.quality.findings import Concern, Finding, QualityReport, Severity, Worst
from latency_map.quality.outliers import VOTES_RATIO, find_outliers
from latency_map.quality.pairs import find_islands, first_pair, missing_pairs
from latency_map.quality.triangles import find_broken_triangles
from latency_map.survey import Survey

#: Share of shorter detours up to which triangles are broken as on any wide network: PlanetLab has 0.06, and
#: Seattle's noisy measurements 0.19.
USUAL_BROKEN_RATIO = 0.1

#: Age from which a survey is old: a day, the rhythm of the load on shared links.
OLD_AFTER_S = 86400.0

#: Median relative difference of two directions up to which they differ as two measurements do.
USUAL_DIFFERENCE_RATIO = 0.1

_MOSTLY_RATIO = 0.5


def check(survey: Survey, now_s: float | None = None, *, asymmetry: Asymmetry | None = None) -> QualityReport:
    """Judge a survey.

    Parameters
    ----------
    now_s
        Seconds since the epoch, to compute its age; None leaves age out.
    """
    rule = survey.asymmetry_rule(asymmetry)
    combined_ms = round_trips_ms(
        survey.rtt_ms,
        unit=DelayUnit.MS,
        kind=DelayKind.RTT,
        asymmetry=Asymmetry.MEAN if rule is Asymmetry.MEAN else Asymmetry.MAX,
    )
    found = [
        *_find_missing(survey),
        *_find_self_delays(survey),
        *_find_asymmetry(survey, rule),
        *_find_one_way(survey),
        *_find_zeros(survey),
        *_find_estimated(survey),
        *_find_broken_triangles(survey),
        *_find_outliers(survey.names, combined_ms),
        *_find_age(survey, now_s),
    ]
    severities = list(Severity)
    findings = tuple(sorted(found, key=lambda finding: severities.index(finding.severity)))
    return _conclude(survey, findings, rule)


def _conclude(survey: Survey, findings: tuple[Finding, ...], rule: Asymmetry) -> QualityReport:
    errors = [finding.concern for finding in findings if finding.severity is Severity.ERROR]
    warnings = sum(finding.severity is Severity.WARNING for finding in findings)
    repairs = _repairs(errors)
    if not errors:
        given = any(finding.concern is Concern.ASYMMETRY for finding in findings)
        verdict = "usable for decisions as it is" + (f", by the {rule} of two directions" if given else "")
    else:
        verdict = f"not usable for decisions as it is; repair {' '.join(repairs)} makes it so"
    if warnings:
        verdict += f"; {warnings} warning{'s' if warnings > 1 else ''}"
    n = len(survey)
    return QualityReport(
        nodes=n, pairs=n * (n - 1) // 2, findings=findings, usable=not errors, repairs=repairs, verdict=verdict
    )


def _repairs(errors: list[Concern]) -> tuple[str, ...]:
    options = {
        Concern.SELF_DELAYS: "--zero-diagonal",
        Concern.ASYMMETRY: "--symmetrise max",
        Concern.MISSING_PAIRS: "--fill coordinates",
        Concern.ISLANDS: "--drop-incomplete",
    }
    return tuple(option for concern, option in options.items() if concern in errors)


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
    groups = [tuple(sorted(np.array(survey.names)[islands == island].tolist())) for island in range(len(sizes))]
    smallest = min(groups, key=lambda names: (len(names), names))
    shown = ", ".join(smallest[:3]) + (f", ... {len(smallest) - 3} more" if len(smallest) > 3 else "")
    yield Finding(
        concern=Concern.ISLANDS,
        severity=Severity.ERROR,
        count=n - int(sizes.max()),
        out_of=n,
        counted="nodes outside the largest island",
        worst=Worst(nodes=smallest, rtt_ms=None, text=f"no measured way from {shown} to the others"),
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
    median = float(np.median(relative))
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
            worst=Worst(nodes=(node,), rtt_ms=None, text=f"{node}: no delay from it to {per_node.max()} that reach it"),
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


def _find_broken_triangles(survey: Survey) -> Iterator[Finding]:
    triangles = find_broken_triangles(survey.rtt_ms, survey.names)
    if triangles.worst is None:
        return
    a, b, via = (survey.names[position] for position in triangles.worst)
    share = triangles.broken / triangles.judged
    sample = f" (a sample: by way of {triangles.sampled_nodes} nodes)" if triangles.sampled_nodes else ""
    usual = share <= USUAL_BROKEN_RATIO
    yield Finding(
        concern=Concern.BROKEN_TRIANGLES,
        severity=Severity.INFO if usual else Severity.WARNING,
        count=triangles.broken,
        out_of=triangles.judged,
        counted=f"detours{sample}",
        worst=Worst(
            nodes=(a, b, via),
            rtt_ms=triangles.worst_ms,
            text=f"{a} to {b} {triangles.worst_ms:.4g} ms, by way of {via} {triangles.saving_ms:.4g} ms less",
        ),
        advice="as on any wide network: a path bounds most delays, not all"
        if usual
        else "more than a wide network has: measure again and take medians; no repair fixes it",
    )


def _find_outliers(names: tuple[str, ...], combined_ms: Delays) -> Iterator[Finding]:
    outliers = find_outliers(combined_ms, names)
    for concern, pairs, bound in (
        (Concern.SLOW_PAIRS, outliers.slow_pairs, "at most"),
        (Concern.FAST_PAIRS, outliers.fast_pairs, "at least"),
    ):
        if pairs.any():
            apart_ms = np.where(pairs, np.abs(combined_ms - outliers.allowed_ms), -1.0)
            ends = first_pair(names, apart_ms == apart_ms.max())
            a, b = sorted(ends, key=names.__getitem__)
            low, high = min(ends), max(ends)
            rtt_ms, allowed_ms = float(combined_ms[a, b]), float(outliers.allowed_ms[low, high])
            text = f"{names[a]} - {names[b]} {rtt_ms:.4g} ms, the others say {bound} {allowed_ms:.4g} ms"
            yield Finding(
                concern=concern,
                severity=Severity.WARNING,
                count=int(pairs.sum()),
                out_of=outliers.pairs_judged,
                counted="pairs",
                worst=Worst(nodes=(names[a], names[b]), rtt_ms=rtt_ms, text=text),
                advice=f"over {VOTES_RATIO:.0%} of the other nodes speak against them; measure them again",
            )


def _find_age(survey: Survey, now_s: float | None) -> Iterator[Finding]:
    if now_s is None or survey.measured_at_s is None:
        return
    age_s = now_s - survey.measured_at_s
    severity, advice = Severity.INFO, f"recent: {age_s / 3600:.3g} h old"
    if age_s < 0:
        severity, advice = Severity.WARNING, "dated in the future: set the clock where it was measured"
    elif age_s > OLD_AFTER_S:
        severity, advice = Severity.WARNING, f"{age_s / 3600:.3g} h old: measure again"
    yield Finding(concern=Concern.AGE, severity=severity, count=1, out_of=1, counted="map", advice=advice)
