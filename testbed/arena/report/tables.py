"""The page's tables: comparison, all workloads at a glance, the reference's figures, sensitivities."""

from collections.abc import Mapping, Sequence

from testbed.arena.judging.statistics import Interval
from testbed.arena.policies.oracle_names import ORACLES
from testbed.arena.report.cells import Cell, Column, Table, TableRow, heads, least, mean_cell, ratio_cell
from testbed.arena.report.measures import MEASURES, PROVISIONING, Measure
from testbed.arena.report.numbers import NOTHING, as_given, counted, figure
from testbed.arena.report.outcomes import Outcomes

GLANCE = ("cost", "lag_above_slo_s", "reconfigurations")
"""What a reader compares first: what it cost, what the rows suffered, how often it moved."""


def comparison(
    outcomes: Outcomes, workload: str, measures: Sequence[Measure], *, key: str, caption: str
) -> Table:
    """Return policies against metrics on a workload: means, intervals, ratios to the baseline, the best marked."""
    means = {
        measure: {policy: outcomes.mean(workload, policy, measure.name) for policy in outcomes.policies}
        for measure in measures
    }
    rows = []
    for policy in outcomes.policies:
        cells = tuple(_mean_cell(outcomes, workload, policy, measure, means[measure]) for measure in measures)
        note = run_note(outcomes, workload, policy)
        rows.append(TableRow(name=policy, note=note, policy=policy, cells=cells))
    return Table(key=key, caption=caption, corner="policy", columns=heads(measures), rows=tuple(rows))


def _mean_cell(
    outcomes: Outcomes,
    workload: str,
    policy: str,
    measure: Measure,
    means: Mapping[str, Interval | None],
) -> Cell:
    """Return a policy's mean with its ratio to the baseline; marked where it is the least of all but the oracles."""
    if not measure.ratio:
        return mean_cell(means[policy])
    ratio = None
    if policy != outcomes.baseline:
        ratio = outcomes.against_baseline(workload, policy, measure.name).ratio
    mean, best = means[policy], least([each for name, each in means.items() if name not in ORACLES])
    return mean_cell(mean, ratio, best=mean is not None and policy not in ORACLES and mean.mean == best)


def run_note(outcomes: Outcomes, workload: str, policy: str) -> str:
    """Return a short note on a policy's runs on a workload."""
    group = outcomes.of(workload, policy)
    runs, lost = group.results, group.lost
    left = sum(1 for result in runs if result.metrics.get("drained") is False)
    notes = ["baseline"] if policy == outcomes.baseline else ["oracle"] if policy in ORACLES else []
    notes.append(counted(len(runs), "run") if runs else "not run")
    notes += [f"{lost} lost"] if lost else []
    notes += [f"{left} not drained"] if left else []
    return ", ".join(notes)


def at_a_glance(outcomes: Outcomes) -> tuple[Table, ...]:
    """Return workloads against policies, a table for each metric of `GLANCE`."""
    by_name = {measure.name: measure for measure in MEASURES}
    return tuple(_matrix(outcomes, by_name[name]) for name in GLANCE)


def _matrix(outcomes: Outcomes, measure: Measure) -> Table:
    rows = []
    for workload in outcomes.experiment.workloads:
        means = {policy: outcomes.mean(workload, policy, measure.name) for policy in outcomes.policies}
        cells = tuple(_mean_cell(outcomes, workload, policy, measure, means) for policy in means)
        rows.append(TableRow(name=workload, cells=cells))
    unit = f", {measure.unit}" if measure.unit else ""
    return Table(
        key=f"glance-{measure.name}",
        caption=f"{measure.label}{unit}: mean over the runs, and its ratio to {outcomes.baseline}",
        corner="workload",
        columns=tuple(Column(label=policy) for policy in outcomes.policies),
        rows=tuple(rows),
    )


def next_to_reference(outcomes: Outcomes, workload: str, *, key: str) -> Table | None:
    """Return the reference's figures with ours below each, as ratios to the baseline; None where there are none."""
    reference = outcomes.experiment.reference
    theirs_by_policy = reference.of(workload) if reference is not None else {}
    if outcomes.baseline not in theirs_by_policy:
        return None
    base = theirs_by_policy[outcomes.baseline]
    measures = [
        measure for measure in MEASURES if any(measure.name in of for of in theirs_by_policy.values())
    ]
    rows = []
    for policy, figures in theirs_by_policy.items():
        theirs = tuple(
            _their_cell(figures, base, measure, policy == outcomes.baseline) for measure in measures
        )
        rows.append(TableRow(name=policy, note="theirs", cells=theirs, policy=policy))
        if policy in outcomes.policies:
            ours = tuple(_our_cell(outcomes, workload, policy, measure) for measure in measures)
            rows.append(TableRow(name=policy, note="ours", cells=ours, policy=policy))
    caption = f"{workload}: ratios to {outcomes.baseline}, theirs and ours; of {outcomes.baseline} itself the figures"
    return Table(key=key, caption=caption, corner="policy", columns=heads(measures), rows=tuple(rows))


def _their_cell(
    figures: Mapping[str, float], base: Mapping[str, float], measure: Measure, is_base: bool
) -> Cell:
    value, against = figures.get(measure.name), base.get(measure.name)
    if value is None:
        return Cell(text=NOTHING)
    if is_base or not against:
        return Cell(text=as_given(value))
    return Cell(text=f"×{figure(value / against)}", detail=as_given(value))


def _our_cell(outcomes: Outcomes, workload: str, policy: str, measure: Measure) -> Cell:
    mean = outcomes.mean(workload, policy, measure.name)
    if policy == outcomes.baseline:
        return mean_cell(mean)
    return ratio_cell(outcomes.against_baseline(workload, policy, measure.name).ratio, mean)


def sensitivities(outcomes: Outcomes, workload: str, *, key: str) -> tuple[Table, ...]:
    """Return variants against metrics, a table for each policy; nothing where fewer than two were played."""
    played = {result.case.variant for result in outcomes.results if result.case.workload == workload}
    variants = [variant for variant in outcomes.experiment.variant_names if variant in played]
    if len(variants) < 2:
        return ()
    measures = [*PROVISIONING, *(measure for measure in MEASURES if measure.name == "lag_above_slo_s")]
    tables = []
    for index, policy in enumerate(outcomes.policies):
        of_baseline = policy == outcomes.baseline
        rows = []
        for variant in variants:
            cells = tuple(_variant_cell(outcomes, workload, policy, measure, variant) for measure in measures)
            rows.append(TableRow(name=variant, cells=cells, policy=policy))
        shown = "mean" if of_baseline else f"ratio to {outcomes.baseline} under the same variant"
        tables.append(
            Table(
                key=f"{key}-{index}",
                caption=f"{policy} on {workload}: {shown}",
                corner="variant",
                columns=heads(measures),
                rows=tuple(rows),
            )
        )
    return tuple(tables)


def _variant_cell(outcomes: Outcomes, workload: str, policy: str, measure: Measure, variant: str) -> Cell:
    mean = outcomes.mean(workload, policy, measure.name, variant)
    if policy == outcomes.baseline:
        return mean_cell(mean)
    return ratio_cell(outcomes.against_baseline(workload, policy, measure.name, variant).ratio, mean)


def lost_runs(outcomes: Outcomes) -> Table | None:
    """Return the lost runs with their reasons, equal ones in one row; None where none was lost."""
    grouped: dict[tuple[str, str, str, str], list[int]] = {}
    for result in outcomes.lost:
        case = result.case
        grouped.setdefault((case.policy, case.workload, case.variant, result.lost), []).append(case.seed)
    if not grouped:
        return None
    rows = []
    for (policy, workload, variant, reason), seeds in sorted(grouped.items()):
        shown = ", ".join(map(str, sorted(seeds)[:8])) + (
            f" and {len(seeds) - 8} more" if len(seeds) > 8 else ""
        )
        cells = (Cell(text=workload), Cell(text=variant or "–"), Cell(text=shown), Cell(text=reason))
        rows.append(TableRow(name=policy, policy=policy, cells=cells))
    columns = tuple(Column(label=label) for label in ("workload", "variant", "seeds", "reason"))
    caption = f"{counted(len(outcomes.lost), 'lost run')}; no mean includes them, and the others went on"
    return Table(key="lost", caption=caption, corner="policy", columns=columns, rows=tuple(rows))
