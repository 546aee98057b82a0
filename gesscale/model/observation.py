"""What Monitor saw: micro-batches, a reading per operator, and what could not be seen."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, PlainSerializer, computed_field

from gesscale.batch_record import BatchFigures
from gesscale.errors import MetricsUnavailableError
from gesscale.fields import LONGEST_S, SHORTEST_S, EpochSeconds

LARGEST = 1e18
"""Of a figure that is read from a file; arithmetic with it does not overflow."""
Bounded = Annotated[float, Field(ge=-LARGEST, le=LARGEST)]
Possible = Annotated[float, BeforeValidator(lambda value: math.nan if value is None else value)]
"""A figure that may be infinite or no number; JSON has null for it."""

SEVERAL_PARTITIONS = 2
"""A replica with so many partitions of state could leave one to a replica that has none."""
HOLDS_NONE_YET = "added, holds none yet"
"""What is said of a replica without state while another holds several partitions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch(BatchFigures):
    """One finished micro-batch of an operator, as its driver reported it.

    Attributes
    ----------
    nodes
        The nodes that held a replica when the batch ended.
    """

    nodes: tuple[str, ...]

    @property
    def is_full(self) -> bool:
        """Whether the batch took all the rows its cap allows.

        Kafka's connector shares a cap out to the partitions and rounds each share down: 297 rows were seen under a
        cap of 300, so one per cent less still counts as full.
        """
        return self.cap_rows is not None and self.rows >= 0.99 * self.cap_rows

    @property
    def is_late(self) -> bool:
        """Whether the batch took at least the trigger interval."""
        return self.trigger_s is not None and self.seconds >= self.trigger_s

    def began_again_since(self, before: "Batch") -> bool:
        """Return whether the query was restarted after an earlier batch: its numbers or its offered rows fell.

        A query that resumes from its checkpoint goes on numbering, but counts what is offered again.
        """
        return self.batch_id <= before.batch_id or self._offers_less_than(before)

    def follows(self, before: "Batch") -> bool:
        """Return whether this is the very next batch in the same run of the query."""
        return self.batch_id == before.batch_id + 1 and not self._offers_less_than(before)

    def _offers_less_than(self, before: "Batch") -> bool:
        now, then = self.offered_rows_total, before.offered_rows_total
        return now is not None and then is not None and now < then


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeReading:
    """A replica over one monitoring window.

    Attributes
    ----------
    throughput_rows_per_s
        Rows that it processed per second.
    cpu_share
        Its CPU utilisation, 0..1: the share of the window in which it computed; on Spark, in which its slots held a
        task.
    state_partitions
        How many partitions of state it had in the newest batch; None where the query keeps none, or nobody tells.
    """

    throughput_rows_per_s: Bounded
    cpu_share: Bounded
    state_partitions: Annotated[int, Field(ge=0)] | None = None


def _only_counted(batches: Any) -> Any:
    return () if isinstance(batches, int) else batches


CountedBatches = Annotated[
    tuple[Batch, ...], BeforeValidator(_only_counted), PlainSerializer(len, return_type=int)
]
"""Batches; JSON has only their number, and read from there they are missing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorReading:
    """An operator over one monitoring window.

    Attributes
    ----------
    operator
        Its name.
    at_s
        The end of the window, seconds since the epoch.
    placement
        The nodes that hold its replicas, sorted.
    input_rows_per_s
        IR: growth of the sources' latest offsets over the window; None where the sources do not tell.
    throughput_rows_per_s
        CT: rows processed per second over the window.
    backlog_rows
        Rows offered and not yet processed; None where the sources do not tell.
    saturated_share
        Share of the window's batches in which the operator was saturated, 0..1.
    busy_share
        Share of the window spent inside batches, 0..1; waiting for the network counts as busy.
    output_rows_per_s
        Rows handed on per second over the window; None where that is not known.
    cpu_share
        CPU utilisation of the replicas, 0..1; None where it is not measured.
    by_node
        Each replica on its own, by node; empty where that is not measured.
    warm_batches
        The batches of the window that are evidence: whole inside it, same placement throughout, not the first
        after a change of placement.
    batches
        The recent batches, oldest first; they reach further back than the window.
    trigger_s
        The trigger interval; None where unknown.
    fixed_slots
        Whether its tasks hold their slots for a long batch (Real-Time Mode): then its replicas are never changed.
    doubt
        Why the newest figures could not be believed, so that these are older ones and no replica may be removed by
        them; empty where they could.
    """

    operator: str
    at_s: EpochSeconds
    placement: tuple[str, ...]
    throughput_rows_per_s: Bounded
    saturated_share: Bounded
    busy_share: Bounded
    input_rows_per_s: Bounded | None = None
    backlog_rows: Bounded | None = None
    output_rows_per_s: Bounded | None = None
    cpu_share: Bounded | None = None
    by_node: Mapping[str, NodeReading] = field(default_factory=dict)
    warm_batches: CountedBatches = ()
    batches: CountedBatches = ()
    trigger_s: Annotated[float, Field(ge=SHORTEST_S, le=LONGEST_S)] | None = None
    fixed_slots: bool = False
    doubt: str = ""

    @property
    def replicas(self) -> int:
        """Number of nodes that hold a replica."""
        return len(self.placement)

    @property
    def without_state(self) -> tuple[str, ...]:
        """The nodes whose replica holds no state yet, while another holds several partitions; sorted."""
        held = {node: each.state_partitions for node, each in self.by_node.items()}
        if max((count or 0 for count in held.values()), default=0) < SEVERAL_PARTITIONS:
            return ()
        return tuple(sorted(node for node, count in held.items() if count == 0))

    @computed_field  # type: ignore[prop-decorator]
    @property
    def warm_rows_per_s(self) -> float | None:
        """Rows per second of batch time over the warm batches: the MST when the operator was saturated."""
        seconds = sum(batch.seconds for batch in self.warm_batches)
        return sum(batch.rows for batch in self.warm_batches) / seconds if seconds > 0 else None


@dataclass(frozen=True, slots=True, kw_only=True)
class MissingReading:
    """Why an operator has no reading this period.

    Attributes
    ----------
    stale
        True where figures came but are too old to act on; False where none came or they are nonsense.
    detail
        What was asked of whom, and what came instead.
    """

    operator: str
    detail: str
    stale: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkflowObservation:
    """Everything Monitor saw in one period.

    Attributes
    ----------
    at_s
        When, seconds since the epoch.
    readings, missing_readings
        For each operator a reading, or why there is none.
    node_weights
        Capacity weight of each node; one that is not listed weighs 1.
    """

    at_s: float
    readings: Mapping[str, OperatorReading] = field(default_factory=dict)
    missing_readings: Mapping[str, MissingReading] = field(default_factory=dict)
    node_weights: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if both := self.readings.keys() & self.missing_readings.keys():
            raise MetricsUnavailableError(f"an operator is either read or unseen, not both: {sorted(both)}")

    def with_weights(self, node_weights: Mapping[str, float]) -> "WorkflowObservation":
        """Return the same with the capacity weight of each node."""
        return replace(self, node_weights=node_weights)
