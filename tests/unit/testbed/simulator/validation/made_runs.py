"""Builds recorded runs for tests: by hand, or by the simulator from known constants."""

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate
from pathlib import Path

import numpy as np

from gesscale.model.decision import Change
from gesscale.model.observation import Batch
from gesscale.model.workflow import BatchCap, Operator
from latency_map import LatencyMap
from testbed.simulator.spark.constants import SparkPhysics
from testbed.simulator.validation.recorded_run import RecordedOrder, RecordedRun, simulate_recorded_run

RECORDS = Path(__file__).parents[4] / "data" / "records"
FITTED_TO = ("warm-1", "warm-4", "warm-5")
"""The records that the constants of ``local-cluster`` are fitted to."""

KNOWN = SparkPhysics(
    trigger_s=2.0,
    service_ms_per_row=2.3,
    fixed_s=0.25,
    task_s=0.08,
    driver_round_trips=6.0,
    cold_min_s=5.0,
    cold_max_s=5.0,
    start_s=2.5,
    leave_s=0.5,
)
"""Constants without noise; all new executors are equally cold."""

OPERATOR = Operator(name="op", driver_node="n0", max_replicas=5, cap=BatchCap(rows_per_replica=1000))
NODES = ("n0", "n1", "n2", "n3", "n4")
_RTT_FROM_N0_MS = (0.0, 10.0, 40.0, 80.0, 150.0)


def delays() -> LatencyMap:
    """Return nodes on a line, n0 at its end."""
    place = np.array(_RTT_FROM_N0_MS)
    return LatencyMap(names=NODES, rtt_ms=np.abs(place[:, None] - place[None, :]))


def batch(number: int, ended_at_s: float, **more: object) -> Batch:
    """Return a batch of 100 rows that took 1 s on n0 under a cap of 1000."""
    figures = {"rows": 100, "seconds": 1.0, "nodes": ("n0",), "trigger_s": 2.0, "cap_rows": 1000}
    return Batch(
        batch_id=number,
        ended_at_s=ended_at_s,
        **{**figures, "offered_rows_total": 100.0 * number, "backlog_rows": 0.0, **more},  # type: ignore[arg-type]
    )


def run_of(
    batches: Sequence[Batch], orders: Sequence[RecordedOrder] = (), *, operator: Operator = OPERATOR
) -> RecordedRun:
    """Return a run of these batches on the five nodes."""
    return RecordedRun(
        name="made", operator=operator, delays=delays(), batches=tuple(batches), orders=tuple(orders), trigger_s=2.0
    )


def simulated_run(
    physics: SparkPhysics, *, seed: int = 3, reported: bool = True, groups: Sequence[int] = (1, 1, 1, 1)
) -> RecordedRun:
    """Return 400 s from the simulator: the load rises and falls, four replicas are added and removed one by one.

    Parameters
    ----------
    physics
        Constants of the simulation.
    seed
        Seed of the noise.
    reported
        Whether orders have the time until the last new replica registered.
    groups
        Number of replicas that each order adds.
    """
    offered = [batch(0, 1.0, rows=0, seconds=0.5, offered_rows_total=0.0)]
    total = 0.0
    for second in range(2, 401):
        total += 250 + 1050 * math.sin(math.pi * min(second, 300) / 300) ** 2
        offered.append(batch(second, second + 1.0, offered_rows_total=total))
    ends = list(accumulate(groups))
    orders = [
        *(
            RecordedOrder(
                at_s=60.3 + 25 * index,
                change=Change(add=NODES[1 + end - count : 1 + end]),
                took_s=physics.start_s + (count - 1) * physics.start_together_s if reported else None,
            )
            for index, (count, end) in enumerate(zip(groups, ends, strict=True))
        ),
        *(
            RecordedOrder(at_s=320.4 + 20 * index, change=Change(remove=(node,)))
            for index, node in enumerate(reversed(NODES[1:]))
        ),
    ]
    script = run_of(offered, orders)
    return replace(script, batches=simulate_recorded_run(script, physics, seed=seed))
