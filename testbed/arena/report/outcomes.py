"""Looks up the results of an experiment, and defines the measures of the page."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import TypeAdapter

from gesscale.common.yaml_text import read_yaml
from testbed.arena.case import CaseResult
from testbed.arena.evaluation.comparison import ResultGroup, group_results
from testbed.arena.evaluation.statistics import Interval, compare
from testbed.arena.experiments.experiment import Experiment


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """A metric of the page; less is better for every one of them."""

    #: Name in the results: a field of `testbed.scoring.sample.Scores`, or one of the frontier's.
    name: str
    label: str
    unit: str = ""
    definition: str
    #: Whether its ratio to the baseline is meaningful; it is not for a relative metric.
    ratio: bool = True


_GROUPS = TypeAdapter(dict[str, tuple[Measure, ...]]).validate_python(
    read_yaml(Path(__file__).with_name("measures.yaml"))
)
PROVISIONING, DELAY, HEADCOUNT, DISTANCE = (
    _GROUPS[name] for name in ("provisioning", "delay", "headcount", "distance")
)
MEASURES = (*PROVISIONING, *DELAY, *HEADCOUNT, *DISTANCE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcomes:
    """Results of an experiment with its baseline."""

    experiment: Experiment
    results: Sequence[CaseResult]
    #: The policy that the others are compared with.
    baseline: str
    _groups: Mapping[tuple[str, str, str], ResultGroup] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        groups = group_results(self.experiment, self.results)
        found = {(group.variant, group.workload, group.policy): group for group in groups}
        object.__setattr__(self, "_groups", found)

    @property
    def policies(self) -> tuple[str, ...]:
        """Policies in the experiment's order."""
        return self.experiment.policies

    @property
    def lost(self) -> list[CaseResult]:
        """Lost runs."""
        return [result for result in self.results if result.lost]

    def of(self, workload: str, policy: str) -> ResultGroup:
        """Return a policy's runs on a workload in the first variant, in the order of seeds."""
        name = self.experiment.variant_names[0]
        none = ResultGroup(variant=name, workload=workload, policy=policy, results=())
        return self._groups.get((name, workload, policy), none)

    def mean(self, workload: str, policy: str, metric: str) -> Interval | None:
        """Return a metric's mean over the runs that have it, with its interval."""
        return self.of(workload, policy).interval(metric)

    def ratio(self, workload: str, policy: str, metric: str) -> Interval | None:
        """Return the ratio of a policy's mean to the baseline's over the same seeds."""
        ours = self.of(workload, policy).by_seed(metric)
        return compare(ours, self.of(workload, self.baseline).by_seed(metric)).ratio

    def trajectories(self, workload: str) -> Mapping[str, CaseResult]:
        """Return the first run of each policy on a workload that has a trajectory."""
        found: dict[str, CaseResult] = {}
        for policy in self.policies:
            for result in self.of(workload, policy).results:
                if result.series.get("t_s"):
                    found.setdefault(policy, result)
        return found


def metric_of(result: CaseResult, metric: str) -> float | None:
    """Return a metric as a finite number, or None."""
    value = result.metrics.get(metric)
    return float(value) if value is not None and math.isfinite(value) else None
