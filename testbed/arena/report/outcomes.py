"""The results of an experiment, found by what they are of."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from testbed.arena.case import Case, CaseResult
from testbed.arena.experiments.experiment import Experiment
from testbed.arena.judging.statistics import Comparison, Interval, compare
from testbed.arena.judging.summary import ResultGroup, group_results
from testbed.arena.report.course import Series


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcomes:
    """Results with their experiment.

    Attributes
    ----------
    baseline
        The policy that the others are compared with.
    pages
        Addresses of the pages of courses, relative to the report.
    """

    experiment: Experiment
    results: Sequence[CaseResult]
    baseline: str
    pages: Mapping[Case, str] = field(default_factory=dict)
    _groups: Mapping[tuple[str, str, str], ResultGroup] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        groups = group_results(self.experiment, self.results)
        found = {(group.variant, group.workload, group.policy): group for group in groups}
        object.__setattr__(self, "_groups", found)

    @property
    def variant(self) -> str:
        """The variant with all defaults: all is about it but the sensitivities."""
        return self.experiment.variant_names[0]

    @property
    def policies(self) -> tuple[str, ...]:
        """The policies, in the experiment's order."""
        return self.experiment.policies

    @property
    def lost(self) -> list[CaseResult]:
        """The runs that were lost."""
        return [result for result in self.results if result.lost]

    def of(self, workload: str, policy: str, variant: str | None = None) -> ResultGroup:
        """Return a policy's runs on a workload, by growing seed; of the default variant unless another is named."""
        wanted = self.variant if variant is None else variant
        none = ResultGroup(variant=wanted, workload=workload, policy=policy, results=())
        return self._groups.get((wanted, workload, policy), none)

    def mean(self, workload: str, policy: str, metric: str, variant: str | None = None) -> Interval | None:
        """Return a metric's mean over the runs that have it, with its interval."""
        return self.of(workload, policy, variant).interval(metric)

    def against_baseline(
        self, workload: str, policy: str, metric: str, variant: str | None = None
    ) -> Comparison:
        """Return a policy's metric against the baseline's on the same seeds."""
        ours = self.of(workload, policy, variant).by_seed(metric)
        return compare(ours, self.of(workload, self.baseline, variant).by_seed(metric))

    def course(self, workload: str, policy: str) -> CaseResult | None:
        """Return the first run whose course was kept."""
        runs = self.of(workload, policy).results
        return next((result for result in runs if result.series.get("t_s")), None)

    def courses(self, workload: str) -> Mapping[str, Series]:
        """Return the courses on a workload by policy."""
        found = {policy: self.course(workload, policy) for policy in self.policies}
        return {policy: result.series for policy, result in found.items() if result is not None}


def metric_of(result: CaseResult, metric: str) -> float | None:
    """Return a metric as a finite number, or None."""
    value = result.metrics.get(metric)
    return float(value) if value is not None and math.isfinite(value) else None
