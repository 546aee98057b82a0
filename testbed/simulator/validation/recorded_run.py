"""Reads the record of a live run of one operator, and replays it in the simulator."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, pairwise
from pathlib import Path

import numpy as np

from gesscale.errors import InputError
from gesscale.model.decision import Change, Decision
from gesscale.model.evidence import mark_warm
from gesscale.model.observation import Batch
from gesscale.model.workflow import Operator, Workflow
from gesscale.monitor.batch_screen import screen_batches
from gesscale.monitor.record_files import read_recording, settings_file
from gesscale.monitor.records import MAX_RUN_S
from gesscale.settings import load_settings
from latency_map import LatencyMap, read_map
from testbed.simulator.scene import Scene, SimulatedNode
from testbed.simulator.spark.constants import SparkPhysics
from testbed.simulator.spark.plant import SparkPlant
from testbed.workloads.workload import Workload

_STEP_S = 0.5
_MAX_STEPS = 200_000


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedOrder:
    """Replicas started and removed by an order."""

    #: Time of the order.
    at_s: float
    #: Replicas that actually started or left.
    change: Change
    #: Time until the last new replica had registered; None if the record lacks it.
    took_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicaStart:
    """First batches of a new replica."""

    #: Node of the replica.
    node: str
    #: Time of the order.
    ordered_at_s: float
    #: First batch that lists it.
    named: Batch
    #: First batch that it processed. It joins during one batch and serves from the next, unless it came while no
    #: batch ran.
    served: Batch

    @property
    def serving_s(self) -> float:
        """Time from the order to the end of its first batch, seconds."""
        return self.served.ended_at_s - self.ordered_at_s


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedRun:
    """A recorded run with its time zero at a trigger, ready to be replayed."""

    #: Name of its folder.
    name: str
    #: The operator, with its batch cap.
    operator: Operator
    #: Latency map of its nodes.
    delays: LatencyMap
    #: Screened batches, oldest first. Time is 0 at the last multiple of the trigger interval before the first batch,
    #: so triggers are due at multiples of the interval, as in Spark.
    batches: tuple[Batch, ...]
    #: Orders that started or removed replicas.
    orders: tuple[RecordedOrder, ...]
    #: Trigger interval, seconds.
    trigger_s: float

    @property
    def initial(self) -> tuple[str, ...]:
        """Initial placement."""
        return self.batches[0].nodes

    @property
    def duration_s(self) -> float:
        """Time until its last batch ended, seconds."""
        return self.batches[-1].ended_at_s

    @property
    def workload(self) -> Workload:
        """The load as Spark saw it: rows offered at the start of each batch, interpolated in between."""
        begins, totals = offered_totals(self.batches)
        step_s = max(_STEP_S, self.duration_s / _MAX_STEPS)
        grid = np.arange(0.0, self.duration_s + step_s, step_s)
        rates = np.maximum(0.0, np.diff(np.interp(grid, begins, totals))) / step_s
        return Workload.of_rates(self.name, step_s, rates)

    @property
    def warm_batches(self) -> tuple[Batch, ...]:
        """Batches with rows on the same replicas as the two batches before."""
        evidence = mark_warm(self.batches)
        return tuple(b for b, is_warm in zip(self.batches, evidence, strict=True) if is_warm and b.rows)


def read_run(folder: Path) -> RecordedRun:
    """Read the record of a run, such as one of the demo.

    Raises
    ------
    InputError
        If something is missing or unusable, or the run has several operators.
    """
    settings = load_settings(settings_file(folder), [])
    operators = settings.workflow.build().operators
    if len(operators) != 1:
        raise InputError("recorded-run-operators", source=str(folder), operators=list(operators))
    (operator,) = operators.values()
    recording = read_recording(folder, tuple(operators))
    listed = recording.batches[operator.name]
    kept = screen_batches(listed, max(batch.ended_at_s for batch in listed)).batches
    if not kept or kept[0].trigger_s is None or kept[0].offered_rows_total is None:
        raise InputError("recorded-run-without-offsets", source=str(folder))
    trigger_s = kept[0].trigger_s
    began_s = math.floor((kept[0].ended_at_s - kept[0].seconds) / trigger_s) * trigger_s
    group = settings.latency_map
    delays = read_map(group.file or Path(), unit=group.unit, kind=group.kind, limits=group.limits())
    return RecordedRun(
        name=folder.resolve().name,
        operator=operator,
        delays=delays,
        batches=tuple(replace(batch, ended_at_s=batch.ended_at_s - began_s) for batch in kept),
        orders=tuple(
            replace(order, at_s=order.at_s - began_s)
            for each in recording.decisions
            if (order := order_of(each.decision)) is not None
        ),
        trigger_s=trigger_s,
    )


def order_of(decision: Decision) -> RecordedOrder | None:
    """Return the effect of a decision; None if it changed nothing."""
    planned, outcome = decision.plan.change, decision.outcome
    if planned is None:
        return None
    add = tuple(node for node in planned.add if node in outcome.added)
    remove = tuple(node for node in planned.remove if node in outcome.removed)
    if not add and not remove:
        return None
    is_timed = add and not remove and 0 < outcome.seconds <= MAX_RUN_S
    return RecordedOrder(
        at_s=decision.at_s, change=Change(add=add, remove=remove), took_s=outcome.seconds if is_timed else None
    )


def starts(batches: Sequence[Batch], orders: Sequence[RecordedOrder], operator: Operator) -> Iterator[ReplicaStart]:
    """Yield the first batches of each new replica; replicas that never served are left out."""
    for order in orders:
        for node in order.change.add:
            following = [batch for batch in batches if batch.ended_at_s > order.at_s]
            index = next((at for at, batch in enumerate(following) if node in batch.nodes), None)
            if index is None:
                continue
            named = following[index]
            cap_rows = operator.batch_rows(len(named.nodes))
            began_with_it = cap_rows is not None and named.cap_rows == cap_rows
            candidates = following[index if began_with_it else index + 1 :]
            if candidates and node in candidates[0].nodes:
                yield ReplicaStart(node=node, ordered_at_s=order.at_s, named=named, served=candidates[0])


def offered_totals(batches: Sequence[Batch]) -> tuple[list[float], list[float]]:
    """Return when batches began (s) and the rows offered by then, which never decrease."""
    points = [(batch.began_s, batch.offered_rows_total) for batch in batches if batch.offered_rows_total is not None]
    rising = [points[0], *(later for earlier, later in pairwise(points) if later[0] > earlier[0])]
    return [at for at, _ in rising], [total for _, total in rising]


_OBSERVE_S = 10.0


def simulate_recorded_run(run: RecordedRun, physics: SparkPhysics, *, seed: int) -> tuple[Batch, ...]:
    """Simulate a recorded run with its load and its orders."""
    name = run.operator.name
    scene = Scene(
        workflow=Workflow([run.operator]),
        nodes={node: SimulatedNode(name=node) for node in run.delays.names},
        delays=run.delays,
        workloads={name: run.workload},
        initial={name: run.initial},
    )
    plant = SparkPlant(scene, {name: replace(physics, trigger_s=run.trigger_s)}, seed=seed)
    observed_s = np.arange(_OBSERVE_S, run.duration_s, _OBSERVE_S).tolist()
    orders = {order.at_s: order.change for order in run.orders}
    seen: dict[int, Batch] = {}
    for at_s in sorted({*chain(observed_s, orders), run.duration_s}):
        plant.advance(at_s)
        seen.update({batch.batch_id: batch for batch in plant.batches(name)})
        if at_s in orders:
            state, change = plant.state(), orders[at_s]
            there = {*state.placements[name], *state.starting[name]}
            plant.order(name, tuple(sorted({*there, *change.add} - {*change.remove})))
    return tuple(seen[number] for number in sorted(seen))
