"""Policies of the arena by name: installed ones, those with perfect foresight, and those of a user's file."""

from collections.abc import Callable, Mapping

from gesscale.errors import InputError
from gesscale.options import PolicyOptions
from gesscale.policies import policy_names as names_of_gesscale
from gesscale.policies.registry import custom_policy_info, find_policy_info, unknown_policy
from gesscale.ports import Policy
from testbed.arena.names import CHANGE_PRICE, IDEAL, ORACLE, PERFECT_FORESIGHT
from testbed.arena.policies.fluid_plan import Fluid, cheapest_plan
from testbed.arena.policies.perfect_foresight import ScheduledPolicy, ideal_replicas, inflow_of
from testbed.arena.worlds.scenes import World

#: The plan counts on this share of the true capacity: noise takes the rest, and a fixed plan cannot react to it.
_CAPACITY_SHARE = 0.97


def oracle_replicas(world: World) -> Callable[[str, float], int]:
    """Return a function for the planned replicas of an operator from an instant on.

    Each operator is planned separately, as if its rows arrived when they are offered to the workflow.
    """
    scene = world.scene
    plans = {name: cheapest_plan(fluid_of(world, name)) for name in scene.workflow.operators}

    def replicas(operator: str, at_s: float) -> int:
        plan = plans[operator]
        return plan[min(int(at_s / scene.period_s + 1e-9), len(plan) - 1)]

    return replicas


def fluid_of(world: World, operator: str) -> Fluid:
    """Return the fluid model of an operator of a world."""
    scene, best, change = world.scene, world.best[operator], world.changes[operator]
    limits = scene.workflow.operators[operator]
    most = min(limits.max_replicas, len(scene.nodes))
    numbers = tuple(range(min(limits.min_replicas, most), most + 1))
    batch_s = tuple((limits.batch_rows(number) or 0) / best[number][0] for number in numbers)

    def serving_rows_per_s(before: int, after: int) -> float:
        staying = sorted(set(best[before][1]) & set(best[after][1]))
        return 0.0 if change.stops else world.plant.mst_rows_per_s(operator, staying)

    return Fluid(
        inflow=inflow_of(scene, operator),
        duration_s=scene.duration_s,
        period_s=scene.period_s,
        slo_s=scene.workflow.slo_s,
        replicas=numbers,
        initial=len(scene.initial[operator]),
        capacity_rows_per_s=tuple(_CAPACITY_SHARE * best[number][0] for number in numbers),
        changing_s=tuple(change.duration_s + change.warm_up_s + seconds for seconds in batch_s),
        changing_rows_per_s=tuple(
            tuple(_CAPACITY_SHARE * serving_rows_per_s(before, after) for after in numbers) for before in numbers
        ),
        batch_s=batch_s,
        change_price=CHANGE_PRICE,
    )


def policy_names() -> Mapping[str, str]:
    """Return each policy's name with one line on what it does."""
    own = {
        IDEAL: "perfect foresight of load and backlog, and changes take no time: defines the metrics, not attainable",
        ORACLE: "perfect foresight of load and capacities: follows the cheapest plan of the run",
    }
    return dict(sorted({**names_of_gesscale(), **own}.items()))


def knows_price(name: str) -> bool | None:
    """Return whether a policy knows the prices of late minutes and changes; None of one that is not installed."""
    if name in PERFECT_FORESIGHT:
        return name == ORACLE
    return find_policy_info(name).knows_price if name in names_of_gesscale() else None


def check_policy(name: str) -> None:
    """Check that a policy exists; a user's own policy is imported.

    Raises
    ------
    InputError
        If it does not exist or cannot be imported.
    """
    if ":" in name:
        custom_policy_info(name)
    elif name not in policy_names():
        raise InputError([unknown_policy(name, policy_names())])


def build_policy(name: str, world: World, rules: PolicyOptions) -> Policy:
    """Build a policy for a run.

    Raises
    ------
    InputError
        If it does not exist. Errors of a user's own callable are not caught.
    """
    check_policy(name)
    if name == IDEAL:
        return ScheduledPolicy(name=name, replicas=ideal_replicas(world.scene, world.best), best=world.best)
    if name == ORACLE:
        return ScheduledPolicy(name=name, replicas=oracle_replicas(world), best=world.best)
    return find_policy_info(name).create(world.scene.workflow, rules)
