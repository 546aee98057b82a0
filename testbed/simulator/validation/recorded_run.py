"""A live run of one operator, as its record tells it: what was offered, what was ordered, what the batches took."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

import numpy as np

from gesscale.decision import Change
from gesscale.errors import InputError
from gesscale.monitor.evidence import warm
from gesscale.monitor.record_files import SETTINGS, read_recording
from gesscale.monitor.screen import screen
from gesscale.observation import Batch
from gesscale.settings import load_settings
from gesscale.workflow import Operator
from latency_map import LatencyMap, read_map
from testbed.workloads.workload import Workload

_STEP_S = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedRun:
    """A run on time that begins with its first batch, so that it can be acted again.

    Attributes
    ----------
    name
        Of its folder.
    operator
        What ran, with its cap.
    delays
        The latency map of its nodes.
    batches
        Screened, oldest first, on the run's own time.
    orders
        When which replicas were started and removed.
    trigger_s
        The trigger interval.
    """

    name: str
    operator: Operator
    delays: LatencyMap
    batches: tuple[Batch, ...]
    orders: tuple[tuple[float, Change], ...]
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
        grid = np.arange(0.0, self.duration_s + _STEP_S, _STEP_S)
        rates = np.maximum(0.0, np.diff(np.interp(grid, begins, totals))) / _STEP_S
        return Workload.of_rates(self.name, "the offered rows of a recorded run", _STEP_S, rates)

    @property
    def warm_batches(self) -> tuple[Batch, ...]:
        """The batches on the same replicas as the two before, with rows."""
        evidence = warm(self.batches)
        return tuple(b for b, is_warm in zip(self.batches, evidence, strict=True) if is_warm and b.rows)


def read_run(folder: Path) -> RecordedRun:
    """Read the record of a run, as the demo leaves it.

    Parameters
    ----------
    folder
        Holds batches.jsonl, decisions.jsonl, gesscale.yaml and the latency map that it names.

    Raises
    ------
    InputError
        When something is missing or cannot be used, or the run had several operators.
    """
    settings = load_settings(folder / SETTINGS, [])
    operators = settings.workflow.build().operators
    if len(operators) != 1:
        message = f"{folder}: expected a run of one operator, got {', '.join(operators)}"
        raise InputError(message)
    (operator,) = operators.values()
    recording = read_recording(folder, tuple(operators))
    listed = recording.batches[operator.name]
    kept, _ = screen(listed, max(batch.ended_at_s for batch in listed))
    if not kept or kept[0].trigger_s is None or kept[0].offered_rows_total is None:
        message = (
            f"{folder}: expected batches that tell their trigger interval and what was offered, got none"
        )
        raise InputError(message)
    began_s = kept[0].ended_at_s - kept[0].seconds
    group = settings.latency_map
    return RecordedRun(
        name=folder.name,
        operator=operator,
        delays=read_map(group.file or Path(), unit=group.unit, kind=group.kind).latencies,
        batches=tuple(replace(batch, ended_at_s=batch.ended_at_s - began_s) for batch in kept),
        orders=tuple(
            (decision.at_s - began_s, decision.change)
            for decision in recording.decisions
            if decision.acted and decision.change is not None
        ),
        trigger_s=kept[0].trigger_s,
    )


def offered_totals(batches: Sequence[Batch]) -> tuple[list[float], list[float]]:
    """Return when batches began (s) and what had been offered by then (rows); it never falls."""
    told = [
        (batch.ended_at_s - batch.seconds, batch.offered_rows_total)
        for batch in batches
        if batch.offered_rows_total is not None
    ]
    rising = [told[0], *(later for earlier, later in pairwise(told) if later[0] > earlier[0])]
    return [at for at, _ in rising], [total for _, total in rising]
