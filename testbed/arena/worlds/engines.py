"""The engines that can be simulated: their physics, with what an experiment changes of it, and their plants."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import lru_cache

from testbed.arena.engine import Engine
from testbed.arena.experiments.sections import OperatorSection
from testbed.simulator.figures import checked_physics
from testbed.simulator.flink.physics import FlinkPhysics
from testbed.simulator.flink.physics import read_physics as read_flink_physics
from testbed.simulator.flink.plant import FlinkPlant
from testbed.simulator.plant import Plant
from testbed.simulator.scene import Scene
from testbed.simulator.spark.constants import SparkPhysics
from testbed.simulator.spark.constants import read_physics as read_spark_physics
from testbed.simulator.spark.plant import SparkPlant

Physics = SparkPhysics | FlinkPhysics

_TICK_S = 10.0
"""Step of a Flink job's time; shorter where samples are closer together, so that none falls within one."""


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

    Parameters
    ----------
    engine
        Which.
    name
        The operator's, for messages.
    section
        What the experiment says of it.
    instant
        Whether its changes are to take no time and cost nothing, for the oracle.

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
        named = {
            "service_s": None if service_ms is None else service_ms / 1000,
            "restart_s": section.restart_s,
        }
    given = {
        **({} if section.physics else traits.slower),
        **{constant: value for constant, value in named.items() if value is not None},
    }
    changes = {**given, **section.constants, **(traits.instant if instant else {})}
    return checked_physics(type(read), {**asdict(read), **changes}, f"operators.{name}.constants")


def plant_of(scene: Scene, physics: Mapping[str, Physics], *, seed: int) -> Plant:
    """Return the plant of a scene at time 0.

    Parameters
    ----------
    scene
        What is simulated.
    physics
        Of each operator, all of one engine.
    seed
        Of its noise.
    """
    spark = {name: item for name, item in physics.items() if isinstance(item, SparkPhysics)}
    if spark:
        return SparkPlant(scene, spark, seed=seed)
    flink = {name: item for name, item in physics.items() if isinstance(item, FlinkPhysics)}
    return FlinkPlant(scene, flink, seed=seed, tick_s=min(_TICK_S, scene.sample_s))


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeEffect:
    """What a change of an operator's replicas does, without noise.

    Attributes
    ----------
    takes_s
        How long it takes until an ordered replica serves, seconds.
    warm_up_s
        How much of a new replica's time is lost after that while it is cold, seconds.
    stops
        Whether the operator processes nothing until the ordered replicas serve.
    """

    takes_s: float
    warm_up_s: float
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
