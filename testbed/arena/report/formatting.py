"""Formats numbers and names for reports and tables."""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import PurePath

from testbed.arena.case import Case, CaseResult
from testbed.arena.evaluation.statistics import Interval
from testbed.arena.experiments.experiment import Experiment

MINUS = "−"
NOTHING = "–"


def figure(value: float | None) -> str:
    """Format a number with three significant digits and separated thousands; a dash for None.

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
    """Format an interval as ``[0.8, 1.2]``; empty if it is unknown."""
    if low is None or high is None or not (math.isfinite(low) and math.isfinite(high)):
        return ""
    return f"[{figure(low)}, {figure(high)}]"


def format_interval(interval: Interval | None) -> str:
    """Return a figure followed by its interval; a dash for None."""
    if interval is None:
        return NOTHING
    if interval.low is not None and interval.high == math.inf:
        return f"{figure(interval.mean)} [{figure(interval.low)}, ∞]"
    return f"{figure(interval.mean)} {span(interval.low, interval.high)}".strip()


def short(value: float, _position: object = None) -> str:
    """Format a number for an axis, such as ``12k`` or ``1.5M``.

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
    """Format a number and its noun, such as ``1 run`` or ``2 runs``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def short_name(name: str) -> str:
    """Return a policy or workload without the folders of its file."""
    file, colon, rest = name.partition(":")
    return f"{PurePath(file).name}{colon}{rest}"


def short_names(names: Collection[str]) -> Mapping[str, str]:
    """Return the short form of each name, or all names unchanged if two short forms are equal.

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
    """Return an experiment and its results with short names."""
    workloads, policies = short_names(experiment.workloads), short_names(experiment.policies)
    renamed = experiment.model_copy(
        update={"workloads": tuple(workloads.values()), "policies": tuple(policies.values())}
    )
    return renamed, [
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
    """Return the title of the page of a run."""
    names = {**short_names(experiment.workloads), **short_names(experiment.policies)}
    return f"{names[case.policy]} on {names[case.workload]}, seed {case.seed}"
