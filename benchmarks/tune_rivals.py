"""Tunes four other policies of the league by a grid of settings on other seeds.

Run ``python benchmarks/tune_rivals.py --results FOLDER [--rivals drs,ds2] [--seeds 2] [--jobs 1]``. It runs the loads
and worlds of the experiment ``league``, with delays, on both engines, with each point of each grid, with the seeds 100,
101 and so on. The league scores the seeds 0 to 29, so no point is chosen by a scored run. Results are stored in a
folder for each rival: the same command resumes, and may request more seeds later.

It prints JSON. For each rival, engine and price of a late minute: the cost of every point as a ratio to that of
``ideal`` in the same worlds (geometric mean over the loads), and the settings of the point with the lowest cost. Points
that lost a run are not chosen.
"""

import argparse
import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

from testbed.arena.case import CaseResult
from testbed.arena.evaluation.standings import standings
from testbed.arena.experiments.experiment import Experiment, read_experiment
from testbed.arena.names import PRICES
from testbed.arena.policies.catalogue import IDEAL
from testbed.arena.runner import check_experiment, run_case
from testbed.arena.runs.case_runner import run_locally
from testbed.arena.runs.results import open_results

FIRST_SEED = 100
"""The league scores the seeds 0 to 29."""

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
}
"""Values of the settings of each rival. Its points are all combinations, including the defaults."""


def points(rival: str) -> list[dict[str, Any]]:
    """Return the settings of each point of a rival's grid."""
    return [{name: value for part in parts for name, value in part.items()} for parts in product(*GRIDS[rival])]


def tuning(rival: str, seeds: int) -> Experiment:
    """Return the league with delays for a rival and `ideal`: a variant for each engine and point."""
    league = read_experiment("league")
    plant = next(choice for choice in league.document()["variants"]["choices"] if choice["name"] == "plant")
    group = f"rules.{rival.replace('-', '_')}"
    options = [{"name": str(number), "set": {group: point}} for number, point in enumerate(points(rival))]
    choices = [plant, {"name": "point", "options": options}]
    changes = {
        "name": f"tune-{rival}",
        "policies": [rival, IDEAL],
        "seeds": list(range(FIRST_SEED, FIRST_SEED + seeds)),
        "variants": {"combine": "full-factorial", "choices": choices},
    }
    return league.changed(changes, "this benchmark")


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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--results", type=Path, required=True, help="parent of the folders of the rivals")
    parser.add_argument("--rivals", default=",".join(GRIDS))
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--jobs", type=int, default=1)
    given = parser.parse_args()
    tables = {}
    for rival in given.rivals.split(","):
        experiment = tuning(rival, given.seeds)
        check_experiment(experiment)
        tables[rival] = table(experiment, run_missing(experiment, given.results / rival, given.jobs))
    seeds = [FIRST_SEED, FIRST_SEED + given.seeds - 1]
    print(json.dumps({"seeds": seeds, "prices": PRICES, "rivals": tables}, indent=1))


if __name__ == "__main__":
    main()
