"""Measures the contribution of each part of `gesscale`: runs the league without one of them at a time.

Run ``python benchmarks/ablations.py --results FILE [--seeds 1] [--loads a,b] [--ideas a,b] [--jobs 1]``. It runs loads
of the experiment ``league``, with delays and from a cold start, on both engines, with the seeds 100, 101 and so on,
which the league does not score. ``complete`` is the complete policy. Runs in the file are not repeated, so the same
command resumes.

The last two are `oracle`, the cheapest plan with perfect foresight, and the same with a price for changes. It prints
JSON: the cost at 1, 10 and 100 for each engine and idea as a ratio to that of ``ideal`` in the same worlds (geometric
mean over the loads), late minutes and changes of a run.

An ablation replaces a function that the policy calls, so the policy needs no switches.
"""

import argparse
import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from gesscale.policies.gesscale import policy
from gesscale.policies.gesscale.analysis.changes import change_cost
from gesscale.policies.gesscale.analysis.costs import estimate_costs
from gesscale.policies.gesscale.analysis.placements import Placements, placements
from gesscale.policies.gesscale.analysis.scenarios import MIN_BUCKETS, Scenarios, scenarios
from testbed.arena.case import Case
from testbed.arena.experiments.experiment import read_experiment
from testbed.arena.names import IDEAL, ORACLE, PRICES
from testbed.arena.policies import catalogue
from testbed.arena.policies.fluid_plan import Fluid
from testbed.arena.runner import run_case

EXPERIMENT = "league"
FIRST_SEED = 100
LOADS = "nyc:any,kanis-cosine,kanis-spikes,daedalus-traffic,seep-random-peaks,steps"
ENGINES = {"default": "spark", "plant=flink": "flink"}
COMPLETE = "complete"
NODES_SEED = 7

_scenarios, _choose, _cost, _estimate, _fluid = (scenarios, placements, change_cost, estimate_costs, catalogue.fluid_of)


class Idea(NamedTuple):
    """A function of a module, its replacement, and the policy to run."""

    module: Any
    name: str
    replacement: Callable[..., Any]
    policy: str = "gesscale"


def _no_repetitions(rates: Any, ahead: Any, after: Any, replica_rows_per_s: float) -> Scenarios:
    return _scenarios(rates[-(MIN_BUCKETS - 1) :], ahead, after, replica_rows_per_s)


def _last_load(rates: Any, ahead: Any, after: Any, replica_rows_per_s: float) -> Scenarios:
    """Expect the load of the last bucket, with the same spread."""
    level = float(rates[-1])
    return _scenarios(rates, ahead._replace(rate=level, newest=level, growth=0.0), after, replica_rows_per_s)


def _fixed_headroom(_rates: Any, ahead: Any, after: Any, _replica_rows_per_s: float) -> Scenarios:
    """Expect exactly 110 % of the forecast."""
    return Scenarios(rates=np.full((1, len(after)), 1.1 * ahead.rate), weights=np.ones(1))


def _true_rate(*given: Any, **named: Any) -> Placements:
    """Assume that each replica has the mean capacity of the current ones, on any node."""
    found, present = _choose(*given, **named), given[2]
    counts = np.arange(1, len(found.nodes) + 1)
    return replace(found, rows_per_s=counts * found.present_rows_per_s / len(present))


def _random_nodes(*given: Any, **named: Any) -> Placements:
    """Add random nodes, without moves."""
    law, operator, present, free = given
    shuffled = [str(node) for node in np.random.default_rng(NODES_SEED).permutation(sorted(free))]
    most = max(0, operator.max_replicas - len(present))
    found = _choose(law, operator, present, (), **{**named, "moves": False})
    for more in range(1, min(most, len(shuffled)) + 1):
        grown = _choose(law, operator, present, shuffled[:more], **{**named, "moves": False})
        found = replace(
            found, nodes=(*found.nodes, grown.nodes[-1]), rows_per_s=np.append(found.rows_per_s, grown.rows_per_s[-1])
        )
    return found


def _no_moves(*given: Any, **named: Any) -> Placements:
    return _choose(*given, **{**named, "moves": False})


def _assumed_cost(_orders: Any, trigger_s: float, **named: Any) -> Any:
    """Assume that each change delays new replicas by 8 s and costs nothing else."""
    return _cost((), trigger_s, **{**named, "restarts": False})


def _one_by_one(rollouts: Any) -> Any:
    """Allow at most one replica more or fewer per step."""
    return [
        tuple(
            cost if abs(cost.replicas - rollout.horizon.replicas) <= 1 else replace(cost, total=math.inf)
            for cost in costs
        )
        for rollout, costs in zip(rollouts, _estimate(rollouts), strict=True)
    ]


def _with_change_price(world: Any, operator: str) -> Fluid:
    """Give changes in the plan of `oracle` a price."""
    return replace(_fluid(world, operator), change_price=1.0)


IDEAS: Mapping[str, Idea | None] = {
    COMPLETE: None,
    "one replica a step": Idea(policy, "estimate_costs", _one_by_one),
    "measured capacity instead of the law": Idea(policy, "placements", _true_rate),
    "10 % headroom instead of scenarios": Idea(policy, "scenarios", _fixed_headroom),
    "no scenarios from the past": Idea(policy, "scenarios", _no_repetitions),
    "no forecast": Idea(policy, "scenarios", _last_load),
    "a change costs 8 s": Idea(policy, "change_cost", _assumed_cost),
    "random nodes": Idea(policy, "placements", _random_nodes),
    "no moves": Idea(policy, "placements", _no_moves),
    ORACLE: Idea(catalogue, "fluid_of", catalogue.fluid_of, ORACLE),
    "oracle with a price for changes": Idea(catalogue, "fluid_of", _with_change_price, ORACLE),
}


@contextmanager
def without(idea: Idea | None) -> Iterator[None]:
    """Replace the function of an idea in this process and in those that it forks."""
    if idea is None:
        yield
        return
    original = getattr(idea.module, idea.name)
    setattr(idea.module, idea.name, idea.replacement)
    try:
        yield
    finally:
        setattr(idea.module, idea.name, original)


def policy_of(name: str) -> str:
    """Return the policy that runs for an idea."""
    idea = IDEAS.get(name)
    return IDEAL if name == IDEAL else "gesscale" if idea is None else idea.policy


def run_costs(case: Case, experiment: str = EXPERIMENT) -> tuple[float, float, float]:
    """Run a case, and return its replica-minutes, late minutes and changes."""
    result = run_case(read_experiment(experiment), case)
    if result.lost:
        raise RuntimeError(f"{case}: {result.lost}")
    node_s, late_s, changes = (
        float(result.metrics[name] or 0.0) for name in ("node_seconds", "lag_above_slo_s", "scaling_actions")
    )
    return node_s / 60, late_s / 60, changes


def table(results: Mapping[str, Sequence[float]]) -> dict[str, Any]:
    """Return the costs of the runs by engine and idea, for the worlds in which `ideal` ran too."""
    runs = {tuple(key.split("|")): value for key, value in results.items()}
    found: dict[str, Any] = {}
    for variant, engine in ENGINES.items():
        found[engine] = {}
        for idea in IDEAS:
            worlds = [key[2:] for key in runs if key[:2] == (idea, variant) and (IDEAL, *key[1:]) in runs]
            if worlds:
                found[engine][idea] = summary(runs, idea, variant, worlds)
    return found


def summary(runs: Mapping[Any, Sequence[float]], idea: str, variant: str, worlds: Sequence[Any]) -> Any:
    """Return the costs of an idea's runs in some worlds, each a load and a seed, as ratios to `ideal`.

    The runs are by idea, variant, load and seed: replica-minutes, late minutes and changes of each.
    """
    loads = sorted({load for load, _ in worlds})

    def total_cost(policy: str, load: str, price: float) -> float:
        own = [runs[policy, variant, *world] for world in worlds if world[0] == load]
        return sum(replicas + price * late for replicas, late, _ in own)

    def ratio(price: float) -> float:
        logs = [math.log(total_cost(idea, load, price) / total_cost(IDEAL, load, price)) for load in loads]
        return round(math.exp(sum(logs) / len(logs)), 3)

    own = [runs[idea, variant, *world] for world in worlds]
    return {
        "runs": len(own),
        "total_costs": {f"at {price:g}": ratio(price) for price in PRICES},
        "late_min": round(sum(late for _, late, _ in own) / len(own), 2),
        "changes": round(sum(changes for _, _, changes in own) / len(own), 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--results", type=Path, required=True, help="file of the results, created if missing")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--loads", default=LOADS)
    parser.add_argument("--ideas", default=",".join(IDEAS))
    parser.add_argument("--jobs", type=int, default=1)
    given = parser.parse_args()
    results = json.loads(given.results.read_text()) if given.results.exists() else {}
    for name in [IDEAL, *given.ideas.split(",")]:
        cases = {
            f"{name}|{variant}|{load}|{seed}": Case(workload=load, seed=seed, policy=policy_of(name), variant=variant)
            for seed in range(FIRST_SEED, FIRST_SEED + given.seeds)
            for variant in ENGINES
            for load in given.loads.split(",")
        }
        missing = {key: case for key, case in cases.items() if key not in results}
        with without(IDEAS.get(name)), get_context("fork").Pool(given.jobs) as pool:
            for key, found in zip(missing, pool.imap(run_costs, missing.values()), strict=True):
                results[key] = found
                given.results.write_text(json.dumps(results))
    print(json.dumps(table(results), indent=1))


if __name__ == "__main__":
    main()
