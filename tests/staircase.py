"""A policy under a load that climbs five steps and comes down again, in the arena's simulated world."""

from collections.abc import Mapping

from testbed.arena.case import Case, CaseResult
from testbed.arena.experiments.experiment import experiment_of
from testbed.arena.runner import run_case

WORKLOAD = "steps:10"
"""20, 40, 60, 80 and 100 % of the peak, 80 %, ... 20 %: nine steps of the same length, in a tenth of the time."""


def climb(
    policy: str, engine: str, operators: Mapping[str, object] | None = None, workload: str = WORKLOAD, **rules: object
) -> CaseResult:
    """Return the run; its peak needs 80 % of what eight replicas can do."""
    case = Case(workload=workload, seed=0, policy=policy)
    document = {
        "name": "staircase",
        "engine": engine,
        "policies": [policy],
        "workloads": [workload],
        "nodes": {"topology": "edge8"},
        "seeds": 1,
        "operators": operators or {"operator": {}},
        "rules": rules,
    }
    return run_case(experiment_of(document, "test"), case, with_series=True)


def supply(result: CaseResult) -> list[float]:
    """Return how many replicas there were, from the beginning of the run to its end."""
    return [count for count in result.series["supply_replicas"] if count is not None]
