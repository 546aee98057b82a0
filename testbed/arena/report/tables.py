"""Tables of the page as values: comparison, overview of all workloads, lost runs."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from testbed.arena.evaluation.statistics import Interval
from testbed.arena.names import PERFECT_FORESIGHT
from testbed.arena.report.formatting import NOTHING, counted, figure, span
from testbed.arena.report.outcomes import MEASURES, Measure, Outcomes

#: Metrics of the overview.
GLANCE = ("cost", "lag_above_slo_s", "reconfigurations")


@dataclass(frozen=True, slots=True, kw_only=True)
class TableCell:
    """A cell of a table."""

    text: str
    #: Interval; empty without one.
    span: str = ""
    #: Ratio to the baseline, and its interval; empty without one (ratio, ratio_span).
    ratio: str = ""
    ratio_span: str = ""
    #: ``better`` or ``worse`` if the whole interval of the ratio is on that side of 1, less being better; or empty.
    verdict: str = ""
    #: Whether it is the best value of its column.
    best: bool = False
    #: Sort key of its row; None sorts last.
    sort: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TableRow:
    """A row; ``policy`` is its policy, for the selection of policies, or empty."""

    name: str
    cells: tuple[TableCell, ...]
    note: str = ""
    policy: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table; ``key`` is unique in the page, ``columns`` are pairs of label and unit."""

    key: str
    caption: str
    corner: str
    columns: tuple[tuple[str, str], ...]
    rows: tuple[TableRow, ...]


def mean_cell(mean: Interval | None, ratio: Interval | None = None, *, best: bool = False) -> TableCell:
    """Return the cell of a mean, optionally with its ratio to the baseline."""
    if mean is None:
        return TableCell(text=NOTHING)
    return TableCell(
        text=figure(mean.mean),
        span=span(mean.low, mean.high),
        ratio=f"×{figure(ratio.mean)}" if ratio else "",
        ratio_span=span(ratio.low, ratio.high) if ratio else "",
        verdict=verdict_of(ratio),
        best=best,
        sort=mean.mean,
    )


def verdict_of(ratio: Interval | None) -> str:
    """Return on which side of 1 the whole interval of a ratio is: ``better``, ``worse`` or empty."""
    if ratio is None or ratio.low is None or ratio.high is None:
        return ""
    if ratio.high < 1:
        return "better"
    return "worse" if ratio.low > 1 else ""


def comparison(outcomes: Outcomes, workload: str, measures: Sequence[Measure], *, key: str, caption: str) -> Table:
    """Return the table of policies and metrics on a workload, with the best values marked."""
    by_measure = [_cells(outcomes, workload, measure) for measure in measures]
    rows = tuple(
        TableRow(
            name=policy,
            note=run_note(outcomes, workload, policy),
            policy=policy,
            cells=tuple(cells[policy] for cells in by_measure),
        )
        for policy in outcomes.policies
    )
    columns = tuple((measure.label, measure.unit) for measure in measures)
    return Table(key=key, caption=caption, corner="policy", columns=columns, rows=rows)


def at_a_glance(outcomes: Outcomes) -> tuple[Table, ...]:
    """Return a table of workloads and policies for each metric of `GLANCE`."""
    return tuple(
        Table(
            key=f"glance-{measure.name}",
            caption=f"{measure.label}{', ' if measure.unit else ''}{measure.unit}: mean over the runs, and its ratio "
            f"to {outcomes.baseline}",
            corner="workload",
            columns=tuple((policy, "") for policy in outcomes.policies),
            rows=tuple(
                TableRow(name=workload, cells=tuple(_cells(outcomes, workload, measure).values()))
                for workload in outcomes.experiment.workloads
            ),
        )
        for measure in sorted(
            (measure for measure in MEASURES if measure.name in GLANCE), key=lambda measure: GLANCE.index(measure.name)
        )
    )


def _cells(outcomes: Outcomes, workload: str, measure: Measure) -> Mapping[str, TableCell]:
    """Return each policy's cell of a measure, with the least of all without perfect foresight marked."""
    means = {policy: outcomes.mean(workload, policy, measure.name) for policy in outcomes.policies}
    known = [mean.mean for policy, mean in means.items() if mean is not None and policy not in PERFECT_FORESIGHT]
    best = min(known) if len(known) > 1 and min(known) < max(known) else math.nan
    return {
        policy: mean_cell(
            mean,
            outcomes.ratio(workload, policy, measure.name) if measure.ratio and policy != outcomes.baseline else None,
            best=measure.ratio and mean is not None and policy not in PERFECT_FORESIGHT and mean.mean == best,
        )
        for policy, mean in means.items()
    }


def run_note(outcomes: Outcomes, workload: str, policy: str) -> str:
    """Return a short note on a policy's runs on a workload."""
    group = outcomes.of(workload, policy)
    runs, lost = group.results, group.lost
    left = sum(1 for result in runs if result.metrics.get("drained") is False)
    notes = (
        ["baseline"] if policy == outcomes.baseline else ["perfect foresight"] if policy in PERFECT_FORESIGHT else []
    )
    notes.append(counted(len(runs), "run") if runs else "not run")
    notes += [f"{lost} lost"] if lost else []
    notes += [f"{left} not drained"] if left else []
    return ", ".join(notes)


def lost_runs(outcomes: Outcomes) -> Table | None:
    """Return a table of lost runs by reason; None if no run was lost."""
    grouped: dict[tuple[str, str, str, str], list[int]] = {}
    for result in outcomes.lost:
        case = result.case
        grouped.setdefault((case.policy, case.workload, case.variant, result.lost), []).append(case.seed)
    if not grouped:
        return None
    rows = []
    for (policy, workload, variant, reason), seeds in sorted(grouped.items()):
        shown = ", ".join(map(str, sorted(seeds)[:8]))
        more = f" and {len(seeds) - 8} more" if len(seeds) > 8 else ""
        texts = (workload, variant or NOTHING, f"{shown}{more}", reason)
        rows.append(TableRow(name=policy, policy=policy, cells=tuple(TableCell(text=text) for text in texts)))
    columns = tuple((label, "") for label in ("workload", "variant", "seeds", "reason"))
    caption = f"{counted(len(outcomes.lost), 'lost run')}; no mean includes them"
    return Table(key="lost", caption=caption, corner="policy", columns=columns, rows=tuple(rows))
