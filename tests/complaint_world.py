"""The loop over a simulated plant, with what goes wrong in a complaint."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from faulty_ports import (
    TIMEOUT_S,
    Fault,
    Faults,
    FaultWindow,
    FaultyCluster,
    FaultyLatencies,
    FaultyMetrics,
    LyingReports,
)
from spark_scenes import QUIET, Notes, equal_delays, one_operator

from gesscale.knowledge.memory import MemoryKnowledge
from gesscale.loop import ControlLoop
from gesscale.model.decision import Decision, Reason
from gesscale.model.order import Order
from gesscale.model.undone_changes import undone_changes
from gesscale.options import PolicyOptions
from gesscale.policies import policy_named
from gesscale.ports import Knowledge
from testbed.arena.worlds.scenes import Physics, plant_of
from testbed.simulator.scene import Scene
from testbed.simulator.simulation import assemble
from testbed.workloads.workload import Workload


def lasting(fault: Fault, from_s: float, until_s: float) -> Faults:
    return Faults([FaultWindow(fault, from_s, until_s)])


def run(
    scene: Scene,
    policy: str = "gesscale",
    *,
    physics: Physics = QUIET,
    faults: Faults | None = None,
    seed: int = 1,
    rules: PolicyOptions | None = None,
    wired: Callable[[ControlLoop], ControlLoop] = lambda loop: loop,
) -> Notes:
    """Run a policy through a scene while faults strike; `wired` may exchange further parts of the loop."""
    faults, notes = faults or Faults(), Notes()
    plant = plant_of(scene, dict.fromkeys(scene.workflow.operators, physics), seed=seed)
    loop, clock = assemble(
        scene,
        plant,
        policy_named(policy, scene.workflow, rules or PolicyOptions()),
        notes,
        seed=seed,
        reports=LyingReports(plant, faults),
    )
    loop = replace(
        loop,
        metrics=FaultyMetrics(loop.metrics, faults, clock.now_s, lambda: clock.wait_until(clock.now_s() + TIMEOUT_S)),
        latencies=FaultyLatencies(loop.latencies, faults, clock.now_s),
        cluster=FaultyCluster(loop.cluster, faults, clock.now_s),
    )
    wired(loop).run(clock, scene.period_s, notes.on_decisions, min_period_s=scene.min_period_s)
    return notes


def ordered(placement: tuple[str, ...]) -> Callable[[ControlLoop], ControlLoop]:
    """Let the loop know the order of the first replicas of ``op``, as it does where a driver waits for one."""
    order = Order(placement=placement, at_s=-600.0, before=0, reason="FirstPlacement", downtime_s=0.0)
    return lambda loop: replace(loop, knowledge=MemoryKnowledge(known=Knowledge(orders={"op": (order,)})))


def undone_after(decisions: Sequence[Decision], from_s: float) -> int:
    """Return how many changes from an instant on were undone within ten minutes."""
    resizes = [(each.at_s, len(each.plan.placement) - len(each.plan.before)) for each in decisions if each.acted]
    return sum(at_s >= from_s for at_s in undone_changes(resizes))


def changes(notes: Notes, from_s: float = 0.0, until_s: float = float("inf")) -> list[Decision]:
    return [each for each in notes.decisions if each.acted and from_s <= each.at_s < until_s]


def replicas_at(notes: Notes, at_s: float, operator: str = "op") -> int:
    """Return how many replicas were kept at an instant."""
    return next(each.supply_replicas for each in reversed(notes.samples[operator]) if each.t_s <= at_s)


def under(rates_by_minute: Sequence[float], **more: object) -> Scene:
    """Return operator ``op`` on six nodes, 5 ms apart, one rate for each minute; one replica does 488 rows/s.

    A batch of 6,000 rows, the cap, takes 0.3 + 12 s, and 4 round trips of 5 ms more with a second node (`QUIET`).
    """
    workload = Workload.of_rates("minutes", 60.0, rates_by_minute)
    return one_operator(workload, **{"delays": equal_delays(6, 5.0), **more})


def reasons(notes: Notes, from_s: float, until_s: float) -> set[Reason]:
    return {each.plan.reason for each in notes.decisions if from_s <= each.at_s < until_s}
