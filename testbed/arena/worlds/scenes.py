"""From an experiment and a case to the world in which the case is played."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from functools import lru_cache

from gesscale.errors import InputError
from gesscale.model.workflow import BatchCap, Operator, Workflow
from latency_map import LatencyMap
from testbed.arena.case import Case
from testbed.arena.experiments.experiment import Experiment
from testbed.arena.experiments.sections import NEEDED, OperatorSection
from testbed.arena.names import IDEAL, STATIC, Engine
from testbed.arena.policies.perfect_foresight import inflow_of, inflow_rows_per_s, needed_rows_per_s
from testbed.arena.worlds.fog_nodes import FogNodes, fog_nodes, seed_of
from testbed.simulator.demand import BestPlacements, best_placements
from testbed.simulator.figures import checked_physics
from testbed.simulator.flink.physics import FlinkPhysics
from testbed.simulator.flink.physics import read_physics as read_flink_physics
from testbed.simulator.flink.plant import FlinkPlant
from testbed.simulator.plant import Plant
from testbed.simulator.scene import CpuAccount, MetricTraits, Scene, SimulatedNode
from testbed.simulator.spark.constants import SparkPhysics
from testbed.simulator.spark.constants import read_physics as read_spark_physics
from testbed.simulator.spark.plant import SparkPlant
from testbed.workloads.registry import workload_named
from testbed.workloads.workload import Workload

Physics = SparkPhysics | FlinkPhysics

#: Step of a Flink job's time; shorter where samples are closer together, so that none falls within one.
_TICK_S = 10.0


@dataclass(frozen=True, slots=True)
class _Traits:
    usual: str
    slower: Mapping[str, float]
    instant: Mapping[str, float]


_TRAITS = {
    Engine.SPARK: _Traits(
        usual="map",
        slower={"service_ms_per_row": 5.0},  # of a Raspberry Pi; what was emulated for the fit took a tenth
        instant={
            "start_s": 0.0,
            "start_spread": 0.0,
            "start_together_s": 0.0,
            "cold_least_s": 0.0,
            "cold_most_s": 0.0,
            "leave_s": 0.0,
        },
    ),
    Engine.FLINK: _Traits(
        usual="taxi-nearest", slower={}, instant={"restart_s": 0.0, "restart_spread": 0.0, "cold_share": 0.0}
    ),
}


def physics_of(engine: Engine, name: str, section: OperatorSection, *, instant: bool = False) -> Physics:
    """Return the physics of an operator.

    Raises
    ------
    InputError
        When a file cannot be read, or it has no such constant or not with that value.
    """
    traits = _TRAITS[engine]
    read = _read(engine, section.physics or traits.usual)
    named: dict[str, float | None] = {}
    if isinstance(read, SparkPhysics):
        named = {"trigger_s": section.trigger_s, "service_ms_per_row": section.service_ms_per_row}
    else:
        service_ms = section.service_ms_per_row
        named = {"service_s": None if service_ms is None else service_ms / 1000, "restart_s": section.restart_s}
    given = {
        **({} if section.physics else traits.slower),
        **{constant: value for constant, value in named.items() if value is not None},
    }
    changes = {**given, **section.constants, **(traits.instant if instant else {})}
    return checked_physics(type(read), {**asdict(read), **changes}, f"operators.{name}.constants")


def plant_of(scene: Scene, physics: Mapping[str, Physics], *, seed: int) -> Plant:
    """Return the plant of a scene at time 0."""
    spark = {name: item for name, item in physics.items() if isinstance(item, SparkPhysics)}
    if spark:
        return SparkPlant(scene, spark, seed=seed)
    flink = {name: item for name, item in physics.items() if isinstance(item, FlinkPhysics)}
    return FlinkPlant(scene, flink, seed=seed, tick_s=min(_TICK_S, scene.sample_s))


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeEffect:
    """What a change of an operator's replicas does, without noise."""

    #: How long it takes until an ordered replica serves, seconds.
    takes_s: float
    #: How much of a new replica's time is lost after that while it is cold, seconds.
    warm_up_s: float
    #: Whether the operator processes nothing until the ordered replicas serve.
    stops: bool


def change_effect(physics: Physics) -> ChangeEffect:
    """Return what a change does: on Spark new replicas join a running query, on Flink the job stops."""
    if isinstance(physics, SparkPhysics):
        cold_s = (physics.cold_least_s + physics.cold_most_s) / 2
        return ChangeEffect(takes_s=physics.start_s, warm_up_s=cold_s, stops=False)
    cold_s = physics.cold_share * physics.warm_up_s  # the missing share fades exponentially
    return ChangeEffect(takes_s=physics.restart_s, warm_up_s=cold_s, stops=True)


@lru_cache(maxsize=16)
def _read(engine: Engine, source: str) -> Physics:
    return read_spark_physics(source) if engine is Engine.SPARK else read_flink_physics(source)


#: The oracle looks at no metric: none is made for it.
_BLIND = MetricTraits(gap_share=1.0, cpu=CpuAccount.NOT_MEASURED)

#: What replicas a load needs at first is decided by its mean over this time, seconds.
_FIRST_S = 300.0

#: How many periods Monitor looks back on Flink in addition to the length of a restart.
_PERIODS_AFTER_A_RESTART = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """All that a case is played in."""

    #: What is simulated.
    scene: Scene
    #: At time 0.
    plant: Plant
    #: The best placements of each operator.
    best: Mapping[str, BestPlacements]
    #: What a change of the replicas of each operator does.
    changes: Mapping[str, ChangeEffect]
    #: The latency of a row that is still good, seconds.
    slo_s: float


def world_of(experiment: Experiment, case: Case) -> World:
    """Build the world of a case.

    The same seed is the same world to every policy: load, latency map and noise have streams of their own. Only the
    oracle gets one in which changes take no time, and it and `static` begin with other replicas.

    Raises
    ------
    InputError
        When there is no such variant, workload, file or node, or the nodes do not suffice.
    """
    varied = experiment.variant(case.variant)
    ideal = case.policy == IDEAL
    fog = fog_nodes(varied.nodes, case.seed)
    workflow = Workflow(_operator(name, section, fog, varied.engine) for name, section in varied.operators.items())
    physics = {
        name: physics_of(varied.engine, name, section, instant=ideal) for name, section in varied.operators.items()
    }
    best = _best(tuple(workflow.operators.values()), tuple(physics.items()), tuple(fog.nodes.values()), fog.delays)
    plain = Scene(
        workflow=workflow,
        nodes=fog.nodes,
        delays=fog.delays,
        workloads=_workloads(case, workflow, varied),
        initial={name: _nearest(fog, section.least_initial_replicas) for name, section in varied.operators.items()},
        selectivity={name: section.selectivity for name, section in varied.operators.items()},
        metrics=_BLIND if ideal else _traits(varied, physics),
        failures=varied.faults.failures,
        slowdowns=varied.faults.slowdowns,
        period_s=varied.sample_s if ideal else varied.period_s,
        min_period_s=varied.min_period_s,
        sample_s=varied.sample_s,
        drain_limit_s=varied.drain_limit_s,
        rescale_timeout_s=varied.rescale_timeout_s,
        executors_per_node=None if ideal else varied.nodes.executors_per_node,
    )
    factor = varied.load_factor or varied.peak_share * _room(plain, best)
    loaded = replace(plain, workloads=_scaled(plain, factor))
    scene = replace(loaded, initial=_initial(case.policy, varied, loaded, best))
    return World(
        scene=scene,
        plant=plant_of(scene, physics, seed=seed_of(case.seed, "plant")),
        best=best,
        changes={name: change_effect(item) for name, item in physics.items()},
        slo_s=varied.slo_s,
    )


def overload(world: World) -> Iterator[str]:
    """Say of each operator whose load is beyond what all replicas carry together: how far, and for how long."""
    scene = world.scene
    for name, operator in scene.workflow.operators.items():
        most = _most_rows_per_s(operator, world.best[name], len(scene.nodes))
        peak = _peak_rows_per_s(scene, name)
        if peak <= most:
            continue
        inflow, sample_s = inflow_of(scene, name), scene.sample_s
        beyond = sum(
            inflow_rows_per_s(inflow, index * sample_s, sample_s) > most
            for index in range(math.ceil(scene.duration_s / sample_s))
        )
        yield (
            f"operator {name!r} is offered up to {peak:.4g} rows/s, and all its replicas together carry {most:.4g}: "
            f"for {beyond * sample_s / 60:.3g} min no policy can keep up"
        )


def _operator(name: str, section: OperatorSection, fog: FogNodes, engine: Engine) -> Operator:
    if section.least_initial_replicas > len(fog.nodes):
        raise InputError(
            f"operator {name!r}: expected at most {len(fog.nodes)} initial_replicas, one on each node, "
            f"got {section.initial_replicas}"
        )
    capped = engine is Engine.SPARK and section.cap_rows_per_replica is not None
    return Operator(
        name=name,
        driver_node=fog.driver_node,
        upstream=section.upstream,
        min_replicas=section.min_replicas,
        max_replicas=min(section.max_replicas, len(fog.nodes)),
        cap=BatchCap(rows_per_replica=section.cap_rows_per_replica or 0) if capped else None,
        restarts=engine is Engine.FLINK,
    )


def _nearest(fog: FogNodes, count: int) -> tuple[str, ...]:
    """Return the driver's node and those nearest to it; a missing delay counts as the greatest."""

    def distance_ms(node: str) -> float:
        delay_ms = fog.delays.delay_ms(fog.driver_node, node)
        return float("inf") if delay_ms is None else delay_ms

    return tuple(sorted(sorted(fog.nodes, key=lambda node: (node != fog.driver_node, distance_ms(node), node))[:count]))


def _traits(experiment: Experiment, physics: Mapping[str, Physics]) -> MetricTraits:
    history_s = experiment.metrics.history_s
    if experiment.engine is Engine.FLINK:
        restart_s = max(change_effect(item).takes_s for item in physics.values())
        history_s = max(history_s, restart_s + _PERIODS_AFTER_A_RESTART * experiment.period_s)
    return experiment.metrics.model_copy(update={"history_s": history_s})


def _workloads(case: Case, workflow: Workflow, experiment: Experiment) -> dict[str, Workload]:
    """Return for each operator that reads a source its share of the load as it is written."""
    load = _workload(case.workload, seed_of(case.seed, "workload"))
    if experiment.length_s is not None:
        load = load.lasting(experiment.length_s)
    shares = {name: experiment.operators[name].load_share for name in workflow.operators if not workflow.upstream(name)}
    return {name: load if share == 1 else load.scaled(share) for name, share in shares.items()}


@lru_cache(maxsize=4)
def _workload(text: str, seed: int) -> Workload:
    return workload_named(text, seed=seed)


def _scaled(scene: Scene, factor: float) -> dict[str, Workload]:
    """Return the loads, patterns at rates multiplied by a factor."""
    return {name: load if load.absolute else load.scaled(factor) for name, load in scene.workloads.items()}


def _room(scene: Scene, best: Mapping[str, BestPlacements]) -> float:
    """Return how many times the loads' peaks the scarcest operator can sustain."""
    return min(
        _most_rows_per_s(operator, best[name], len(scene.nodes)) / peak_rows_per_s
        for name, operator in scene.workflow.operators.items()
        if (peak_rows_per_s := _peak_rows_per_s(scene, name)) > 0
    )


def _most_rows_per_s(operator: Operator, best: BestPlacements, nodes: int) -> float:
    return max(best[count][0] for count in range(1, min(operator.max_replicas, nodes) + 1))


def _peak_rows_per_s(scene: Scene, operator: str) -> float:
    return sum(
        share * scene.workloads[source].peak_rows_per_s for source, share in scene.source_shares(operator).items()
    )


def _initial(
    policy: str, experiment: Experiment, scene: Scene, best: Mapping[str, BestPlacements]
) -> Mapping[str, tuple[str, ...]]:
    """Return where replicas are at the beginning: `static` has what the peak needs, `ideal` what is needed now."""
    if policy == STATIC:
        return {name: best[name].least(_peak_rows_per_s(scene, name))[1] for name in scene.initial}
    if policy == IDEAL:
        return {name: best[name].least(needed_rows_per_s(scene, name, 0.0))[1] for name in scene.initial}
    first_s = min(_FIRST_S, scene.duration_s)
    return {
        name: best[name].least(inflow_rows_per_s(inflow_of(scene, name), 0.0, first_s))[1]
        if experiment.operators[name].initial_replicas == NEEDED
        else placement
        for name, placement in scene.initial.items()
    }


@lru_cache(maxsize=32)
def _best(
    operators: tuple[Operator, ...],
    physics: tuple[tuple[str, Physics], ...],
    nodes: tuple[SimulatedNode, ...],
    delays: LatencyMap,
) -> Mapping[str, BestPlacements]:
    """Return the best placements, which neither load nor seed change, from a plant that is built for that."""
    workflow = Workflow(operators)
    load = Workload(name="none", step_s=1.0, rows_per_s=(1.0,))
    scene = Scene(
        workflow=workflow,
        nodes={node.name: node for node in nodes},
        delays=delays,
        workloads={name: load for name in workflow.operators if not workflow.upstream(name)},
        initial=dict.fromkeys(workflow.operators, (nodes[0].name,)),
    )
    return best_placements(scene, plant_of(scene, dict(physics), seed=0))
