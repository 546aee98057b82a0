"""Numbers and names as the report writes them."""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import PurePath

from testbed.arena.case import Case, CaseResult
from testbed.arena.experiments.experiment import Experiment

MINUS = "−"
NOTHING = "–"


def figure(value: float | None) -> str:
    """Write a number with three digits that count and thousands apart; a dash where there is none.

    Examples
    --------
    >>> [figure(value) for value in (1199.5, 51.11, 0.163, 25.0, -0.5, 0, None)]
    ['1,200', '51.1', '0.163', '25', '−0.5', '0', '–']
    """
    if value is None or not math.isfinite(value):
        return NOTHING
    if value == 0:
        return "0"
    decimals = min(4, max(0, 2 - math.floor(math.log10(abs(value)))))
    text = f"{abs(value):,.{decimals}f}"
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return f"{MINUS}{text}" if value < 0 and text != "0" else text


def span(low: float | None, high: float | None) -> str:
    """Write an interval, ``[0.8, 1.2]``; nothing where it is unknown."""
    if low is None or high is None or not (math.isfinite(low) and math.isfinite(high)):
        return ""
    return f"[{figure(low)}, {figure(high)}]"


def short(value: float, _position: object = None) -> str:
    """Write the number of an axis: ``12k``, ``1.5M``.

    Examples
    --------
    >>> [short(value) for value in (0, 250, 1500, 12000, 2_500_000, -3)]
    ['0', '250', '1.5k', '12k', '2.5M', '−3']
    """
    for limit, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= limit:
            return f"{value / limit:.3g}{letter}".replace("-", MINUS)
    return f"{value:.3g}".replace("-", MINUS)


def counted(number: int, noun: str) -> str:
    """Write a number and its noun: ``1 run``, ``2 runs``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def short_name(name: str) -> str:
    """Return a policy or workload without the folders of its file."""
    file, colon, rest = name.partition(":")
    return f"{PurePath(file).name}{colon}{rest}"


def short_names(names: Collection[str]) -> Mapping[str, str]:
    """Return for each name what it is called in the report: its short name, or all names whole where two are alike.

    Examples
    --------
    >>> short_names(["gesscale", "/home/me/mine.csv", "/home/me/mine.py:Mine"])
    {'gesscale': 'gesscale', '/home/me/mine.csv': 'mine.csv', '/home/me/mine.py:Mine': 'mine.py:Mine'}
    >>> short_names(["/a/mine.csv", "/b/mine.csv"])
    {'/a/mine.csv': '/a/mine.csv', '/b/mine.csv': '/b/mine.csv'}
    """
    short = {name: short_name(name) for name in names}
    return short if len(set(short.values())) == len(short) else {name: name for name in names}


def with_short_names(experiment: Experiment, results: Sequence[CaseResult]) -> tuple[Experiment, list[CaseResult]]:
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


def run_title(experiment: Experiment, case: Case) -> str:
    """Return what the page of a run is called."""
    names = {**short_names(experiment.workloads), **short_names(experiment.policies)}
    return f"{names[case.policy]} on {names[case.workload]}, seed {case.seed}"
