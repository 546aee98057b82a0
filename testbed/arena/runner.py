"""Runs one case: simulates a guarded policy in the world of the case and returns the metrics."""

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict
from functools import lru_cache

from gesscale.common.errors import Problem
from gesscale.errors import InputError
from gesscale.formatting import key_path
from gesscale.model.decision import Decision
from gesscale.policies.registry import custom_policy_info
from gesscale.validation import nearest
from testbed.arena.case import LATENCIES, Case, CaseResult
from testbed.arena.experiments.experiment import Experiment
from testbed.arena.names import CHANGE_PRICE, LATE_MINUTE_PRICE
from testbed.arena.policies.catalogue import build_policy, check_policy
from testbed.arena.policies.perfect_foresight import Inflow, inflow_of, inflow_rows_per_s
from testbed.arena.policies.policy_guard import PolicyGuard, RunLost, alarm_set
from testbed.arena.worlds.fog_nodes import seed_of
from testbed.arena.worlds.scenes import World, check_capacity, world_of
from testbed.scoring.engine_figures import EngineFigures, EngineMeter
from testbed.scoring.frontier import Frontier, frontier
from testbed.scoring.lower_bound import lower_bound
from testbed.scoring.recorder import SeriesRecorder
from testbed.scoring.sample import Sample, Scores
from testbed.scoring.scorer import Scorer, combine
from testbed.scoring.workflow_totals import Backlog, BacklogMeter, ReplicaCount, ReplicaCounter
from testbed.simulator.demand import BestPlacements
from testbed.simulator.simulation import simulate


def discard_decisions(decisions: tuple[Decision, ...]) -> None:
    """Ignore decisions; the samples show their effect."""
    del decisions


class RunScorer:
    """Observes a run and scores it; a `testbed.simulator.plant.Observer`.

    Attributes
    ----------
    completed
        Receives rows that reached a sink.
    """

    def __init__(
        self,
        world: World,
        *,
        restart_is_supply: bool,
        with_series: bool = False,
        on_decisions: Callable[[tuple[Decision, ...]], None] = discard_decisions,
    ) -> None:
        self.on_decisions = on_decisions
        scene, operators = world.scene, world.scene.workflow.operators
        self._scorers = {
            name: Scorer(
                scene.duration_s,
                scene.workflow.slo_s,
                restart_is_supply=restart_is_supply,
                undone_within_s=world.undone_within_s,
            )
            for name in operators
        }
        # Completions are rows at any sink of the workflow; one scorer receives all of them.
        self._sink = next(scorer for name, scorer in self._scorers.items() if not scene.workflow.downstream(name))
        self.on_completion = self._sink.on_completion
        self._replica_counter = ReplicaCounter(scene.duration_s)
        self._backlog = BacklogMeter(scene.duration_s)
        self._engine = EngineMeter(scene.duration_s, scene.workloads)
        self._recorded_operator = next(iter(operators))
        self._recorder = SeriesRecorder(scene.duration_s) if with_series else None

    def on_sample(self, operator: str, sample: Sample) -> None:
        """Score an operator's sample."""
        self._scorers[operator].on_sample(sample)
        self._replica_counter.on_sample(operator, sample)
        self._backlog.on_sample(operator, sample)
        self._engine.on_sample(operator, sample)
        if self._recorder is not None and operator == self._recorded_operator:
            self._recorder.on_sample(sample)

    def scores(self, ended_at_s: float) -> Mapping[str, Scores]:
        """Return the scores of each operator of a run that ended."""
        drained = {name: scorer.scores(ended_at_s).drained for name, scorer in self._scorers.items()}
        return {
            name: scorer.scores(ended_at_s, rows_left=not all(drained.values()))
            for name, scorer in self._scorers.items()
        }

    def replica_count(self) -> ReplicaCount:
        """Return the replicas of all operators together."""
        return self._replica_counter.replica_count()

    def backlog(self) -> Backlog:
        """Return the backlog of all operators together."""
        return self._backlog.backlog()

    def engine_figures(self, ended_at_s: float) -> EngineFigures:
        """Return the figures that the engine reports, of a run that ended."""
        return self._engine.engine_figures(ended_at_s)

    def series(self) -> Mapping[str, tuple[float | None, ...]]:
        """Return the trajectory of the run, and the latency of each hundredth of its rows; empty unless requested."""
        if self._recorder is None:
            return {}
        return {**self._recorder.series(), LATENCIES: self._sink.latency_quantiles_s()}


def result_of(case: Case, world: World, scorer: RunScorer, ended_at_s: float) -> CaseResult:
    """Return every metric of a run that ended, and its trajectory if the scorer recorded one.

    Parameters
    ----------
    ended_at_s
        When all rows were processed or the drain limit was reached, seconds since the start of the run.
    """
    scores = scorer.scores(ended_at_s)
    return CaseResult(
        case=case,
        metrics={
            **asdict(combine(scores)),
            **asdict(scorer.replica_count()),
            **asdict(scorer.backlog()),
            **asdict(scorer.engine_figures(ended_at_s)),
            **_frontier_metrics(world, scores),
            "lower_bound_cost": _lower_bound(world),
        },
        series=scorer.series(),
    )


def _frontier_metrics(world: World, scores: Mapping[str, Scores]) -> dict[str, float | None]:
    """Return the lowest cost without under-provisioning at the same number of changes, and the distance to it."""
    least = sum(_frontier_of(world, name, scored).cost(scored.reconfigurations) for name, scored in scores.items())
    cost = sum(scored.cost for scored in scores.values())
    return {"frontier_cost": least, "above_frontier_pct": 100 * (cost / least - 1) if least > 0 else None}


def _frontier_of(world: World, operator: str, scored: Scores) -> Frontier:
    demand, change_takes_s = _demand(world, operator), world.changes[operator].duration_s
    return _frontier(demand, world.scene.sample_s, change_takes_s, scored.reconfigurations)


def _lower_bound(world: World) -> float:
    """Return the lower bound of a run's cost: the largest that one operator alone gives, with the fewest others."""
    scene, operators = world.scene, world.scene.workflow.operators
    cheapest = min(node.price for node in scene.nodes.values())
    fewest = sum(operator.min_replicas for operator in operators.values())
    return max(
        _bound_of(
            inflow_of(scene, name),
            world.best[name],
            operator.min_replicas,
            min(operator.max_replicas, len(scene.nodes)),
            len(scene.initial[name]),
            scene.duration_s,
            scene.workflow.slo_s,
            cheapest,
        )
        + cheapest * (fewest - operator.min_replicas) * scene.duration_s / 60
        for name, operator in operators.items()
    )


@lru_cache(maxsize=16)  # shared by all policies of one world
def _bound_of(
    inflow: Inflow,
    best: BestPlacements,
    fewest: int,
    most: int,
    initial: int,
    duration_s: float,
    objective_s: float,
    replica_price: float,
) -> float:
    return lower_bound(
        lambda at_s: sum(share * load.offered_rows(at_s) for load, share in inflow),
        [max(best[fewer][0] for fewer in range(1, number + 1)) for number in range(min(fewest, most), most + 1)],
        fewest=min(fewest, most),
        initial=initial,
        duration_s=duration_s,
        objective_s=objective_s,
        peak_rows_per_s=sum(share * load.peak_rows_per_s for load, share in inflow),
        replica_price=replica_price,
        late_minute_price=LATE_MINUTE_PRICE,
        change_price=CHANGE_PRICE,
    )


def _demand(world: World, operator: str) -> tuple[int, ...]:
    """Return the replicas that each sample needs."""
    scene = world.scene
    return _demand_of(inflow_of(scene, operator), world.best[operator], scene.duration_s, scene.sample_s)


@lru_cache(maxsize=16)  # shared by all policies of one world
def _demand_of(inflow: Inflow, best: BestPlacements, duration_s: float, sample_s: float) -> tuple[int, ...]:
    samples = math.ceil(duration_s / sample_s - 1e-9)
    return tuple(
        best.smallest_for(inflow_rows_per_s(inflow, index * sample_s, sample_s))[0] for index in range(samples)
    )


@lru_cache(maxsize=16)
def _frontier(demand: tuple[int, ...], step_s: float, change_takes_s: float, changes: int) -> Frontier:
    return frontier(demand, step_s, change_takes_s, changes)


#: Upper bound of policy seeds, which JSON represents exactly.
_POLICY_SEEDS = 2**32


def run_case(
    experiment: Experiment,
    case: Case,
    *,
    with_series: bool = False,
    on_decisions: Callable[[tuple[Decision, ...]], None] = discard_decisions,
) -> CaseResult:
    """Run a case.

    Raises
    ------
    InputError
        If the experiment names something that does not exist. Failures of the arena itself are raised too, never
        reported as a failure of the policy.
    """
    varied = experiment.variant(case.variant)
    check_policy(case.policy)
    world = world_of(experiment, case)
    scene = world.scene
    rules = varied.rules.model_copy(update={"seed": seed_of(case.seed, "policy") % _POLICY_SEEDS})
    scorer = RunScorer(
        world, restart_is_supply=varied.restart_is_supply, with_series=with_series, on_decisions=on_decisions
    )
    try:
        with alarm_set() as alarm:
            policy = PolicyGuard(
                lambda: build_policy(case.policy, world, rules),
                case.policy,
                scene.workflow,
                time_limit_s=varied.time_limit_s,
                alarm=alarm,
            )
            ended_at_s = simulate(
                scene, world.plant, policy, scorer, seed=seed_of(case.seed, "metrics"), best=world.best
            )
    except RunLost as lost:
        return CaseResult.of_lost(case, lost.problem)
    return result_of(case, world, scorer, ended_at_s)


def check_experiment(experiment: Experiment) -> tuple[Problem, ...]:
    """Check everything that an experiment names before any case runs; return warnings.

    Raises
    ------
    InputError
        At the first policy, workload, file, node or constant that does not exist or cannot be used.
    """
    for policy in experiment.policies:
        check_policy(policy)
    seed, policy = experiment.seed_list[0], experiment.policies[0]
    first, *varied = experiment.variant_names

    def world(workload: str, variant: str) -> World:
        return world_of(experiment, Case(workload=workload, seed=seed, policy=policy, variant=variant))

    for variant in experiment.variant_names:
        _check_rules(experiment.variant(variant))
    for variant in varied:
        world(experiment.workloads[0], variant)
    return tuple(
        problem for workload in experiment.workloads for problem in check_capacity(world(workload, first), workload)
    )


def _check_rules(experiment: Experiment) -> None:
    """Check the settings of policies that a user supplies."""
    own = [custom_policy_info(name) for name in experiment.policies if ":" in name]
    for info in own:
        info.own_settings(experiment.rules)
    if unknown := experiment.rules.unknown([info.group for info in own if info.settings is not None]):
        raise InputError(
            "setting-unknown",
            source=f"experiment {experiment.name}",
            place=key_path(("rules", unknown[0])),
            nearest=nearest(unknown[0], type(experiment.rules).model_fields),
        )
