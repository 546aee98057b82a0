"""Results as records, and per policy and workload the mean of each metric with its interval."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gesscale.api_version import API_VERSION
from gesscale.model.document import as_document
from testbed.arena.case import CaseResult
from testbed.arena.experiments.experiment import Experiment
from testbed.arena.judging.statistics import Interval, mean_interval


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultGroup:
    """The runs of a policy on a workload, over all seeds.

    Attributes
    ----------
    results
        In the order of the seeds, lost ones too.
    """

    variant: str
    workload: str
    policy: str
    results: tuple[CaseResult, ...]

    @property
    def lost(self) -> int:
        """How many of the runs were lost."""
        return sum(bool(result.lost) for result in self.results)

    def by_seed(self, metric: str) -> Mapping[int, float | None]:
        """Return a metric of each run; None where the run was lost or has no such figure."""
        return {result.case.seed: _number(result.metrics.get(metric)) for result in self.results}

    def interval(self, metric: str) -> Interval | None:
        """Return a metric's mean over the runs that have it; None where none has."""
        return mean_interval([value for value in self.by_seed(metric).values() if value is not None])


def group_results(experiment: Experiment, results: Sequence[CaseResult]) -> tuple[ResultGroup, ...]:
    """Group results by variant, workload and policy, in the experiment's order; groups without any are left out."""
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
    """Return the metrics that any of the results has, in the order in which they have them."""
    return tuple(dict.fromkeys(name for result in results for name in result.metrics))


def records(results: Sequence[CaseResult]) -> list[dict[str, Any]]:
    """Return one flat record for each run: its case, ``lost`` (the reason or None), and every metric by its name."""
    names = metric_names(results)
    return [
        {
            "policy": result.case.policy,
            "workload": result.case.workload,
            "variant": result.case.variant,
            "seed": result.case.seed,
            "lost": result.lost or None,
            **{name: as_document(result.metrics.get(name)) for name in names},
        }
        for result in results
    ]


def results_document(experiment: Experiment, results: Sequence[CaseResult]) -> dict[str, Any]:
    """Return what ``gesscale arena run`` writes as JSON.

    Returns
    -------
    dict
        ``runs``, see `records`, and ``summary``: per variant, workload and policy how many ``runs``, how many of
        them ``lost``, and for each metric its mean, low, high and over how many runs.
    """
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
