"""Builds the simulated world of a case from an experiment."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from functools import lru_cache

from gesscale.common.errors import Problem
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

#: Longest time step of a Flink job; shorter if samples are closer together, so that no sample falls within a step.
_TICK_S = 10.0


@dataclass(frozen=True, slots=True)
class _EngineDefaults:
    physics: str
    constants: Mapping[str, float]
    instant: Mapping[str, float]


_ENGINE_DEFAULTS = {
    Engine.SPARK: _EngineDefaults(
        physics="map",
        constants={"service_ms_per_row": 5.0},  # of a Raspberry Pi; the emulated nodes of the fit took a tenth
        instant=dict.fromkeys(
            ("start_s", "start_spread", "start_together_s", "cold_min_s", "cold_max_s", "leave_s"), 0.0
        ),
    ),
    Engine.FLINK: _EngineDefaults(
        physics="taxi-nearest", constants={}, instant={"restart_s": 0.0, "restart_spread": 0.0, "cold_share": 0.0}
    ),
}


def physics_of(engine: Engine, name: str, section: OperatorSection, *, instant: bool = False) -> Physics:
    """Return the physics of an operator.

    Raises
    ------
    InputError
        If a file cannot be read, a constant does not exist, or its value is out of range.
    """
    defaults = _ENGINE_DEFAULTS[engine]
    read = _read(engine, section.physics or defaults.physics)
    named: dict[str, float | None] = {}
    if isinstance(read, SparkPhysics):
        named = {"trigger_s": section.trigger_s, "service_ms_per_row": section.service_ms_per_row}
    else:
        service_ms = section.service_ms_per_row
        named = {"service_s": None if service_ms is None else service_ms / 1000, "restart_s": section.restart_s}
    given = {
        **({} if section.physics else defaults.constants),
        **{constant: value for constant, value in named.items() if value is not None},
    }
    changes = {**given, **section.constants, **(defaults.instant if instant else {})}
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
    """Effect of a change of an operator's replicas, without noise."""

    #: Time until an ordered replica serves, seconds.
    duration_s: float
    #: Work time that a new replica then loses while it is cold, seconds.
    warm_up_s: float
    #: Whether the operator stops until the ordered replicas serve.
    stops: bool


def change_effect(physics: Physics) -> ChangeEffect:
    """Return the effect of a change: on Spark new replicas join a running query, on Flink the job stops."""
    if isinstance(physics, SparkPhysics):
        cold_s = (physics.cold_min_s + physics.cold_max_s) / 2
        return ChangeEffect(duration_s=physics.start_s, warm_up_s=cold_s, stops=False)
    cold_s = physics.cold_share * physics.warm_up_s  # the missing share fades exponentially
    return ChangeEffect(duration_s=physics.restart_s, warm_up_s=cold_s, stops=True)


@lru_cache(maxsize=16)
def _read(engine: Engine, source: str) -> Physics:
    return read_spark_physics(source) if engine is Engine.SPARK else read_flink_physics(source)


#: Metrics of the ideal policy, which reads none.
_NO_METRICS = MetricTraits(gap_share=1.0, cpu=CpuAccount.NOT_MEASURED)

#: The mean load over this time determines the replicas at the start, seconds.
_FIRST_S = 300.0

#: Periods that Monitor looks back on Flink in addition to the duration of a restart.
_PERIODS_AFTER_A_RESTART = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """Simulated world of a case."""

    scene: Scene
    #: State of the cluster at time 0.
    plant: Plant
    #: Best placements by operator.
    best: Mapping[str, BestPlacements]
    #: Effect of a change of the replicas by operator.
    changes: Mapping[str, ChangeEffect]
    #: Time within which a change can be undone, seconds.
    undone_within_s: float


def world_of(experiment: Experiment, case: Case) -> World:
    """Build the world of a case.

    The same seed gives every policy the same world: load, latency map and noise have separate random streams. The
    exceptions are `ideal`, whose changes take no time, and the replicas with which `ideal` and `static` start.

    Raises
    ------
    InputError
        If a variant, workload, file or node does not exist, or there are too few nodes.
    """
    varied = experiment.variant(case.variant)
    ideal = case.policy == IDEAL
    fog = fog_nodes(varied.nodes, case.seed)
    operators = (_operator(name, section, fog, varied.engine) for name, section in varied.operators.items())
    workflow = Workflow(operators, varied.slo_s)
    physics = {
        name: physics_of(varied.engine, name, section, instant=ideal) for name, section in varied.operators.items()
    }
    best = _best(tuple(workflow.operators.values()), tuple(physics.items()), tuple(fog.nodes.values()), fog.delays)
    plain = Scene(
        workflow=workflow,
        nodes=fog.nodes,
        delays=fog.delays,
        workloads=_workloads(case, workflow, varied),
        initial={name: _nearest(fog, section.min_initial_replicas) for name, section in varied.operators.items()},
        selectivity={name: section.selectivity for name, section in varied.operators.items()},
        retention_s={name: each.retention_s for name, each in varied.operators.items() if each.retention_s is not None},
        metrics=_NO_METRICS if ideal else _traits(varied, physics),
        failures=varied.faults.failures,
        slowdowns=varied.faults.slowdowns,
        mapped_after_s=varied.faults.mapped_after_s,
        period_s=varied.sample_s if ideal else varied.period_s,
        min_period_s=varied.min_period_s,
        sample_s=varied.sample_s,
        drain_limit_s=varied.drain_limit_s,
        rescale_timeout_s=varied.rescale_timeout_s,
        executors_per_node=None if ideal else varied.nodes.executors_per_node,
    )
    factor = varied.load_factor or varied.peak_share * _smallest_headroom_ratio(plain, best)
    loaded = replace(plain, workloads=_scaled(plain, factor))
    scene = replace(loaded, initial=_initial(case.policy, varied, loaded, best))
    return World(
        scene=scene,
        plant=plant_of(scene, physics, seed=seed_of(case.seed, "plant")),
        best=best,
        changes={name: change_effect(item) for name, item in physics.items()},
        undone_within_s=varied.undone_within_s,
    )


def check_capacity(world: World, workload: str) -> Iterator[Problem]:
    """Yield a warning for each operator whose load exceeds the capacity of all its replicas together."""
    scene = world.scene
    for name, operator in scene.workflow.operators.items():
        most = _max_rows_per_s(operator, world.best[name], len(scene.nodes))
        peak = _peak_rows_per_s(scene, name)
        if peak <= most:
            continue
        inflow, sample_s = inflow_of(scene, name), scene.sample_s
        beyond = sum(
            inflow_rows_per_s(inflow, index * sample_s, sample_s) > most
            for index in range(math.ceil(scene.duration_s / sample_s))
        )
        fields = {
            "source": f"workload {workload}",
            "operator": name,
            "peak_rows_per_s": peak,
            "capacity_rows_per_s": most,
            "overloaded_min": beyond * sample_s / 60,
        }
        yield Problem("load-exceeds-capacity", fields)


def _operator(name: str, section: OperatorSection, fog: FogNodes, engine: Engine) -> Operator:
    if section.min_initial_replicas > len(fog.nodes):
        raise InputError("initial-replicas-exceeded", operator=name, max=len(fog.nodes), got=section.initial_replicas)
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
    """Return the node of the driver and the nodes nearest to it; a missing delay counts as the largest."""

    def distance_ms(node: str) -> float:
        delay_ms = fog.delays.delay_ms(fog.driver_node, node)
        return float("inf") if delay_ms is None else delay_ms

    return tuple(sorted(sorted(fog.nodes, key=lambda node: (node != fog.driver_node, distance_ms(node), node))[:count]))


def _traits(experiment: Experiment, physics: Mapping[str, Physics]) -> MetricTraits:
    history_s = experiment.metrics.history_s
    if experiment.engine is Engine.FLINK:
        restart_s = max(change_effect(item).duration_s for item in physics.values())
        history_s = max(history_s, restart_s + _PERIODS_AFTER_A_RESTART * experiment.period_s)
    return experiment.metrics.model_copy(update={"history_s": history_s})


def _workloads(case: Case, workflow: Workflow, experiment: Experiment) -> dict[str, Workload]:
    """Return the unscaled share of the load of each operator that reads a source."""
    load = _workload(case.workload, seed_of(case.seed, "workload"))
    if experiment.length_s is not None:
        load = load.with_duration(experiment.length_s)
    shares = {name: experiment.operators[name].load_share for name in workflow.operators if not workflow.upstream(name)}
    return {name: load if share == 1 else load.scaled(share) for name, share in shares.items()}


@lru_cache(maxsize=4)
def _workload(text: str, seed: int) -> Workload:
    return workload_named(text, seed=seed)


def _scaled(scene: Scene, factor: float) -> dict[str, Workload]:
    """Return the loads; the rates of patterns are multiplied by a factor."""
    return {name: load if load.absolute else load.scaled(factor) for name, load in scene.workloads.items()}


def _smallest_headroom_ratio(scene: Scene, best: Mapping[str, BestPlacements]) -> float:
    """Return the smallest ratio of an operator's capacity to its peak load."""
    return min(
        _max_rows_per_s(operator, best[name], len(scene.nodes)) / peak_rows_per_s
        for name, operator in scene.workflow.operators.items()
        if (peak_rows_per_s := _peak_rows_per_s(scene, name)) > 0
    )


def _max_rows_per_s(operator: Operator, best: BestPlacements, nodes: int) -> float:
    return max(best[count][0] for count in range(1, min(operator.max_replicas, nodes) + 1))


def _peak_rows_per_s(scene: Scene, operator: str) -> float:
    return sum(
        share * scene.workloads[source].peak_rows_per_s for source, share in scene.source_shares(operator).items()
    )


def _initial(
    policy: str, experiment: Experiment, scene: Scene, best: Mapping[str, BestPlacements]
) -> Mapping[str, tuple[str, ...]]:
    """Return the placements at the start: `static` has the replicas that the peak needs, `ideal` those needed now."""
    if policy == STATIC:
        return {name: best[name].smallest_for(_peak_rows_per_s(scene, name))[1] for name in scene.initial}
    if policy == IDEAL:
        return {name: best[name].smallest_for(needed_rows_per_s(scene, name, 0.0))[1] for name in scene.initial}
    first_s = min(_FIRST_S, scene.duration_s)
    return {
        name: best[name].smallest_for(inflow_rows_per_s(inflow_of(scene, name), 0.0, first_s))[1]
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
    """Return the best placements from a separate plant; they depend on neither load nor seed."""
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
