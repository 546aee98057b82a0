"""Playing one case: a policy in its world, under a referee, and what came of it."""

from collections.abc import Callable

from gesscale.errors import InputError
from gesscale.model.decision import Decision
from gesscale.policies.registry import own_card
from gesscale.words import place_of
from testbed.arena.case import Case, CaseResult
from testbed.arena.experiments.experiment import Experiment
from testbed.arena.judge import Judge, let_go, result_of
from testbed.arena.policies.catalogue import build_policy, check_policy
from testbed.arena.policies.policy_guard import PolicyGuard, RunLost, alarm_set
from testbed.arena.worlds.scenes import World, overload, world_of
from testbed.arena.worlds.streams import seed_of
from testbed.simulator.simulation import simulate

_SEED_OF_POLICIES = 2**32
"""Seeds of policies are below; settings take any whole number, and JSON keeps it."""


def play(
    experiment: Experiment,
    case: Case,
    *,
    with_series: bool = False,
    decided: Callable[[tuple[Decision, ...]], None] = let_go,
) -> CaseResult:
    """Play a case.

    Parameters
    ----------
    experiment
        With its variants.
    case
        One of its cases.
    with_series
        Whether the course of the run is kept, for figures.
    decided
        Told the decisions of each step.

    Returns
    -------
    CaseResult
        Every metric; or none of them and the reason, where the policy lost the run by its own fault.

    Raises
    ------
    InputError
        When the experiment names what is not there. Faults of the arena itself are raised as well, never reported as a
        policy's.
    """
    varied = experiment.variant(case.variant)
    check_policy(case.policy)
    world = world_of(experiment, case)
    scene = world.scene
    rules = varied.rules.model_copy(update={"seed": seed_of(case.seed, "policy") % _SEED_OF_POLICIES})
    judge = Judge(
        scene,
        world.slo_s,
        restart_is_supply=varied.restart_is_supply,
        with_series=with_series,
        decided=decided,
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
                scene, world.plant, policy, judge, seed=seed_of(case.seed, "metrics"), best=world.best
            )
    except RunLost as lost:
        return CaseResult(case=case, lost=str(lost))
    return result_of(case, world, judge, ended_at_s)


def check_experiment(experiment: Experiment) -> tuple[str, ...]:
    """Check all that an experiment names, before any case is played.

    Returns
    -------
    tuple of str
        Loads of the first variant that no policy can keep up with, in words.

    Raises
    ------
    InputError
        At the first policy, workload, file, node or constant that is not there or cannot be used.
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
        f"workload {workload}: {said}"
        for workload in experiment.workloads
        for said in overload(world(workload, first))
    )


def _check_rules(experiment: Experiment) -> None:
    """Check the settings of policies of one's own.

    Raises
    ------
    InputError
        When one of them cannot use it, or a setting is of none of them.
    """
    own = [own_card(name) for name in experiment.policies if ":" in name]
    for card in own:
        card.own_settings(experiment.rules)
    if unknown := experiment.rules.unknown([card.group for card in own if card.settings is not None]):
        message = f"experiment {experiment.name}: {place_of(('rules', unknown[0]))}: there is no such setting"
        raise InputError(message)
