"""Check of a survey: faults, their severity and the repair.

There is a finding of severity error exactly if `Survey.to_map` with the same asymmetry raises or leaves a pair without
a delay: for missing pairs (and the islands that they cause), a non-zero diagonal, and, if asymmetry is refused, two
directions that differ.
"""

from collections.abc import Iterator

import numpy as np

from gesscale.common.errors import Problem
from latency_map.delays import Delays, round_trips_ms
from latency_map.kinds import Asymmetry, DelayUnit
from latency_map.plausibility import age_problem, find_implausible
from latency_map.quality.findings import Finding, QualityReport, Severity
from latency_map.quality.outliers import find_outliers
from latency_map.quality.pairs import find_islands, first_pair, missing_pairs
from latency_map.quality.triangles import find_broken_triangles
from latency_map.survey import Survey

#: Share of shorter detours that is normal on a wide area network: PlanetLab has 0.06, the noisy measurements of Seattle
#: 0.19.
USUAL_BROKEN_RATIO = 0.1

#: Median relative difference of two directions that is normal for two measurements.
USUAL_DIFFERENCE_RATIO = 0.1

_MOSTLY_RATIO = 0.5
#: What a warning counts; the others are about the whole map.
_COUNTED = {
    "map-zero-delays": "pairs",
    "map-delays-as-lost": "pairs",
    "map-self-delays": "nodes",
    "map-nodes-unreached": "nodes",
}
#: Options of ``repair`` by the code of an error.
_REPAIRS = {
    "map-self-delays": "--zero-diagonal",
    "map-asymmetric": "--symmetrise max",
    "map-pairs-missing": "--fill coordinates",
    "map-islands": "--drop-incomplete",
}


def check(survey: Survey, now_s: float | None = None, *, asymmetry: Asymmetry | None = None) -> QualityReport:
    """Check a survey.

    Parameters
    ----------
    now_s
        Seconds since the epoch, for the age of the survey; None omits the age.
    """
    rule = survey.asymmetry_rule(asymmetry)
    combined_ms = round_trips_ms(survey.rtt_ms, asymmetry=rule)
    found = [
        *_find_missing(survey),
        *_find_asymmetry(survey, rule),
        *_find_one_way(survey),
        *_find_implausible(survey),
        *_find_estimated(survey),
        *_find_broken_triangles(survey),
        *_find_outliers(survey.names, combined_ms),
        *_find_age(survey, now_s),
    ]
    severities = list(Severity)
    findings = tuple(sorted(found, key=lambda finding: severities.index(finding.severity)))
    return _conclude(survey, findings, rule)


def _conclude(survey: Survey, findings: tuple[Finding, ...], rule: Asymmetry) -> QualityReport:
    errors = [finding.code for finding in findings if finding.severity is Severity.ERROR]
    warnings = sum(finding.severity is Severity.WARNING for finding in findings)
    repairs = tuple(option for code, option in _REPAIRS.items() if code in errors)
    if not errors:
        asymmetric = any(finding.code == "map-asymmetric" for finding in findings)
        verdict = "usable for decisions" + (f", with the {rule} of two directions" if asymmetric else "")
    else:
        verdict = f"not usable for decisions; fix it with repair {' '.join(repairs)}"
    if warnings:
        verdict += f"; {warnings} warning{'s' if warnings > 1 else ''}"
    n = len(survey)
    return QualityReport(
        nodes=n, pairs=n * (n - 1) // 2, findings=findings, usable=not errors, repairs=repairs, verdict=verdict
    )


def _find_missing(survey: Survey) -> Iterator[Finding]:
    missing = missing_pairs(survey.rtt_ms)
    if not missing.any():
        return
    n, per_node = len(survey), missing.sum(axis=1)
    most = int(per_node.max())
    node = min(survey.names[row] for row in np.flatnonzero(per_node == most))
    yield Finding(
        problem=Problem("map-pairs-missing", {"node": node, "missing": most, "others": n - 1}),
        severity=Severity.ERROR,
        count=int(missing.sum()) // 2,
        out_of=n * (n - 1) // 2,
        counted="pairs",
        nodes=(node,),
    )
    islands = find_islands(survey.rtt_ms)
    sizes = np.bincount(islands)
    if len(sizes) == 1:
        return
    groups = [tuple(sorted(np.array(survey.names)[islands == island].tolist())) for island in range(len(sizes))]
    smallest = min(groups, key=lambda names: (len(names), names))
    yield Finding(
        problem=Problem("map-islands", {"nodes": smallest}),
        severity=Severity.ERROR,
        count=n - int(sizes.max()),
        out_of=n,
        counted="nodes outside the largest island",
        nodes=smallest,
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
    nodes = (survey.names[a], survey.names[b])
    figures = {"there_ms": ways_ms[0], "back_ms": ways_ms[1], "median_ratio": median}
    yield Finding(
        problem=Problem("map-asymmetric", {"first": nodes[0], "second": nodes[1], **figures}),
        severity=Severity.ERROR if asymmetry is Asymmetry.REFUSE else severity,
        count=int(differing.sum()),
        out_of=int(both.sum()),
        counted="pairs known both ways",
        nodes=nodes,
        rtt_ms=max(ways_ms),
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
            problem=Problem("map-directions-missing", {"node": node, "missing": int(per_node.max())}),
            severity=Severity.WARNING,
            count=int(lone.sum()),
            out_of=n * (n - 1) // 2,
            counted="pairs",
            nodes=(node,),
        )


def _find_implausible(survey: Survey) -> Iterator[Finding]:
    n = len(survey)
    possible = {"pairs": n * (n - 1) // 2, "nodes": n, "maps": 1}
    for problem in find_implausible(survey, unit=DelayUnit.MS):
        if problem.code != "map-mostly-missing":  # another finding has it
            counted = _COUNTED.get(problem.code, "maps")
            yield Finding(
                problem=problem,
                severity=Severity.ERROR if problem.code == "map-self-delays" else Severity.WARNING,
                count=1 if counted == "maps" else problem.fields["count"],
                out_of=possible[counted],
                counted=counted,
            )


def _find_estimated(survey: Survey) -> Iterator[Finding]:
    count = int(np.count_nonzero(survey.estimated & ~np.isnan(survey.rtt_ms)))
    if count:
        known = int(np.count_nonzero(~np.isnan(survey.rtt_ms) & ~np.eye(len(survey), dtype=bool)))
        yield Finding(
            problem=Problem("map-estimated", {"count": count, "known": known}),
            severity=Severity.WARNING if count > _MOSTLY_RATIO * known else Severity.INFO,
            count=count,
            out_of=known,
            counted="cells",
        )


def _find_broken_triangles(survey: Survey) -> Iterator[Finding]:
    triangles = find_broken_triangles(survey.rtt_ms, survey.names)
    if triangles.worst is None:
        return
    a, b, via = (survey.names[position] for position in triangles.worst)
    sample = f" (sampled by {triangles.sampled_nodes} intermediate nodes)" if triangles.sampled_nodes else ""
    usual = triangles.broken / triangles.judged <= USUAL_BROKEN_RATIO
    figures = {"first": a, "second": b, "via": via, "rtt_ms": triangles.worst_ms, "saving_ms": triangles.saving_ms}
    yield Finding(
        problem=Problem("map-triangles-usual" if usual else "map-triangles-broken", figures),
        severity=Severity.INFO if usual else Severity.WARNING,
        count=triangles.broken,
        out_of=triangles.judged,
        counted=f"detours{sample}",
        nodes=(a, b, via),
        rtt_ms=triangles.worst_ms,
    )


def _find_outliers(names: tuple[str, ...], combined_ms: Delays) -> Iterator[Finding]:
    outliers = find_outliers(combined_ms, names)
    for code, pairs in (("map-pairs-slow", outliers.slow_pairs), ("map-pairs-fast", outliers.fast_pairs)):
        if pairs.any():
            apart_ms = np.where(pairs, np.abs(combined_ms - outliers.allowed_ms), -1.0)
            ends = first_pair(names, apart_ms == apart_ms.max())
            a, b = sorted(ends, key=names.__getitem__)
            low, high = min(ends), max(ends)
            rtt_ms, allowed_ms = float(combined_ms[a, b]), float(outliers.allowed_ms[low, high])
            figures = {"first": names[a], "second": names[b], "rtt_ms": rtt_ms, "bound_ms": allowed_ms}
            yield Finding(
                problem=Problem(code, figures),
                severity=Severity.WARNING,
                count=int(pairs.sum()),
                out_of=outliers.pairs_judged,
                counted="pairs",
                nodes=(names[a], names[b]),
                rtt_ms=rtt_ms,
            )


def _find_age(survey: Survey, now_s: float | None) -> Iterator[Finding]:
    if now_s is not None:
        problem = age_problem(survey, now_s)
        severity = Severity.WARNING if problem.code in ("map-old", "map-from-future") else Severity.INFO
        yield Finding(problem=problem, severity=severity, count=1, out_of=1, counted="map")
