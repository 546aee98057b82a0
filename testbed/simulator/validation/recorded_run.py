"""A live run of one operator from its record: what was offered, ordered, and what batches took; and it acted again."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, pairwise
from pathlib import Path

import numpy as np

from gesscale.errors import InputError
from gesscale.model.decision import Change, Decision
from gesscale.model.evidence import warm
from gesscale.model.observation import Batch
from gesscale.model.workflow import Operator, Workflow
from gesscale.monitor.record_files import read_recording, settings_file
from gesscale.monitor.records import LONGEST_RUN_S
from gesscale.monitor.screen import screen
from gesscale.settings import load_settings
from latency_map import LatencyMap, LatencyMapError, read_map
from testbed.simulator.scene import Scene, SimulatedNode
from testbed.simulator.spark.constants import SparkPhysics
from testbed.simulator.spark.plant import SparkPlant
from testbed.workloads.workload import Workload

_STEP_S = 0.5
_MOST_STEPS = 200_000


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedOrder:
    """Replicas that were started and removed."""

    #: When it was given.
    at_s: float
    #: What came of it: a replica that did not start is not in it.
    change: Change
    #: From the order until the last new replica had registered; None where the record does not say.
    took_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """How a new replica came to serve."""

    #: Where it is.
    node: str
    #: When it was ordered.
    ordered_at_s: float
    #: The first batch that named it.
    named: Batch
    #: The first batch that it worked on. It joins in the middle of one and serves from the next on, unless it
    #: came while no batch ran.
    served: Batch

    @property
    def serving_s(self) -> float:
        """From the order until the first batch that it worked on was done, seconds."""
        return self.served.ended_at_s - self.ordered_at_s


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedRun:
    """A run on a time of its own, so that it can be acted again."""

    #: Of its folder.
    name: str
    #: What ran, with its cap.
    operator: Operator
    #: The latency map of its nodes.
    delays: LatencyMap
    #: Screened, oldest first. Time is 0 at the last multiple of the trigger interval before the first of them
    #: began, so that triggers are due at multiples of it, as Spark has them.
    batches: tuple[Batch, ...]
    #: When which replicas were started and removed.
    orders: tuple[RecordedOrder, ...]
    #: The trigger interval.
    trigger_s: float

    @property
    def initial(self) -> tuple[str, ...]:
        """The nodes that held replicas in the beginning."""
        return self.batches[0].nodes

    @property
    def duration_s(self) -> float:
        """Until its last batch ended, seconds."""
        return self.batches[-1].ended_at_s

    @property
    def workload(self) -> Workload:
        """The load as Spark saw it: what was offered when each batch began, evenly in between."""
        begins, totals = offered_totals(self.batches)
        step_s = max(_STEP_S, self.duration_s / _MOST_STEPS)
        grid = np.arange(0.0, self.duration_s + step_s, step_s)
        rates = np.maximum(0.0, np.diff(np.interp(grid, begins, totals))) / step_s
        return Workload.of_rates(self.name, step_s, rates)

    @property
    def warm_batches(self) -> tuple[Batch, ...]:
        """The batches on the same replicas as the two before, with rows."""
        evidence = warm(self.batches)
        return tuple(b for b, is_warm in zip(self.batches, evidence, strict=True) if is_warm and b.rows)


def read_run(folder: Path) -> RecordedRun:
    """Read the record of a run, as the demo leaves it.

    Raises
    ------
    InputError
        When something is missing or cannot be used, or the run had several operators.
    """
    settings = load_settings(settings_file(folder), [])
    operators = settings.workflow.build().operators
    if len(operators) != 1:
        raise InputError(f"{folder}: expected a run of one operator, got {', '.join(operators)}")
    (operator,) = operators.values()
    recording = read_recording(folder, tuple(operators))
    listed = recording.batches[operator.name]
    kept = screen(listed, max(batch.ended_at_s for batch in listed)).batches
    if not kept or kept[0].trigger_s is None or kept[0].offered_rows_total is None:
        raise InputError(f"{folder}: expected batches with their trigger interval and what was offered, got none")
    trigger_s = kept[0].trigger_s
    began_s = math.floor((kept[0].ended_at_s - kept[0].seconds) / trigger_s) * trigger_s
    group = settings.latency_map
    try:
        delays = read_map(group.file or Path(), unit=group.unit, kind=group.kind, limits=group.limits())
    except LatencyMapError as error:
        raise InputError(str(error)) from error
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
    """Return what a decision brought about; None for nothing."""
    wanted, outcome = decision.plan.change, decision.outcome
    if wanted is None:
        return None
    add = tuple(node for node in wanted.add if node in outcome.added)
    remove = tuple(node for node in wanted.remove if node in outcome.removed)
    if not add and not remove:
        return None
    tells = add and not remove and 0 < outcome.seconds <= LONGEST_RUN_S
    return RecordedOrder(
        at_s=decision.at_s, change=Change(add=add, remove=remove), took_s=outcome.seconds if tells else None
    )


def starts(batches: Sequence[Batch], orders: Sequence[RecordedOrder], operator: Operator) -> Iterator[Start]:
    """Yield how each replica that was ordered came to serve; those that never did are left out."""
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
                yield Start(node=node, ordered_at_s=order.at_s, named=named, served=candidates[0])


def offered_totals(batches: Sequence[Batch]) -> tuple[list[float], list[float]]:
    """Return when batches began (s) and what had been offered by then (rows); it never falls."""
    points = [
        (batch.ended_at_s - batch.seconds, batch.offered_rows_total)
        for batch in batches
        if batch.offered_rows_total is not None
    ]
    rising = [points[0], *(later for earlier, later in pairwise(points) if later[0] > earlier[0])]
    return [at for at, _ in rising], [total for _, total in rising]


_LOOK_S = 10.0


def reenact(run: RecordedRun, physics: SparkPhysics, *, seed: int) -> tuple[Batch, ...]:
    """Act a run again."""
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
