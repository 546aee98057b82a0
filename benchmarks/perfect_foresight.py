"""Measures the cost of `gesscale` with perfect foresight, and the calibration of its scenarios of the load.

Run ``python benchmarks/perfect_foresight.py [--experiment league-real] [--engines flink] [--seeds 2] [--jobs 1]``. It
runs the loads of an experiment, with delays and from a cold start, with the seeds 100, 101 and so on, which the league
does not score. With perfect foresight the only scenario is the future load; law, changes and plan are unchanged.
``long horizon`` plans 24 buckets ahead if a change stops the job, instead of 12 on average.

It prints JSON. ``total_costs``: the cost at 1, 10 and 100 for each engine and setup as a ratio to that of ``ideal`` in
the same worlds (geometric mean over the loads), late minutes and changes of a run. ``scenarios``, for each engine and
setup without foresight, by minutes ahead: how often the load was outside of the 5 % to 95 % quantiles of the scenarios,
the distance of their mean and of the last bucket from it in replicas, and the number of steps.
"""

import argparse
import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import pairwise
from multiprocessing import get_context
from typing import Any

import numpy as np
from ablations import COMPLETE, ENGINES, EXPERIMENT, FIRST_SEED, Idea, run_costs, summary, without

from gesscale.model.observation import WorkflowObservation
from gesscale.policies.gesscale import policy
from gesscale.policies.gesscale.analysis.changes import ChangeCost, buckets_ahead
from gesscale.policies.gesscale.analysis.demand import Forecast
from gesscale.policies.gesscale.analysis.scenarios import Array, Scenarios, scenarios
from testbed.arena.case import Case
from testbed.arena.experiments.experiment import read_experiment
from testbed.arena.names import IDEAL, ORACLE
from testbed.arena.policies.perfect_foresight import Inflow, inflow_of, inflow_rows_per_s
from testbed.arena.worlds.scenes import world_of

BUCKET_S = 60.0
"""Bucket of `gesscale` in both experiments, and their period."""
LONG_HORIZON_BUCKETS = 24
MINUTES_AHEAD = (1, 3, 6, 12, 24)
OUTSIDE = (0.05, 0.95)
_MIN_S = 1e-6
"""Margin before the end of the load, where it has no rate."""

FORESIGHT = "perfect foresight"
LONG_HORIZON = "long horizon"
FORESIGHT_LONG_HORIZON = f"{FORESIGHT} and {LONG_HORIZON}"
SETUPS = (IDEAL, COMPLETE, LONG_HORIZON, FORESIGHT, FORESIGHT_LONG_HORIZON, ORACLE)

_actionable_reading = policy.actionable_reading


@dataclass(slots=True)
class LoadObserver:
    """Replaces functions of the policy by ones with perfect foresight of the load.

    Attributes
    ----------
    inflow, until_s
        The load, and its end.
    now_s
        Time of the current step.
    scores
        By minutes ahead, for each step: whether the load was outside of the scenarios, and the distances of their mean
        and of the last bucket, in replicas.
    """

    inflow: Inflow
    until_s: float
    now_s: float = 0.0
    scores: dict[int, list[tuple[bool, float, float]]] = field(default_factory=dict)

    def screened(self, name: str, observation: WorkflowObservation, *given: Any) -> Any:
        """Note the time of a step, which begins with this call."""
        self.now_s = observation.at_s
        return _actionable_reading(name, observation, *given)

    def future_rates(self, buckets: int) -> Array:
        """Return the mean rate of each bucket from now on, rows/s; 0 after the end."""
        instants_s = np.minimum(self.now_s + BUCKET_S * np.arange(buckets + 1), self.until_s - _MIN_S)
        rows = [
            inflow_rows_per_s(self.inflow, begin_s, end_s - begin_s) * (end_s - begin_s) if end_s > begin_s else 0.0
            for begin_s, end_s in pairwise(instants_s.tolist())
        ]
        return np.array(rows) / BUCKET_S

    def true_scenario(self, _rates: Array, _ahead: Forecast, after: Array, _replica_rows_per_s: float) -> Scenarios:
        """Return the future load as the only scenario."""
        return Scenarios(rates=self.future_rates(len(after))[None], weights=np.ones(1))

    def scored_scenarios(self, rates: Array, ahead: Forecast, after: Array, replica_rows_per_s: float) -> Scenarios:
        """Return the policy's scenarios, and score them."""
        found = scenarios(rates, ahead, after, replica_rows_per_s)
        loads = self.future_rates(len(after))
        below = found.weights @ (found.rates < loads) + 0.5 * (found.weights @ (found.rates == loads))
        distance = np.abs(found.weights @ found.rates - loads) / replica_rows_per_s
        last_distance = np.abs(rates[-1] - loads) / replica_rows_per_s
        for minutes in MINUTES_AHEAD:
            if minutes <= len(after) and self.now_s + BUCKET_S * (minutes + 1) < self.until_s:
                at = minutes - 1
                outside = not OUTSIDE[0] <= below[at] <= OUTSIDE[1]
                score = (outside, float(distance[at]), float(last_distance[at]))
                self.scores.setdefault(minutes, []).append(score)
        return found

    def replacements(self, setup: str) -> list[Idea]:
        """Return the replaced functions of a setup."""
        has_foresight = setup in {FORESIGHT, FORESIGHT_LONG_HORIZON}
        source: Callable[..., Scenarios] = self.true_scenario if has_foresight else self.scored_scenarios
        found = [Idea(policy, "actionable_reading", self.screened), Idea(policy, "scenarios", source)]
        return (
            [*found, Idea(policy, "buckets_ahead", _long_horizon)]
            if setup in {LONG_HORIZON, FORESIGHT_LONG_HORIZON}
            else found
        )


def _long_horizon(change: ChangeCost, bucket_s: float) -> int:
    return LONG_HORIZON_BUCKETS if change.stop_s > 0 else buckets_ahead(change, bucket_s)


def observed_run(given: tuple[str, str, Case]) -> tuple[tuple[float, float, float], LoadObserver]:
    """Run a case in a setup; return its costs and the observer."""
    experiment, setup, case = given
    scene = world_of(read_experiment(experiment), case).scene
    observer = LoadObserver(inflow_of(scene, next(iter(scene.workflow.operators))), scene.duration_s)
    with ExitStack() as stack:
        for idea in observer.replacements(setup):
            stack.enter_context(without(idea))
        return run_costs(case, experiment), observer


def _means(observers: Sequence[LoadObserver]) -> Mapping[int, Mapping[str, float]]:
    found = {}
    for minutes in MINUTES_AHEAD:
        scores = [score for each in observers for score in each.scores.get(minutes, ())]
        if scores:
            outside, off, off_last = np.mean(scores, axis=0).tolist()
            found[minutes] = {
                "outside": round(outside, 2),
                "off": round(off, 2),
                "off_last": round(off_last, 2),
                "steps": len(scores),
            }
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--experiment", default=EXPERIMENT)
    engines, setups = tuple(ENGINES.values()), SETUPS[1:]
    parser.add_argument("--engines", nargs="+", choices=engines, default=engines)
    parser.add_argument("--loads", nargs="+", help="default: all of the experiment")
    parser.add_argument("--setups", nargs="+", choices=setups, default=setups, help="in addition to ideal")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1)
    given = parser.parse_args()
    loads = given.loads or [*map(str, read_experiment(given.experiment).workloads)]
    total_costs: dict[str, Any] = {}
    calibration: dict[str, Any] = {}
    worlds = [(load, seed) for load in loads for seed in range(FIRST_SEED, FIRST_SEED + given.seeds)]
    for variant, engine in ENGINES.items():
        if engine not in given.engines:
            continue
        total_costs[engine], calibration[engine], runs = {}, {}, {}
        for setup in (IDEAL, *given.setups):
            policy_name = setup if setup in {IDEAL, ORACLE} else "gesscale"
            cases = [
                (given.experiment, setup, Case(workload=load, seed=seed, policy=policy_name, variant=variant))
                for load, seed in worlds
            ]
            with get_context("fork").Pool(given.jobs) as pool:
                found = pool.map(observed_run, cases, chunksize=1)
            runs |= {(setup, variant, *world): costs for world, (costs, _) in zip(worlds, found, strict=True)}
            total_costs[engine][setup] = summary(runs, setup, variant, worlds)
            if means := _means([observer for _, observer in found]):
                calibration[engine][setup] = means
    print(json.dumps({"total_costs": total_costs, "scenarios": calibration}, indent=1))


if __name__ == "__main__":
    main()
