"""Observations of a step: micro-batches, a reading per operator, and the reasons for missing readings."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, PlainSerializer, computed_field

from gesscale.batch_record import BatchFigures
from gesscale.common.errors import Problem
from gesscale.errors import MetricsUnavailableError
from gesscale.fields import MAX_DURATION_S, MIN_DURATION_S, EpochSeconds
from gesscale.model.offered import OfferedPoint

#: Largest figure in a file; arithmetic with it does not overflow.
MAX_FIGURE = 1e18
Bounded = Annotated[float, Field(ge=-MAX_FIGURE, le=MAX_FIGURE)]
#: A figure that may be infinite or NaN, which is null in JSON.
Possible = Annotated[float, BeforeValidator(lambda value: math.nan if value is None else value)]

#: A replica with this many state partitions could give one to a replica that has none.
SEVERAL_PARTITIONS = 2
#: Text for a replica without state while another has several partitions.
HOLDS_NONE_YET = "added, holds none yet"


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch(BatchFigures):
    """One finished micro-batch of an operator, as reported by its driver."""

    #: The nodes that held a replica when the batch ended.
    nodes: tuple[str, ...]
    #: The nodes whose replica ran a task in it; None if unknown.
    workers: tuple[str, ...] | None = None

    @property
    def began_s(self) -> float:
        """When it began, seconds since the epoch."""
        return self.ended_at_s - self.seconds

    @property
    def processed_rows_total(self) -> float | None:
        """Rows processed since the query started; None if the sources do not report it."""
        offered, left = self.offered_rows_total, self.backlog_rows
        return None if offered is None or left is None else offered - left

    @property
    def is_first_of_run(self) -> bool:
        """Whether it is the first batch with rows of a run of the query: all processed rows are in it."""
        return (
            self.rows > 0 and self.processed_rows_total is not None and abs(self.processed_rows_total - self.rows) < 0.5
        )

    @property
    def is_full(self) -> bool:
        """Whether the batch has as many rows as its cap allows.

        Kafka's connector divides the cap among the partitions and rounds down: 297 rows were observed with a cap of
        300, so one per cent less still counts as full.
        """
        return self.cap_rows is not None and self.rows >= 0.99 * self.cap_rows

    @property
    def is_late(self) -> bool:
        """Whether the batch took at least the trigger interval."""
        return self.trigger_s is not None and self.seconds >= self.trigger_s

    def restarted_since(self, before: "Batch") -> bool:
        """Return whether the query was restarted after an earlier batch: its numbers or its offered rows decreased.

        A query that resumes from its checkpoint continues the batch numbers, but counts offered rows from 0.
        """
        return self.batch_id <= before.batch_id or self._offers_less_than(before)

    def follows(self, before: "Batch") -> bool:
        """Return whether this is the next batch in the same run of the query."""
        return self.batch_id == before.batch_id + 1 and not self._offers_less_than(before)

    def _offers_less_than(self, before: "Batch") -> bool:
        now, then = self.offered_rows_total, before.offered_rows_total
        return now is not None and then is not None and now < then


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeReading:
    """A replica over one monitoring window."""

    #: Rows that it processed per second.
    throughput_rows_per_s: Bounded
    #: Share of the window in which its slots held a task, 0..1; waiting for the network counts.
    busy_share: Bounded
    #: CPU utilisation: CPU seconds of its tasks per second of its slots; None if it is not reported.
    cpu_share: Bounded | None = None
    #: State partitions in the newest batch; None if the query has no state, or they are not reported.
    state_partitions: Annotated[int, Field(ge=0)] | None = None


def _only_counted(batches: Any) -> Any:
    return () if isinstance(batches, int) else batches


def _newest(points: tuple[OfferedPoint, ...]) -> tuple[OfferedPoint, ...]:
    return points[-1:]


#: Batches; in JSON only their number, so they are empty when read from it.
CountedBatches = Annotated[tuple[Batch, ...], BeforeValidator(_only_counted), PlainSerializer(len, return_type=int)]
#: Points of a counter, oldest first; in JSON only the newest one.
OfferedPoints = Annotated[tuple[OfferedPoint, ...], PlainSerializer(_newest, return_type=tuple[OfferedPoint, ...])]


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorReading:
    """An operator over one monitoring window."""

    #: Its name.
    operator: str
    #: The end of the window, seconds since the epoch.
    at_s: EpochSeconds
    #: The nodes that hold its replicas, sorted.
    placement: tuple[str, ...]
    #: CT: rows processed per second over the window.
    throughput_rows_per_s: Bounded
    #: Share of the window's batches in which the operator was saturated, 0..1.
    saturated_share: Bounded
    #: Share of the window spent inside batches, 0..1; waiting for the network counts as busy.
    busy_share: Bounded
    #: Totals of the newest run of the query, as far back as `batches`; empty if the sources do not report them.
    offered_points: OfferedPoints = ()
    #: IR: growth of `offered_points` over the window; None if it is unknown.
    input_rows_per_s: Bounded | None = None
    #: Rows offered up to the newest total and not yet processed; None if the sources do not report it.
    backlog_rows: Bounded | None = None
    #: When the query last reported that it was idle, after its newest batch; None if it did not.
    idle_at_s: EpochSeconds | None = None
    #: How long a batch has been running; None if none is, or it is unknown.
    running_s: Bounded | None = None
    #: Rows written per second over the window; None if unknown.
    output_rows_per_s: Bounded | None = None
    #: CPU utilisation, mean over the replicas; None if it is not reported.
    cpu_share: Bounded | None = None
    #: Readings of single replicas, by node; empty if they are not measured.
    by_node: Mapping[str, NodeReading] = field(default_factory=dict)
    #: The batches that are evidence: completely inside the window, on one placement, not the first after a change.
    warm_batches: CountedBatches = ()
    #: The recent batches, oldest first; they go back further than the window.
    batches: CountedBatches = ()
    #: The trigger interval; None if unknown.
    trigger_s: Annotated[float, Field(ge=MIN_DURATION_S, le=MAX_DURATION_S)] | None = None
    #: Beyond this number, a replica would get no task; None if unknown.
    useful_replicas: Annotated[int, Field(ge=1)] | None = None
    #: Mean share of the busiest replica in the rows, or the busy time, of a late batch; None if unknown.
    busiest_share: Annotated[float, Field(ge=0, le=1)] | None = None
    #: Whether its tasks hold their slots for a long batch (Real-Time Mode); then its replicas are never changed.
    fixed_slots: bool = False
    #: Why the API server refuses further executors, as a full quota does; empty if it does not.
    executor_refusal: str = ""
    #: Reason why the newest batch was rejected; empty if it was not. The figures are then older, and no replica may be
    #: removed because of them.
    problem: str = ""

    @property
    def replicas(self) -> int:
        """Number of nodes that hold a replica."""
        return len(self.placement)

    @property
    def without_state(self) -> tuple[str, ...]:
        """The nodes whose replica has no state yet, while another has several partitions; sorted."""
        counts = {node: each.state_partitions for node, each in self.by_node.items()}
        if max((count or 0 for count in counts.values()), default=0) < SEVERAL_PARTITIONS:
            return ()
        return tuple(sorted(node for node, count in counts.items() if count == 0))

    @computed_field  # type: ignore[prop-decorator]
    @property
    def warm_rows_per_s(self) -> float | None:
        """Rows per second of batch time over the warm batches: the MST when the operator was saturated."""
        seconds = sum(batch.seconds for batch in self.warm_batches)
        return sum(batch.rows for batch in self.warm_batches) / seconds if seconds > 0 else None


@dataclass(frozen=True, slots=True, kw_only=True)
class MissingReading:
    """Reason why an operator has no reading in this period."""

    operator: str
    #: Code of the problem, such as ``metrics-timeout``; see docs/reference/errors.md.
    code: str
    #: Fields of the problem.
    fields: Mapping[str, Any] = field(default_factory=dict)
    #: True if figures arrived but are too old to act on; False if none arrived or they are invalid.
    stale: bool = False

    @property
    def problem(self) -> Problem:
        """The reason as a problem of the catalogue."""
        return Problem(self.code, self.fields)


@dataclass(frozen=True, slots=True, kw_only=True)
class RowAge:
    """Age of the oldest row of an operator that is not yet through, against the objective."""

    #: The age from which a row is late.
    objective_s: Bounded
    #: The age, seconds: 0 if no row waits, None if it is unknown.
    seconds: Bounded | None = None
    #: Whether the row is older still: it was offered before the batches that are known.
    is_least: bool = False
    #: Seconds in which the oldest row was late, since the scaler started; None if they were never known.
    late_s: Bounded | None = None

    @computed_field  # type: ignore[prop-decorator]
    @property
    def text(self) -> str:
        """The age and the objective, as in a column.

        Examples
        --------
        >>> RowAge(objective_s=60, seconds=12.3).text, RowAge(objective_s=60, seconds=300, is_least=True).text
        ('12s/60s', '>300s/60s')
        >>> RowAge(objective_s=2.5).text
        '?/2.5s'
        """
        age = "?" if self.seconds is None else f"{'>' if self.is_least else ''}{self.seconds:.0f}s"
        return f"{age}/{self.objective_s:g}s"


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkflowObservation:
    """The readings of all operators in one step."""

    #: When, seconds since the epoch.
    at_s: float
    #: A reading or a missing reading for each operator (readings, missing_readings).
    readings: Mapping[str, OperatorReading] = field(default_factory=dict)
    missing_readings: Mapping[str, MissingReading] = field(default_factory=dict)
    #: Capacity weight of each node; 1 for unlisted nodes.
    node_weights: Mapping[str, float] = field(default_factory=dict)
    #: Returns the nodes that an operator could use if they had room, sorted.
    usable_by: Callable[[str], tuple[str, ...]] = field(default=lambda _operator: (), repr=False, compare=False)
    #: The age of the rows by operator, if it is measured.
    row_ages: Mapping[str, RowAge] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if both := self.readings.keys() & self.missing_readings.keys():
            raise MetricsUnavailableError("reading-ambiguous", operators=sorted(both))
