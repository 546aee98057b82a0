"""Compares every policy with a baseline, metric by metric, and with published figures if there are any."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gesscale.common import API_VERSION
from gesscale.errors import InputError
from gesscale.model.document import as_document
from gesscale.validation import nearest
from testbed.arena.case import CaseResult
from testbed.arena.evaluation.statistics import Interval, MetricComparison, compare, mean_interval
from testbed.arena.experiments.experiment import Experiment


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultGroup:
    """The runs of a policy on a workload, over all seeds."""

    variant: str
    workload: str
    policy: str
    #: In the order of the seeds, including lost runs.
    results: tuple[CaseResult, ...]

    @property
    def lost(self) -> int:
        """Number of lost runs."""
        return sum(bool(result.lost) for result in self.results)

    def by_seed(self, metric: str) -> Mapping[int, float | None]:
        """Return a metric of each run; None if the run was lost or lacks it."""
        return {result.case.seed: _number(result.metrics.get(metric)) for result in self.results}

    def interval(self, metric: str) -> Interval | None:
        """Return a metric's mean over the runs that have it; None if no run has it."""
        return mean_interval([value for value in self.by_seed(metric).values() if value is not None])


def group_results(experiment: Experiment, results: Sequence[CaseResult]) -> tuple[ResultGroup, ...]:
    """Group results by variant, workload and policy, in the experiment's order, without empty groups."""
    grouped: dict[tuple[str, str, str], list[CaseResult]] = defaultdict(list)
    position = {case: index for index, case in enumerate(experiment.cases())}
    for result in sorted(results, key=lambda result: position[result.case]):
        case = result.case
        grouped[case.variant, case.workload, case.policy].append(result)
    return tuple(
        ResultGroup(variant=variant, workload=workload, policy=policy, results=tuple(found))
        for variant in experiment.variant_names
        for workload in experiment.workloads
        for policy in experiment.policies
        if (found := grouped.get((variant, workload, policy)))
    )


def metric_names(results: Sequence[CaseResult]) -> tuple[str, ...]:
    """Return the names of the metrics in any of the results, in their order."""
    return tuple(dict.fromkeys(name for result in results for name in result.metrics))


def records(results: Sequence[CaseResult]) -> list[dict[str, Any]]:
    """Return a flat record for each run: case, ``lost`` and ``lost_code`` (None if it was not lost), and metrics."""
    names = metric_names(results)
    return [
        {
            "policy": result.case.policy,
            "workload": result.case.workload,
            "variant": result.case.variant,
            "seed": result.case.seed,
            "lost": result.lost or None,
            "lost_code": result.lost_code or None,
            **{name: as_document(result.metrics.get(name)) for name in names},
        }
        for result in results
    ]


def results_document(experiment: Experiment, results: Sequence[CaseResult]) -> dict[str, Any]:
    """Return the JSON document of ``gesscale arena run``."""
    names = metric_names(results)
    return {
        "apiVersion": API_VERSION,
        "experiment": experiment.name,
        "runs": records(results),
        "summary": [
            {
                "policy": group.policy,
                "workload": group.workload,
                "variant": group.variant,
                "runs": len(group.results),
                "lost": group.lost,
                **{name: as_document(group.interval(name)) for name in names},
            }
            for group in group_results(experiment, results)
        ],
    }


def _number(value: float | bool | None) -> float | None:
    return None if value is None else float(value)


#: Metrics of the Gesscale paper, in the order of its Table III.
PAPERS_METRICS = ("accuracy_O", "accuracy_U", "timeshare_O", "timeshare_U", "excess_time", "reconfigurations", "cost")

#: Metrics that tables show by default.
USUAL_METRICS = (*PAPERS_METRICS, "undone_changes", "latency_p95_s", "lag_above_slo_s", "above_frontier_pct")

_HIGHER_IS_BETTER = frozenset({"drained"})
#: Already relative and of either sign, so a ratio has no meaning.
_RELATIVE = frozenset({"above_frontier_pct"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """MetricComparison of one metric of a policy on a workload."""

    variant: str
    workload: str
    policy: str
    metric: str
    #: Number of runs, and of lost runs among them (runs, lost).
    runs: int
    lost: int
    #: Mean of the policy; None if no run has the metric.
    ours: Interval | None
    #: MetricComparison with the baseline; None for the baseline itself, and if the baseline has no runs here.
    against: MetricComparison | None
    #: Ratio of the published figures of policy and baseline; None if one of them is missing.
    reference_ratio: float | None


def compare_results(
    experiment: Experiment, results: Sequence[CaseResult], *, baseline: str, metrics: Sequence[str]
) -> tuple[Compared, ...]:
    """Compare every policy with a baseline on the same workload, variant and seeds."""
    groups = group_results(experiment, results)
    worlds = dict.fromkeys((group.variant, group.workload) for group in groups)
    compared: list[Compared] = []
    for world in worlds:
        inside = [group for group in groups if (group.variant, group.workload) == world]
        base = next((group for group in inside if group.policy == baseline), None)
        compared += [_compared(experiment, group, base, metric) for metric in metrics for group in inside]
    return tuple(compared)


def choose_baseline(results: Sequence[CaseResult], requested: str | None, experiment: Experiment) -> str:
    """Return the requested policy, or by default the experiment's first one with results.

    Raises
    ------
    InputError
        If the requested policy has no results, or there are none at all.
    """
    present = {result.case.policy for result in results}
    names = [policy for policy in experiment.policies if policy in present]
    if not names:
        raise InputError("results-empty")
    if requested is not None and requested not in names:
        raise InputError("baseline-without-results", baseline=requested, nearest=nearest(requested, names))
    return requested or names[0]


def choose_metrics(results: Sequence[CaseResult], requested: Sequence[str]) -> tuple[str, ...]:
    """Return the requested metrics, or by default the usual ones of tables.

    Raises
    ------
    InputError
        If the results lack a requested metric.
    """
    names = metric_names(results)
    for name in requested:
        if name not in names:
            raise InputError("metric-without-results", metric=name, nearest=nearest(name, names))
    return tuple(requested) or tuple(name for name in USUAL_METRICS if name in names)


def _compared(experiment: Experiment, group: ResultGroup, base: ResultGroup | None, metric: str) -> Compared:
    against = None
    if base is not None and base is not group:
        against = compare(
            group.by_seed(metric),
            base.by_seed(metric),
            higher_is_better=metric in _HIGHER_IS_BETTER,
            as_ratio=metric not in _RELATIVE,
        )
    figures = experiment.reference.of(group.workload) if experiment.reference else {}
    return Compared(
        variant=group.variant,
        workload=group.workload,
        policy=group.policy,
        metric=metric,
        runs=len(group.results),
        lost=group.lost,
        ours=group.interval(metric),
        against=against,
        reference_ratio=_ratio_of_figures(figures, group, base, metric),
    )


def _ratio_of_figures(
    figures: Mapping[str, Mapping[str, float]], group: ResultGroup, base: ResultGroup | None, metric: str
) -> float | None:
    if base is None or base is group:
        return None
    ours = figures.get(group.policy, {}).get(metric)
    theirs = figures.get(base.policy, {}).get(metric)
    return ours / theirs if ours is not None and theirs else None
