"""What `foresight` has at each instant: the cheapest plan for the load and the capacities of a world."""

from collections.abc import Callable

from testbed.arena.policies.fluid_plan import Fluid, cheapest_plan
from testbed.arena.policies.oracle import inflow_of
from testbed.arena.worlds.scenes import World

_CAPACITY_SHARE = 0.97
"""With this share of the true capacity it plans: noise takes the rest, and a plan by time cannot make up for it."""


def foresight(world: World) -> Callable[[str, float], int]:
    """Return what tells how many replicas an operator is to have from an instant on.

    Each operator is planned by itself, as if all that is on its way to it arrived when it is offered to the workflow.
    """
    scene = world.scene
    plans = {name: cheapest_plan(fluid_of(world, name)) for name in scene.workflow.operators}

    def replicas(operator: str, at_s: float) -> int:
        plan = plans[operator]
        return plan[min(int(at_s / scene.period_s + 1e-9), len(plan) - 1)]

    return replicas


def fluid_of(world: World, operator: str) -> Fluid:
    """Return an operator of a world as the plan sees it."""
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
        slo_s=world.slo_s,
        replicas=numbers,
        initial=len(scene.initial[operator]),
        capacity_rows_per_s=tuple(_CAPACITY_SHARE * best[number][0] for number in numbers),
        changing_s=tuple(change.takes_s + change.warm_up_s + seconds for seconds in batch_s),
        changing_rows_per_s=tuple(
            tuple(_CAPACITY_SHARE * serving_rows_per_s(before, after) for after in numbers)
            for before in numbers
        ),
        batch_s=batch_s,
    )
