"""Scenes for the tests of the Flink plant."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from gesscale.model.observation import OperatorReading
from gesscale.model.workflow import Operator, Workflow
from gesscale.monitor.batch_screen import screen_batches
from gesscale.monitor.window import summarise
from latency_map import LatencyMap
from testbed.simulator.flink.physics import FlinkPhysics
from testbed.simulator.flink.plant import FlinkPlant
from testbed.simulator.scene import Scene, SimulatedNode
from testbed.workloads.workload import Workload

NODES = ("n0", "n1", "n2", "n3")

PLAIN = FlinkPhysics(service_s=0.01, row_bytes=32_768, restart_s=120.0)
"""A row a buffer, no noise, never cold: n near replicas of weight 1 sustain 100 n rows/s."""


def scene(
    rates: Mapping[str, Sequence[float]],
    workflow: Workflow,
    initial: Mapping[str, tuple[str, ...]],
    rtt_ms: float = 0.0,
    **more: Any,
) -> Scene:
    """Rates of each source in steps of 60 s, on four nodes with equal delays."""
    made = Scene(
        workflow=workflow,
        nodes={name: SimulatedNode(name=name) for name in NODES},
        delays=LatencyMap(names=NODES, rtt_ms=rtt_ms * (1 - np.eye(len(NODES)))),
        workloads={name: Workload.of_rates("steps", 60.0, steps) for name, steps in rates.items()},
        initial=initial,
    )
    return replace(made, **more)


def alone(rates: Sequence[float], placement: tuple[str, ...] = ("n0",), **more: Any) -> Scene:
    """One operator ``op``, its source at n0."""
    workflow = Workflow([Operator(name="op", driver_node="n0", max_replicas=4)])
    return scene({"op": rates}, workflow, {"op": placement}, **more)


def chain(rates: Sequence[float], initial: Sequence[tuple[str, ...]], **more: Any) -> Scene:
    """Operators ``a`` -> ``b`` -> ``c``, as many as there are placements."""
    names = ("a", "b", "c")[: len(initial)]
    operators = [
        Operator(name=name, driver_node="n0", upstream=names[index - 1 : index] if index else ())
        for index, name in enumerate(names)
    ]
    return scene({"a": rates}, Workflow(operators), dict(zip(names, initial, strict=True)), **more)


def plant(made: Scene, physics: FlinkPhysics | Mapping[str, FlinkPhysics] = PLAIN, seed: int = 1) -> FlinkPlant:
    by_name = dict.fromkeys(made.workflow.operators, physics) if isinstance(physics, FlinkPhysics) else physics
    return FlinkPlant(made, by_name, seed=seed)


def seen(flink: FlinkPlant, now_s: float, operator: str = "op", window_s: float = 60.0) -> OperatorReading:
    """What Monitor makes of the plant's ticks."""
    reading = summarise(
        operator,
        screen_batches(flink.batches(operator), now_s),
        now_s=now_s,
        window_s=window_s,
        stale_after_s=600.0,
        last_progress_at_s=flink.last_progress_at_s(operator, now_s),
    )
    assert isinstance(reading, OperatorReading)
    return reading
