"""The record of a run: every micro-batch, every decision, and the time series of them."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from gesscale.model.decision import Decision
from gesscale.model.observation import Batch
from gesscale.monitor.record_files import write_recording
from perfmodel import ModelSummary
from testbed.pipeline.sink import SinkCount


@dataclass(frozen=True, slots=True, kw_only=True)
class Rescale:
    """One change of an operator's replicas."""

    #: When it was ordered, seconds since the epoch.
    at_s: float
    #: Nodes (added, removed).
    added: tuple[str, ...]
    removed: tuple[str, ...]
    #: Number of replicas after it.
    replicas: int
    #: Greatest round trip between them, ms, if it is known.
    nd_max_ms: float | None = None
    #: Time to the first task on each added node, s, if it was observed.
    first_task_s: tuple[float, ...] = ()
    #: The decision's reason, or the order's id.
    reason: str = ""

    @property
    def growth(self) -> int:
        """Added less removed replicas."""
        return len(self.added) - len(self.removed)


def rescale_of(decision: Decision) -> Rescale:
    """Return the change that a decision ordered."""
    return Rescale(
        at_s=decision.at_s,
        added=decision.outcome.added,
        removed=decision.outcome.removed,
        replicas=len(decision.plan.placement),
        nd_max_ms=decision.plan.nd_max_ms,
        reason=decision.plan.reason.value,
    )


@dataclass(slots=True)
class Record:
    """The record of one operator during a run; batches are stored by number, so duplicates do not count."""

    #: Start of the replay, seconds since the epoch: the zero of all series.
    began_at_s: float
    batches: dict[int, Batch] = field(default_factory=dict)
    decisions: list[Decision] = field(default_factory=list)
    rescales: list[Rescale] = field(default_factory=list)

    def add(self, decisions: tuple[Decision, ...]) -> None:
        """Add a step's decisions, their changes, and the batches that they are based on."""
        self.decisions.extend(decisions)
        self.rescales.extend(rescale_of(decision) for decision in decisions if decision.acted)
        for decision in decisions:
            if decision.analysis.reading is not None:
                self.add_batches(decision.analysis.reading.batches)

    def add_batches(self, batches: tuple[Batch, ...]) -> None:
        """Add batches."""
        self.batches.update({batch.batch_id: batch for batch in batches})

    @property
    def ordered(self) -> tuple[Batch, ...]:
        """The batches, oldest first."""
        return tuple(sorted(self.batches.values(), key=lambda batch: batch.ended_at_s))

    @property
    def acted(self) -> tuple[Decision, ...]:
        """The decisions that started or removed replicas."""
        return tuple(decision for decision in self.decisions if decision.acted)

    @property
    def model(self) -> ModelSummary | None:
        """The last model of a decision; None if none had one."""
        return next((each.analysis.model for each in reversed(self.decisions) if each.analysis.model), None)

    @property
    def processed_rows(self) -> int:
        """Rows of all batches."""
        return sum(batch.rows for batch in self.batches.values())

    def since_start_s(self, at_s: float) -> float:
        """Return seconds since the replay began."""
        return at_s - self.began_at_s

    def first_batches_s(self, rescale: Rescale) -> tuple[float, ...]:
        """Return for each added node the time to the end of the first batch with a replica there, s."""
        after = [batch for batch in self.ordered if batch.ended_at_s > rescale.at_s]
        firsts = (next((batch for batch in after if node in batch.nodes), None) for node in rescale.added)
        return tuple(batch.ended_at_s - rescale.at_s for batch in firsts if batch is not None)

    def longest_gaps_s(self, settle_s: float) -> tuple[float, ...]:
        """Return for each reconfiguration the longest time without a finished batch around it."""
        orders = [rescale.at_s for rescale in self.rescales]
        gaps = list(pairwise(batch.ended_at_s for batch in self.ordered))
        return tuple(
            max((end - begin for begin, end in gaps if at_s < end <= next_s and begin < at_s + settle_s), default=0.0)
            for at_s, next_s in pairwise([*orders, math.inf])
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class DayResult:
    """The result of a day."""

    #: By operator, in the order of the stream.
    records: Mapping[str, Record]
    #: Rows that were sent, and those of them without a position (produced, broken).
    produced: int
    broken: int = 0
    #: Rows in the output topic of each operator that has one.
    handed_on: Mapping[str, SinkCount] = field(default_factory=dict)
    #: Rows in the files of the last operator.
    sink: SinkCount


def write_records(records: Mapping[str, Record], folder: Path) -> None:
    """Write decisions.jsonl and batches.jsonl: a record that can be replayed."""
    decisions = [decision for record in records.values() for decision in record.decisions]
    write_recording(folder, decisions, {name: record.ordered for name, record in records.items()})
