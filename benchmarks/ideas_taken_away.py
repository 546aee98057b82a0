"""What each idea of `gesscale2` brings: the league played without one of them at a time.

Run ``python benchmarks/ideas_taken_away.py --results FILE [--seeds 1] [--loads a,b] [--ideas a,b] [--jobs 1]``. It
plays loads of the experiment ``league``, with delays and from a cold start, on both engines, on the seeds 100, 101 and
so on, which the league does not score. ``as it is`` is the policy with nothing taken away. What is in the file is not
played again, so the same command goes on where it was stopped.

At the end come `oracle`, the cheapest plan of who knows the load, and the same where a change costs it what it costs
the policy. It prints JSON: for each engine and idea the bill at 1, 10 and 100 as a ratio to that of ``ideal`` in the
same worlds (geometric mean over the loads), late minutes and changes of a run.

An idea is taken away by another function in the place of one that the policy calls, so the policy needs no switches.
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

from gesscale.policies.gesscale2 import policy
from gesscale.policies.gesscale2.analysis.changes import change_cost
from gesscale.policies.gesscale2.analysis.costs import estimate_costs
from gesscale.policies.gesscale2.analysis.placements import Placements, placements
from gesscale.policies.gesscale2.analysis.scenarios import LEAST_BUCKETS, Scenarios, scenarios
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
AS_IT_IS = "as it is"
DRAWN_BY = 7

_scenarios, _choose, _cost, _billed, _fluid = (scenarios, placements, change_cost, estimate_costs, catalogue.fluid_of)


class Idea(NamedTuple):
    """What stands for an idea: a function of a module, and what takes its place; and whose idea it is."""

    module: Any
    name: str
    instead: Callable[..., Any]
    of: str = "gesscale2"


def _no_repetitions(rates: Any, ahead: Any, after: Any, replica_rows_per_s: float) -> Scenarios:
    return _scenarios(rates[-(LEAST_BUCKETS - 1) :], ahead, after, replica_rows_per_s)


def _last_load(rates: Any, ahead: Any, after: Any, replica_rows_per_s: float) -> Scenarios:
    """Expect what the last bucket had, with the same spread."""
    level = float(rates[-1])
    return _scenarios(rates, ahead._replace(rate=level, newest=level, growth=0.0), after, replica_rows_per_s)


def _fixed_headroom(_rates: Any, ahead: Any, after: Any, _replica_rows_per_s: float) -> Scenarios:
    """Expect the forecast and a tenth more, for certain."""
    return Scenarios(rates=np.full((1, len(after)), 1.1 * ahead.rate), weights=np.ones(1))


def _true_rate(*given: Any, **named: Any) -> Placements:
    """Take each replica to do what the present ones do in the mean, wherever it is."""
    found, present = _choose(*given, **named), given[2]
    counts = np.arange(1, len(found.nodes) + 1)
    return replace(found, rows_per_s=counts * found.present_rows_per_s / len(present))


def _drawn_nodes(*given: Any, **named: Any) -> Placements:
    """Grow to drawn nodes; moves are none."""
    law, operator, present, free = given
    drawn = [str(node) for node in np.random.default_rng(DRAWN_BY).permutation(sorted(free))]
    most = max(0, operator.max_replicas - len(present))
    found = _choose(law, operator, present, (), **{**named, "moves": False})
    for more in range(1, min(most, len(drawn)) + 1):
        grown = _choose(law, operator, present, drawn[:more], **{**named, "moves": False})
        found = replace(
            found, nodes=(*found.nodes, grown.nodes[-1]), rows_per_s=np.append(found.rows_per_s, grown.rows_per_s[-1])
        )
    return found


def _no_moves(*given: Any, **named: Any) -> Placements:
    return _choose(*given, **{**named, "moves": False})


def _assumed_cost(_orders: Any, trigger_s: float, **named: Any) -> Any:
    """Take each change to hold up new replicas for 8 s, and nothing else, whatever was measured."""
    return _cost((), trigger_s, **{**named, "restarts": False})


def _one_by_one(rollouts: Any) -> Any:
    """Allow one replica more or fewer in a step."""
    return [
        tuple(
            bill if abs(bill.replicas - rollout.horizon.replicas) <= 1 else replace(bill, total=math.inf)
            for bill in billed
        )
        for rollout, billed in zip(rollouts, _billed(rollouts), strict=True)
    ]


def _charged(world: Any, operator: str) -> Fluid:
    """Charge the plan of `oracle` for a change as `gesscale2` is."""
    return replace(_fluid(world, operator), change_price=1.0)


IDEAS: Mapping[str, Idea | None] = {
    AS_IT_IS: None,
    "one replica a step": Idea(policy, "estimate_costs", _one_by_one),
    "what a replica does instead of the law": Idea(policy, "placements", _true_rate),
    "10 % headroom instead of courses": Idea(policy, "scenarios", _fixed_headroom),
    "no repetitions of the past": Idea(policy, "scenarios", _no_repetitions),
    "no forecast": Idea(policy, "scenarios", _last_load),
    "a change is taken to cost 8 s": Idea(policy, "change_cost", _assumed_cost),
    "drawn nodes": Idea(policy, "placements", _drawn_nodes),
    "no moves": Idea(policy, "placements", _no_moves),
    ORACLE: Idea(catalogue, "fluid_of", catalogue.fluid_of, ORACLE),
    "oracle that pays for changes": Idea(catalogue, "fluid_of", _charged, ORACLE),
}


@contextmanager
def without(idea: Idea | None) -> Iterator[None]:
    """Take an idea away for a while, in this process and those that it forks meanwhile."""
    if idea is None:
        yield
        return
    kept = getattr(idea.module, idea.name)
    setattr(idea.module, idea.name, idea.instead)
    try:
        yield
    finally:
        setattr(idea.module, idea.name, kept)


def player(name: str) -> str:
    """Return the policy that plays an idea's runs."""
    idea = IDEAS.get(name)
    return IDEAL if name == IDEAL else "gesscale2" if idea is None else idea.of


def paid(case: Case, experiment: str = EXPERIMENT) -> tuple[float, float, float]:
    """Play a case, and return its replica-minutes, late minutes and changes."""
    result = run_case(read_experiment(experiment), case)
    if result.lost:
        raise RuntimeError(f"{case}: {result.lost}")
    paid_s, late_s, changes = (
        float(result.metrics[name] or 0.0) for name in ("node_seconds", "lag_above_slo_s", "scaling_actions")
    )
    return paid_s / 60, late_s / 60, changes


def table(results: Mapping[str, Sequence[float]]) -> dict[str, Any]:
    """Return by engine and idea what the runs cost, of the worlds that `ideal` has played."""
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
    """Return what an idea's runs cost in some worlds, each a load and a seed; bills are ratios to `ideal`.

    The runs are by idea, variant, load and seed: replica-minutes, late minutes and changes of each.
    """
    loads = sorted({load for load, _ in worlds})

    def bill(policy: str, load: str, price: float) -> float:
        own = [runs[policy, variant, *world] for world in worlds if world[0] == load]
        return sum(replicas + price * late for replicas, late, _ in own)

    def ratio(price: float) -> float:
        logs = [math.log(bill(idea, load, price) / bill(IDEAL, load, price)) for load in loads]
        return round(math.exp(sum(logs) / len(logs)), 3)

    own = [runs[idea, variant, *world] for world in worlds]
    return {
        "runs": len(own),
        "bills": {f"at {price:g}": ratio(price) for price in PRICES},
        "late_min": round(sum(late for _, late, _ in own) / len(own), 2),
        "changes": round(sum(changes for _, _, changes in own) / len(own), 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--results", type=Path, required=True, help="a file, made where it is not there")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--loads", default=LOADS)
    parser.add_argument("--ideas", default=",".join(IDEAS))
    parser.add_argument("--jobs", type=int, default=1)
    asked = parser.parse_args()
    results = json.loads(asked.results.read_text()) if asked.results.exists() else {}
    for name in [IDEAL, *asked.ideas.split(",")]:
        wanted = {
            f"{name}|{variant}|{load}|{seed}": Case(workload=load, seed=seed, policy=player(name), variant=variant)
            for seed in range(FIRST_SEED, FIRST_SEED + asked.seeds)
            for variant in ENGINES
            for load in asked.loads.split(",")
        }
        missing = {key: case for key, case in wanted.items() if key not in results}
        with without(IDEAS.get(name)), get_context("fork").Pool(asked.jobs) as pool:
            for key, found in zip(missing, pool.imap(paid, missing.values()), strict=True):
                results[key] = found
                asked.results.write_text(json.dumps(results))
    print(json.dumps(table(results), indent=1))


if __name__ == "__main__":
    main()
