"""Names for headings and labels: what is a file is called by its name, not by a path of somebody's machine."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import PurePath

from testbed.arena.case import Case, CaseResult
from testbed.arena.experiments.experiment import Experiment


def short_names(names: Collection[str]) -> Mapping[str, str]:
    """Return for each name what it is called in the report; no two are called the same.

    Examples
    --------
    >>> short_names(["gesscale", "/home/me/mine.csv", "/home/me/mine.py:Mine"])
    {'gesscale': 'gesscale', '/home/me/mine.csv': 'mine.csv', '/home/me/mine.py:Mine': 'mine.py:Mine'}
    >>> short_names(["/a/mine.csv", "/b/mine.csv"])
    {'/a/mine.csv': 'a/mine.csv', '/b/mine.csv': 'b/mine.csv'}
    """
    parts = {name: PurePath(name).parts if PurePath(name).is_absolute() else (name,) for name in names}
    kept = dict.fromkeys(names, 1)

    def shown(name: str) -> str:
        return str(PurePath(*parts[name][-kept[name] :])) if len(parts[name]) > 1 else name

    while True:
        counts = Counter(map(shown, names))
        alike = [name for name in names if counts[shown(name)] > 1 and kept[name] < len(parts[name])]
        if not alike:
            return {name: shown(name) for name in names}
        for name in alike:
            kept[name] += 1


def with_short_names(
    experiment: Experiment, results: Sequence[CaseResult]
) -> tuple[Experiment, list[CaseResult]]:
    """Return an experiment and its results under the names of the report."""
    workloads, policies = short_names(experiment.workloads), short_names(experiment.policies)
    called = experiment.model_copy(
        update={"workloads": tuple(workloads.values()), "policies": tuple(policies.values())}
    )
    return called, [
        replace(
            result,
            case=replace(
                result.case,
                workload=workloads.get(result.case.workload, result.case.workload),
                policy=policies.get(result.case.policy, result.case.policy),
            ),
        )
        for result in results
    ]


def course_title(experiment: Experiment, case: Case) -> str:
    """Return what the page of a run is called."""
    names = {**short_names(experiment.workloads), **short_names(experiment.policies)}
    return f"{names[case.policy]} on {names[case.workload]}, seed {case.seed}"
