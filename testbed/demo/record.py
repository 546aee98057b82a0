"""What a run leaves behind: every micro-batch, every decision, and the series drawn from them."""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from gesscale.decision import Decision
from gesscale.document import as_document, decision_document
from gesscale.observation import Batch


@dataclass(slots=True)
class Record:
    """A run as it happens; batches are kept by their number, so that seeing one twice counts once.

    Attributes
    ----------
    began_at_s
        When the replay began, seconds since the epoch: the zero of all series.
    """

    began_at_s: float
    batches: dict[int, Batch] = field(default_factory=dict)
    decisions: list[Decision] = field(default_factory=list)

    def add(self, decisions: tuple[Decision, ...]) -> None:
        """Keep a step's decisions, and the batches they were taken from."""
        self.decisions.extend(decisions)
        for decision in decisions:
            if decision.analysis.reading is not None:
                self.see(decision.analysis.reading.batches)

    def see(self, batches: tuple[Batch, ...]) -> None:
        """Keep batches."""
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
    def processed_rows(self) -> int:
        """Rows of all batches."""
        return sum(batch.rows for batch in self.batches.values())

    def since_start_s(self, at_s: float) -> float:
        """Return seconds since the replay began."""
        return at_s - self.began_at_s

    def offered(self) -> tuple[list[float], list[float]]:
        """Return times (s) and offered rates (rows/s); Spark asks what is offered when a batch begins."""
        told = [
            (batch.ended_at_s - batch.seconds, batch.offered_rows_total)
            for batch in self.ordered
            if batch.offered_rows_total is not None
        ]
        rates = [
            (self.since_start_s(later), (rows - rows_before) / (later - earlier))
            for (earlier, rows_before), (later, rows) in pairwise(told)
            if later > earlier
        ]
        return [time for time, _ in rates], [rate for _, rate in rates]

    def processed(self) -> tuple[list[float], list[float]]:
        """Return times (s) and processed rates (rows/s) between ends of batches."""
        rates = [
            (self.since_start_s(after.ended_at_s), after.rows / (after.ended_at_s - before.ended_at_s))
            for before, after in pairwise(self.ordered)
            if after.ended_at_s > before.ended_at_s
        ]
        return [time for time, _ in rates], [rate for _, rate in rates]

    def longest_gaps_s(self, settle_s: float) -> tuple[float, ...]:
        """Return for each reconfiguration the longest time without a finished batch around it.

        Parameters
        ----------
        settle_s
            How long after it gaps are put down to it, unless the next one comes first.

        Returns
        -------
        tuple of float
            Seconds between the ends of two batches, in the order of `acted`; the gap in which an order fell
            counts whole.
        """
        orders = [decision.at_s for decision in self.acted]
        gaps = list(pairwise(batch.ended_at_s for batch in self.ordered))
        return tuple(
            max(
                (end - begin for begin, end in gaps if at_s < end <= next_s and begin < at_s + settle_s),
                default=0.0,
            )
            for at_s, next_s in pairwise([*orders, math.inf])
        )


def write_records(records: Mapping[str, Record], folder: Path) -> None:
    """Write decisions.jsonl and batches.jsonl: a record that can be replayed.

    Parameters
    ----------
    records
        By operator; each line names its own.
    folder
        Where to.
    """
    decisions = [decision for record in records.values() for decision in record.decisions]
    documents = {
        "decisions": [decision_document(each) for each in sorted(decisions, key=lambda each: each.at_s)],
        "batches": [
            {"operator": name, **as_document(batch)}
            for name, record in records.items()
            for batch in record.ordered
        ],
    }
    for name, items in documents.items():
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(item) + "\n" for item in items))
