"""Tunes policies of the league by a grid of settings on other seeds.

Run ``python benchmarks/tune_rivals.py --results FOLDER [--experiment edge] [--rivals drs,ds2] [--loads steps,...]
[--seeds 2] [--jobs 1]``. It runs the loads and worlds of the experiment ``league``, with delays, on both engines, or of
``edge``, with each point of each grid, with the seeds 100, 101 and so on. The experiments score the seeds 0 to 29, so
no point is chosen by a scored run. Results are stored in a folder for each rival: the same command resumes, and may
request more seeds later.

It prints JSON. For each rival, engine and price of a late minute: the cost of every point, changes included, as a ratio
to that of ``ideal`` in the same worlds (geometric mean over the loads), and the settings of the point with the lowest
cost. Points that lost a run are not chosen. ``--csv FILE`` writes the best points as a table, with the cost of the
defaults.
"""

import argparse
import csv
import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

from gesscale.policies import policy_info
from testbed.arena.case import CaseResult
from testbed.arena.evaluation.standings import standings
from testbed.arena.experiments.experiment import Experiment, read_experiment
from testbed.arena.names import PRICES
from testbed.arena.policies.catalogue import IDEAL
from testbed.arena.runner import check_experiment, run_case
from testbed.arena.runs.case_runner import run_locally
from testbed.arena.runs.results import open_results

FIRST_SEED = 100
"""The experiments score the seeds 0 to 29."""

ON_SPARK = {"name": "plant", "question": "Which engine?", "options": [{"name": "spark", "set": {"engine": "spark"}}]}
"""The engine of `edge`."""

GRIDS: Mapping[str, Sequence[Sequence[Mapping[str, Any]]]] = {
    "drs": (
        [{"cooldown": "1m"}, {"cooldown": "5m"}, {"cooldown": "15m"}, {"cooldown": "30m"}],
        [{"over_provision": 1.0}, {"over_provision": 1.25}],
        [{"release_below_share": 0.9}, {"release_below_share": 0.6}],
    ),
    "ds2": (
        [{"cooldown": "1m"}, {"cooldown": "5m"}, {"cooldown": "15m"}, {"cooldown": "30m"}],
        [
            {"over_provision": 1.2},
            {"over_provision": 1.4},
            {"over_provision": 1.0, "drain_horizon": "5m"},
            {"over_provision": 1.2, "drain_horizon": "5m"},
        ],
    ),
    "hpa-varga": (
        [
            {"cooldown": "1m", "scale_down_stabilization": "5m"},
            {"cooldown": "5m", "scale_down_stabilization": "5m"},
            {"cooldown": "5m", "scale_down_stabilization": "15m"},
            {"cooldown": "15m", "scale_down_stabilization": "15m"},
            {"cooldown": "30m", "scale_down_stabilization": "15m"},
            {"cooldown": "1m", "scale_down_stabilization": "1m"},
        ],
        [{"utilisation_target_share": 0.6}, {"utilisation_target_share": 0.7}, {"utilisation_target_share": 0.85}],
    ),
    "daedalus": (
        [
            {"cooldown": "1m", "recent_rescale": "10m"},
            {"cooldown": "3m", "recent_rescale": "10m"},
            {"cooldown": "10m", "recent_rescale": "30m"},
            {"cooldown": "1m", "recent_rescale": "1m"},
            {"cooldown": "30m", "recent_rescale": "60m"},
        ],
        [
            {"recovery_target": "10m", "forecast": "15m"},
            {"recovery_target": "3m", "forecast": "15m"},
            {"recovery_target": "10m", "forecast": "5m"},
        ],
    ),
    "flink-autoscaler": (
        [
            {},
            # The tighter example of the documentation.
            {
                "stabilization_interval": "1m",
                "metrics_window": "5m",
                "utilisation_target_share": 0.6,
                "utilisation_boundary": 0.2,
                "restart_time": "2m",
                "catch_up": "5m",
            },
            # For Spark, which does not restart.
            {"stabilization_interval": "20s", "metrics_window": "1m", "restart_time": "20s", "catch_up": "5m"},
            {
                "stabilization_interval": "20s",
                "metrics_window": "1m",
                "utilisation_target_share": 0.85,
                "utilisation_boundary": 0.15,
                "restart_time": "20s",
                "catch_up": "5m",
            },
        ],
        [{"scale_down_interval": "1h"}, {"scale_down_interval": "5m"}],
        [{"detect_ineffective": False}, {"detect_ineffective": True}],
    ),
    "hpa-v2": (
        [{"cpu_target_share": share} for share in (0.8, 0.5, 0.3, 0.15)],
        [{"scale_down_stabilization": "5m"}, {"scale_down_stabilization": "1m"}],
        [{"tolerance_share": 0.1}, {"tolerance_share": 0.02}],
    ),
    "keda-kafka": (
        # KEDA's default, and what a replica of 1,500 rows/s processes in 15, 30 and 60 s.
        [{"lag_threshold_rows": rows} for rows in (10, 22_500, 45_000, 90_000)],
        [{"scale_down_stabilization": "5m"}, {"scale_down_stabilization": "15m"}],
        [{}, {"scale_up_stabilization": "1m"}],
    ),
    "numaflow": (
        [{"target_processing": time} for time in ("20s", "40s", "10s", "5s")],
        [
            {"scale_up_cooldown": "90s", "scale_down_cooldown": "90s"},
            {"scale_up_cooldown": "90s", "scale_down_cooldown": "10m"},
        ],
        [{"replicas_per_scale": 2}, {"replicas_per_scale": 1}],
    ),
    "trigger-dra": (
        [{"high_share": 0.9}, {"high_share": 1.0}],
        [{"low_share": 0.5}, {"low_share": 0.3}],
        [{"backlog_timeout": "1s"}, {"backlog_timeout": "20s"}],
        [{"idle_timeout": "1m"}, {"idle_timeout": "5m"}],
    ),
    "quantile": (
        [{"late_minute_price": price} for price in (10, 3, 30, 100)],
        [{"change_price": price} for price in (2, 1, 5, 10)],
    ),
}
"""Values of the settings of each rival. Its points are all combinations, including the defaults."""


def points(rival: str) -> list[dict[str, Any]]:
    """Return the settings of each point of a rival's grid."""
    return [{name: value for part in parts for name, value in part.items()} for parts in product(*GRIDS[rival])]


def tuning(rival: str, experiment: str, seeds: int, loads: Sequence[str] = ()) -> Experiment:
    """Return an experiment for a rival and `ideal`: a variant for each engine and point."""
    base = read_experiment(experiment)
    choices = base.document()["variants"]["choices"]
    plant = next((choice for choice in choices if choice["name"] == "plant"), ON_SPARK)
    group = f"rules.{rival.replace('-', '_')}"
    options = [
        {"name": str(number), "set": {group: point} if point else {}} for number, point in enumerate(points(rival))
    ]
    changes = {
        "name": f"tune-{rival}",
        "policies": [rival, IDEAL],
        "seeds": list(range(FIRST_SEED, FIRST_SEED + seeds)),
        "variants": {"combine": "full-factorial", "choices": [plant, {"name": "point", "options": options}]},
        **({"workloads": list(loads)} if loads else {}),
    }
    return base.changed(changes, "this benchmark")


def variants(experiment: Experiment) -> dict[str, tuple[str, int]]:
    """Return engine and number of the point of each variant."""
    plant, point = experiment.variants.choices
    pairs = product((option.name for option in plant.options), range(len(point.options)))
    return dict(zip(experiment.variant_names, pairs, strict=True))


def run_missing(experiment: Experiment, folder: Path, jobs: int) -> tuple[CaseResult, ...]:
    """Run missing cases, seed by seed; `ideal`, which has no settings, only with the first point."""
    first = {name for name, (_, point) in variants(experiment).items() if point == 0}
    with open_results(folder, experiment) as store:
        missing = [case for case in store.missing if case.policy != IDEAL or case.variant in first]
        missing.sort(key=lambda case: (case.seed, case.workload))  # group by world
        run_locally(experiment, missing, jobs=jobs, done=store.add, run_case=run_case)
        return store.results


def with_ideal_everywhere(experiment: Experiment, results: Sequence[CaseResult]) -> list[CaseResult]:
    """Return the results with those of `ideal` copied to every point, on which its runs do not depend."""
    engine_of = {name: engine for name, (engine, _) in variants(experiment).items()}
    return [
        replace(result, case=replace(result.case, variant=name))
        for result in results
        for name, engine in engine_of.items()
        if name == result.case.variant or (result.case.policy == IDEAL and engine == engine_of[result.case.variant])
    ]


def table(experiment: Experiment, results: Sequence[CaseResult]) -> dict[str, Any]:
    """Return the costs of all points for each engine, and the best point for each price."""
    rival = experiment.policies[0]
    place = variants(experiment)
    costs: dict[str, dict[int, list[float | None]]] = defaultdict(dict)
    for standing in standings(experiment, with_ideal_everywhere(experiment, results)):
        if standing.policy == rival:
            engine, point = place[standing.variant]
            costs[engine][point] = [
                None if cost is None or standing.lost else round(cost.mean, 3)
                for cost in standing.with_changes.total_costs
            ]
    return {
        engine: {
            "best": {f"at {price:g}": _best(rival, by_point, at) for at, price in enumerate(PRICES)},
            "total_costs": [{**points(rival)[point], "total_costs": by_point[point]} for point in sorted(by_point)],
        }
        for engine, by_point in costs.items()
    }


def _best(rival: str, costs: Mapping[int, Sequence[float | None]], price: int) -> dict[str, Any]:
    least, point = min((cost, point) for point, each in costs.items() if (cost := each[price]) is not None)
    return {"total_cost": least, "settings": points(rival)[point]}


def write_table(file: Path, tables: Mapping[str, Any]) -> None:
    """Write the best point of each rival, engine and price. The first point of a grid has the defaults, if any has."""
    with file.open("w", encoding="utf-8", newline="") as opened:
        table_of = csv.writer(opened)
        table_of.writerow(["policy", "engine", "price", "cost, defaults", "cost, tuned", "settings"])
        for rival, by_engine in tables.items():
            for engine, found in by_engine.items():
                defaults = _defaults(rival, found["total_costs"])
                for at, price in enumerate(PRICES):
                    best = found["best"][f"at {price:g}"]
                    settings = ", ".join(f"{name} {value}" for name, value in best["settings"].items())
                    row = [rival, engine.capitalize(), f"{price:g}", _cost(defaults[at]), _cost(best["total_cost"])]
                    table_of.writerow([*row, settings])


def _cost(cost: float | None) -> str:
    return "" if cost is None else f"{cost:.2f}"


def _defaults(rival: str, costs: Sequence[Mapping[str, Any]]) -> Sequence[float | None]:
    """Return the costs of the point that has the defaults."""
    info = policy_info(rival)
    assert info.settings is not None
    plain = info.settings()
    for cost, point in zip(costs, points(rival), strict=True):
        if info.settings.model_validate(point) == plain:
            return list(cost["total_costs"])
    return [None] * len(PRICES)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--results", type=Path, required=True, help="parent of the folders of the rivals")
    parser.add_argument("--experiment", choices=["league", "edge"], default="league")
    parser.add_argument("--rivals", default=",".join(GRIDS))
    parser.add_argument("--loads", default="", help="loads, separated by commas; by default all of the experiment")
    parser.add_argument("--csv", type=Path, help="table of the best points")
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--jobs", type=int, default=1)
    given = parser.parse_args()
    tables = {}
    loads = [load for load in given.loads.split(",") if load]
    for rival in given.rivals.split(","):
        experiment = tuning(rival, given.experiment, given.seeds, loads)
        check_experiment(experiment)
        tables[rival] = table(experiment, run_missing(experiment, given.results / rival, given.jobs))
    if given.csv is not None:
        write_table(given.csv, tables)
    seeds = [FIRST_SEED, FIRST_SEED + given.seeds - 1]
    print(json.dumps({"seeds": seeds, "prices": PRICES, "rivals": tables}, indent=1))


if __name__ == "__main__":
    main()
