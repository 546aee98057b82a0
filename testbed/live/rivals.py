"""What a recorded day would have cost with other policies: the simulator replays its load."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from testbed.arena.evaluation.comparison import ResultGroup, group_results
from testbed.arena.evaluation.standings import RunCosts
from testbed.arena.evaluation.statistics import Interval, mean_interval
from testbed.arena.report.formatting import figure, format_interval, short_name
from testbed.arena.runner import run_case
from testbed.arena.worlds.scenes import world_of
from testbed.live.record import Record
from testbed.live.report import ReportTable
from testbed.live.scenario import Scenario
from testbed.live.scoring import LiveRun, result_of_run
from testbed.live.simulation import experiment_of_scenario

RIVALS = ("ds2", "hpa-v2", "flink-autoscaler")
#: Simulated runs of each policy.
SEEDS = 5
LOAD = "load.csv"

#: Figures of the table by heading: the metric of a run, and the unit by which it is divided.
_FIGURES = {
    "replica-min": ("node_seconds", 60.0),
    "late min": ("lag_above_slo_s", 60.0),
    "changes": ("reconfigurations", 1.0),
    "p99, s": ("latency_p99_s", 1.0),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class DayCost:
    """Figures of a policy on a day: means over its runs."""

    policy: str
    #: Whether it is the recorded run; otherwise it is simulated.
    live: bool
    #: Replica-minutes plus the prices of late minutes and changes.
    cost: Interval | None
    #: By the headings of the table.
    figures: Mapping[str, Interval | None]


def write_load(record: Record, day_s: float, step_s: float, file: Path) -> None:
    """Write the rows that a recorded day offered as a load of the arena: totals at the beginning of each batch."""
    points = [(record.since_start_s(each.began_s), each.offered_rows_total) for each in record.ordered]
    known = [(at_s, total) for at_s, total in points if total is not None and 0 < at_s < day_s]
    at_s, totals = zip((0.0, 0.0), *known, (day_s, float(record.processed_rows)), strict=True)
    edges_s = np.linspace(0.0, day_s, max(2, round(day_s / step_s)) + 1).round(3)
    rates = np.diff(np.interp(edges_s, at_s, totals)) / np.diff(edges_s)
    lines = [f"{at:.3f},{max(0.0, rate):.6g}" for at, rate in zip(edges_s, rates, strict=False)]
    file.write_text("\n".join(["t_s,rows_per_s", *lines, ""]))


def compare_with_rivals(run: LiveRun, scenario: Scenario, physics: str, folder: Path) -> tuple[DayCost, ...]:
    """Return the figures of a recorded day, and of its policy and the rivals in simulations of its load.

    The rivals take the nearest nodes.

    Parameters
    ----------
    physics
        The simulator's constants for the query.
    folder
        For the load.

    Raises
    ------
    GesscaleError
        If the record has gaps.
    """
    load = folder.resolve() / LOAD
    write_load(run.record, scenario.day_s, scenario.trigger_s, load)
    policies = tuple(dict.fromkeys((scenario.policy, *RIVALS)))
    experiment = experiment_of_scenario(
        replace(scenario, node_choice="nearest"),
        physics=physics,
        policies=policies,
        settings_of=policies,
        loads=[str(load)],
        seeds=SEEDS,
        more={"name": "rivals", "title": "What the day would have cost"},
    )
    first, *_ = experiment.cases()
    live = result_of_run(run, first, world_of(experiment, first), with_series=False, late_start_counts=True)
    simulated = [run_case(experiment, case) for case in experiment.cases()]
    (recorded,) = group_results(experiment, [live])
    return (
        day_cost(scenario, recorded, live=True),
        *(day_cost(scenario, group, live=False) for group in group_results(experiment, simulated)),
    )


def day_cost(scenario: Scenario, group: ResultGroup, *, live: bool) -> DayCost:
    """Return the figures of the runs of one policy."""
    costs = RunCosts(group).at(scenario.late_minute_price, scenario.change_price)
    figures = {
        heading: mean_interval([value / unit for value in group.by_seed(metric).values() if value is not None])
        for heading, (metric, unit) in _FIGURES.items()
    }
    return DayCost(policy=group.policy, live=live, cost=mean_interval(list(costs.values())), figures=figures)


def rivals_table(costs: Sequence[DayCost], scenario: Scenario) -> ReportTable:
    """Return the table of the figures of a day."""
    title = (
        f"The same day with other policies, on the nearest nodes (cost: replica-minutes + "
        f"{scenario.late_minute_price:g} × late minutes + {scenario.change_price:.2g} × changes)"
    )
    rows = [
        [
            short_name(each.policy),
            "live" if each.live else "simulated",
            format_interval(each.cost),
            *(figure(interval.mean if interval else None) for interval in each.figures.values()),
        ]
        for each in costs
    ]
    return ReportTable(title, ["policy", "", "cost", *_FIGURES], rows)
