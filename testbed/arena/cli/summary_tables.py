"""What ``gesscale arena run`` prints."""

from collections import Counter
from collections.abc import Sequence

from rich.table import Table

from gesscale.cli.output import stderr_console
from testbed.arena.case import CaseResult
from testbed.arena.cli.tables import TextColumn, below, first_of_each, fitted, folded, short_name
from testbed.arena.experiments.experiment import Experiment
from testbed.arena.judging.comparing import choose_metrics
from testbed.arena.judging.summary import group_results

_REASONS_SHOWN = 5


def summary_tables(experiment: Experiment, results: Sequence[CaseResult]) -> list[Table]:
    """Return for each workload the means of the usual metrics, an interval below each."""
    metrics = choose_metrics(results, ())
    groups = group_results(experiment, results)
    tables: list[Table] = []
    for workload in experiment.workloads:
        inside = [group for group in groups if group.workload == workload]
        keys = [TextColumn(heading="policy", cells=[short_name(group.policy) for group in inside])]
        if any(group.variant for group in inside):
            keys.insert(
                0, TextColumn(heading="variant", cells=first_of_each(group.variant for group in inside))
            )
        counts = [
            f"{len(group.results)}" + (f"\n{group.lost} lost" if group.lost else "") for group in inside
        ]
        keys.append(TextColumn(heading="runs", cells=counts))
        figures = [
            TextColumn(heading=folded(metric), cells=[below(group.interval(metric)) for group in inside])
            for metric in metrics
        ]
        title = f"{short_name(workload)}: mean over the runs, 95 % interval below"
        tables += fitted(title, keys, figures)
    return tables


def note_lost(results: Sequence[CaseResult]) -> None:
    """Say on stderr which runs were lost, and why."""
    reasons = Counter((result.case.policy, result.lost) for result in results if result.lost)
    for (policy, reason), times in reasons.most_common(_REASONS_SHOWN):
        runs = "run" if times == 1 else "runs"
        stderr_console.print(f"{short_name(policy)} lost {times} {runs}: {reason}")
    if len(reasons) > _REASONS_SHOWN:
        stderr_console.print(f"and {len(reasons) - _REASONS_SHOWN} other reasons; see lost in --output json")
