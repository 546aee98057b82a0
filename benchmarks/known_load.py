"""What `gesscale2` would pay if it knew the load, and how often the load is where its courses say.

Run ``python benchmarks/known_load.py [--experiment league-real] [--engines flink] [--seeds 2] [--jobs 1]``. It plays
the loads of an experiment, with delays and from a cold start, on the seeds 100, 101 and so on, which the league
does not score. Who knows the load expects one course, the load to come, exactly; law, changes and plan are as always.
``looks far`` plans 24 buckets ahead where a change stops the job, instead of 12 in the mean.

It prints JSON. ``bills``: for each engine and player the bill at 1, 10 and 100 as a ratio to that of ``ideal`` in the
same worlds (geometric mean over the loads), late minutes and changes of a run. ``courses``: for each engine and player
that does not know the load, by minutes ahead: how often the load was below the least 5 % or above the greatest 5 % of
the courses, how far their mean and the last bucket were from it, in replicas, and in how many steps.
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
from ideas_taken_away import AS_IT_IS, ENGINES, EXPERIMENT, FIRST_SEED, Idea, paid, summary, without

from gesscale.model.observation import WorkflowObservation
from gesscale.policies.gesscale2 import policy
from gesscale.policies.gesscale2.analysis.changes import ChangeCost, buckets_ahead
from gesscale.policies.gesscale2.analysis.demand import Forecast
from gesscale.policies.gesscale2.analysis.scenarios import Array, Scenarios, scenarios
from testbed.arena.case import Case
from testbed.arena.experiments.experiment import read_experiment
from testbed.arena.names import IDEAL, ORACLE
from testbed.arena.policies.perfect_foresight import Inflow, inflow_of, inflow_rows_per_s
from testbed.arena.worlds.scenes import world_of

BUCKET_S = 60.0
"""Of `gesscale2` in both experiments, and their period."""
FAR_BUCKETS = 24
MINUTES_AHEAD = (1, 3, 6, 12, 24)
OUTSIDE = (0.05, 0.95)
_LEAST_S = 1e-6
"""The load has no rate at its very end."""

KNOWS = "knows the load"
FAR = "looks far"
KNOWS_FAR = f"{KNOWS} and {FAR}"
PLAYERS = (IDEAL, AS_IT_IS, FAR, KNOWS, KNOWS_FAR, ORACLE)

_screen = policy.screen


@dataclass(slots=True)
class Onlooker:
    """Who knows the load, and takes the place of functions that the policy calls.

    Attributes
    ----------
    inflow, until_s
        The load, and when it ends.
    now_s
        The instant of the present step.
    scores
        By minutes ahead, for each step: whether the load was outside of the courses, and how far off their mean and the
        last bucket were, in replicas.
    """

    inflow: Inflow
    until_s: float
    now_s: float = 0.0
    scores: dict[int, list[tuple[bool, float, float]]] = field(default_factory=dict)

    def screened(self, name: str, observation: WorkflowObservation, *given: Any) -> Any:
        """Note the time of a step, which begins so."""
        self.now_s = observation.at_s
        return _screen(name, observation, *given)

    def to_come(self, buckets: int) -> Array:
        """Return the mean rate of each bucket from now on, rows/s; 0 after the end."""
        instants_s = np.minimum(self.now_s + BUCKET_S * np.arange(buckets + 1), self.until_s - _LEAST_S)
        rows = [
            inflow_rows_per_s(self.inflow, begin_s, end_s - begin_s) * (end_s - begin_s) if end_s > begin_s else 0.0
            for begin_s, end_s in pairwise(instants_s.tolist())
        ]
        return np.array(rows) / BUCKET_S

    def known(self, _rates: Array, _ahead: Forecast, after: Array, _replica_rows_per_s: float) -> Scenarios:
        """Return the load to come as the only course."""
        return Scenarios(rates=self.to_come(len(after))[None], weights=np.ones(1))

    def scored(self, rates: Array, ahead: Forecast, after: Array, replica_rows_per_s: float) -> Scenarios:
        """Return the policy's own courses, and score them."""
        found = scenarios(rates, ahead, after, replica_rows_per_s)
        loads = self.to_come(len(after))
        below = found.weights @ (found.rates < loads) + 0.5 * (found.weights @ (found.rates == loads))
        off = np.abs(found.weights @ found.rates - loads) / replica_rows_per_s
        off_last = np.abs(rates[-1] - loads) / replica_rows_per_s
        for minutes in MINUTES_AHEAD:
            if minutes <= len(after) and self.now_s + BUCKET_S * (minutes + 1) < self.until_s:
                at = minutes - 1
                outside = not OUTSIDE[0] <= below[at] <= OUTSIDE[1]
                score = (outside, float(off[at]), float(off_last[at]))
                self.scores.setdefault(minutes, []).append(score)
        return found

    def ideas(self, player: str) -> list[Idea]:
        """Return what is other for a player."""
        knows = player in {KNOWS, KNOWS_FAR}
        courses: Callable[..., Scenarios] = self.known if knows else self.scored
        found = [Idea(policy, "screen", self.screened), Idea(policy, "scenarios", courses)]
        return [*found, Idea(policy, "buckets_ahead", _far)] if player in {FAR, KNOWS_FAR} else found


def _far(change: ChangeCost, bucket_s: float) -> int:
    return FAR_BUCKETS if change.stop_s > 0 else buckets_ahead(change, bucket_s)


def watched(given: tuple[str, str, Case]) -> tuple[tuple[float, float, float], Onlooker]:
    """Play a case as a player; return what it paid, and who looked on."""
    experiment, player, case = given
    scene = world_of(read_experiment(experiment), case).scene
    onlooker = Onlooker(inflow_of(scene, next(iter(scene.workflow.operators))), scene.duration_s)
    with ExitStack() as stack:
        for idea in onlooker.ideas(player):
            stack.enter_context(without(idea))
        return paid(case, experiment), onlooker


def _means(onlookers: Sequence[Onlooker]) -> Mapping[int, Mapping[str, float]]:
    found = {}
    for minutes in MINUTES_AHEAD:
        scores = [score for each in onlookers for score in each.scores.get(minutes, ())]
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
    engines, players = tuple(ENGINES.values()), PLAYERS[1:]
    parser.add_argument("--engines", nargs="+", choices=engines, default=engines)
    parser.add_argument("--loads", nargs="+", help="all of the experiment, unless said")
    parser.add_argument("--players", nargs="+", choices=players, default=players, help="beside ideal")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1)
    asked = parser.parse_args()
    loads = asked.loads or [*map(str, read_experiment(asked.experiment).workloads)]
    bills: dict[str, Any] = {}
    courses: dict[str, Any] = {}
    worlds = [(load, seed) for load in loads for seed in range(FIRST_SEED, FIRST_SEED + asked.seeds)]
    for variant, engine in ENGINES.items():
        if engine not in asked.engines:
            continue
        bills[engine], courses[engine], runs = {}, {}, {}
        for player in (IDEAL, *asked.players):
            plays = player if player in {IDEAL, ORACLE} else "gesscale2"
            cases = [
                (asked.experiment, player, Case(workload=load, seed=seed, policy=plays, variant=variant))
                for load, seed in worlds
            ]
            with get_context("fork").Pool(asked.jobs) as pool:
                found = pool.map(watched, cases, chunksize=1)
            runs |= {(player, variant, *world): costs for world, (costs, _) in zip(worlds, found, strict=True)}
            bills[engine][player] = summary(runs, player, variant, worlds)
            if means := _means([onlooker for _, onlooker in found]):
                courses[engine][player] = means
    print(json.dumps({"bills": bills, "courses": courses}, indent=1))


if __name__ == "__main__":
    main()
