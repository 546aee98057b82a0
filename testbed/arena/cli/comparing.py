"""``gesscale arena compare`` and ``report``: results that were kept, judged."""

from collections.abc import Callable, Sequence
from pathlib import Path

from rich.table import Table

from gesscale.api_version import API_VERSION
from gesscale.cli.output import Output, emit, stderr_console
from testbed.arena.case import CaseResult
from testbed.arena.cli.summary_tables import note_lost
from testbed.arena.cli.tables import (
    TextColumn,
    bare_ratio,
    first_of_each,
    fitted,
    folded,
    on_one_line,
    relation,
    short_name,
)
from testbed.arena.experiments.experiment import Experiment
from testbed.arena.judging.comparing import Compared, choose_baseline, choose_metrics, compare_results
from testbed.arena.report.formatting import figure
from testbed.arena.runs.results import read_results

_FEW = 8
"""Below so many seeds an interval is narrower than it says, which is worth a word."""

_REFERENCE = "reference"
"""Stands in the place of a variant."""


def compare_policies(*, folder: Path, baseline: str | None, metric: list[str] | None, output: Output) -> None:
    """Compare every policy with a baseline, seed by seed: means, ratios, how often it was better."""
    experiment, results = read_results(folder)
    base = choose_baseline(results, baseline, experiment)
    compared = compare_results(
        experiment, results, baseline=base, metrics=choose_metrics(results, metric or ())
    )
    emit(_document(experiment, base, compared), output, _tables(base, compared))
    say_what_lacks(folder, experiment, results)


def write_page(*, folder: Path, file: Path, baseline: str | None, courses: int) -> None:
    """Write results as one HTML page: the course of a run of each policy, and the comparison."""
    experiment, results = read_results(folder)
    from testbed.arena.report.course_pages import write_course_pages
    from testbed.arena.report.page import write_report

    base = choose_baseline(results, baseline, experiment)
    pages = write_course_pages(
        experiment, results, file, most=courses, baseline=base, say=stderr_console.print
    )
    write_report(experiment, results, file, baseline=base, pages=pages)
    stderr_console.print(f"wrote {file}")
    say_what_lacks(folder, experiment, results)


def _document(experiment: Experiment, baseline: str, compared: Sequence[Compared]) -> dict[str, object]:
    reference = None if experiment.reference is None else experiment.reference.source
    return {
        "apiVersion": API_VERSION,
        "experiment": experiment.name,
        "baseline": baseline,
        "reference": reference,
        "comparisons": compared,
    }


def _tables(baseline: str, compared: Sequence[Compared]) -> list[Table]:
    tables: list[Table] = []
    first, *others = dict.fromkeys(entry.variant for entry in compared)
    for workload in dict.fromkeys(entry.workload for entry in compared):
        inside = [entry for entry in compared if entry.workload == workload]
        tables += _comparison(workload, baseline, [entry for entry in inside if entry.variant == first])
        if others:
            tables += _sensitivities(workload, baseline, inside)
    return tables


def _comparison(workload: str, baseline: str, entries: Sequence[Compared]) -> list[Table]:
    """Return a block of rows for each metric, its policies indented."""
    rows: list[Compared | str] = []
    for metric in dict.fromkeys(entry.metric for entry in entries):
        rows += [metric, *(entry for entry in entries if entry.metric == metric)]

    def column(heading: str, cell: Callable[[Compared], str]) -> TextColumn:
        return TextColumn(heading=heading, cells=["" if isinstance(row, str) else cell(row) for row in rows])

    names = [row if isinstance(row, str) else f"  {_policy(row)}" for row in rows]
    figures = [
        column("mean", lambda entry: on_one_line(entry.ours)),
        column("to the baseline", lambda entry: relation(entry.against)),
        column("better", _wins),
    ]
    if any(entry.reference_ratio is not None for entry in entries):
        figures.append(column("reference", _reference))
    variant = f", variant {entries[0].variant}" if entries[0].variant else ""
    title = f"{short_name(workload)}{variant}: against {short_name(baseline)}, [95 % interval]"
    return fitted(title, [TextColumn(heading="", cells=names)], figures)


def _sensitivities(workload: str, baseline: str, entries: Sequence[Compared]) -> list[Table]:
    """Return each metric's ratio to the baseline under each variant, the reference's below."""
    compared = [entry for entry in entries if entry.against is not None]
    rows: list[tuple[str, str]] = []
    for policy in dict.fromkeys(entry.policy for entry in compared):
        own = [entry for entry in compared if entry.policy == policy]
        rows += [(policy, variant) for variant in dict.fromkeys(entry.variant for entry in own)]
        if any(entry.reference_ratio is not None for entry in own):
            rows.append((policy, _REFERENCE))
    cells = {(entry.policy, entry.variant, entry.metric): bare_ratio(entry.against) for entry in compared}
    cells |= {(entry.policy, _REFERENCE, entry.metric): _reference(entry) for entry in compared}
    metrics = dict.fromkeys(
        entry.metric for entry in compared if entry.against is not None and entry.against.ratio is not None
    )
    figures = [
        TextColumn(heading=folded(metric), cells=[cells[policy, variant, metric] for policy, variant in rows])
        for metric in metrics
    ]
    keys = [
        TextColumn(heading="policy", cells=first_of_each(short_name(policy) for policy, _ in rows)),
        TextColumn(heading="variant", cells=[variant for _, variant in rows]),
    ]
    title = (
        f"{short_name(workload)}: ratios to {short_name(baseline)} under each variant; in brackets where the 95 % "
        "interval holds 1"
    )
    return fitted(title, keys, figures)


def _reference(entry: Compared) -> str:
    return "" if entry.reference_ratio is None else figure(entry.reference_ratio)


def _policy(entry: Compared) -> str:
    name = short_name(entry.policy)
    return f"{name} ({entry.lost} of {entry.runs} lost)" if entry.lost else name


def _wins(entry: Compared) -> str:
    if entry.against is None or entry.against.wins is None:
        return ""
    return f"{100 * entry.against.wins:.0f} %"


def say_what_lacks(folder: Path, experiment: Experiment, results: Sequence[CaseResult]) -> None:
    """Say on stderr which runs are not done, that seeds are few, and which runs were lost."""
    total = len(experiment.cases())
    if len(results) < total:
        stderr_console.print(
            f"note: {len(results)} of {total} runs are done; gesscale arena run --results {folder} with the same "
            "options does the rest"
        )
    seeds = len({result.case.seed for result in results})
    if seeds < _FEW:
        stderr_console.print(
            f"note: {seeds} seeds are few: below {_FEW} the intervals are too narrow; 30 are better"
        )
    note_lost(results)
