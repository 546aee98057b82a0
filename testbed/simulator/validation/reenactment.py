"""A recorded run acted again by the simulator: the same load, the same orders at the same instants, open loop."""

from dataclasses import replace
from itertools import chain

import numpy as np

from gesscale.model.observation import Batch
from gesscale.model.workflow import Workflow
from testbed.simulator.scene import Scene, SimulatedNode
from testbed.simulator.spark.constants import SparkPhysics
from testbed.simulator.spark.plant import SparkPlant
from testbed.simulator.validation.recorded_run import RecordedRun

_LOOK_S = 10.0


def reenact(run: RecordedRun, physics: SparkPhysics, *, seed: int) -> tuple[Batch, ...]:
    """Act a run again.

    Parameters
    ----------
    run
        What was offered and ordered.
    physics
        Of its query; the trigger interval is the run's.
    seed
        Of the plant's noise.

    Returns
    -------
    tuple of Batch
        Oldest first, until the recorded run ended.
    """
    name = run.operator.name
    scene = Scene(
        workflow=Workflow([run.operator]),
        nodes={node: SimulatedNode(name=node) for node in run.delays.names},
        delays=run.delays,
        workloads={name: run.workload},
        initial={name: run.initial},
    )
    plant = SparkPlant(scene, {name: replace(physics, trigger_s=run.trigger_s)}, seed=seed)
    looks = np.arange(_LOOK_S, run.duration_s, _LOOK_S).tolist()
    orders = {order.at_s: order.change for order in run.orders}
    seen: dict[int, Batch] = {}
    for at_s in sorted({*chain(looks, orders), run.duration_s}):
        plant.advance(at_s)
        seen.update({batch.batch_id: batch for batch in plant.batches(name)})
        if at_s in orders:
            there = plant.state().placements[name]
            plant.order(name, tuple(sorted({*there, *orders[at_s].add} - {*orders[at_s].remove})))
    return tuple(seen[number] for number in sorted(seen))
