"""Describes a simulated run: everything except the policy and the seed."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated, Self

from pydantic import BeforeValidator, ConfigDict, Field, model_validator
from pydantic.dataclasses import dataclass as validated_dataclass

from gesscale.common.errors import InvalidValueError
from gesscale.errors import InputError
from gesscale.fields import Duration, SettingsGroup, parse_duration_s
from gesscale.model.workflow import Workflow
from latency_map import LatencyMap
from testbed.simulator.figures import Positive, Share
from testbed.workloads.workload import Workload


@validated_dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedNode:
    """A fog node."""

    name: str
    #: Its true speed against a node of weight 1.
    weight: Positive = 1.0
    #: The weight that the scaler sees; None for the true one.
    reported_weight: Positive | None = None
    #: Slots of an executor on it, each with an equal part of its speed; None: as in the physics, each with all of it.
    slots: int | None = None
    #: Price of a replica on it, relative to a node of price 1.
    price: Positive = 1.0


def _moment_s(value: object) -> float:
    """Read a duration that may be 0."""
    nought = isinstance(value, int | float) and not isinstance(value, bool) and value == 0
    return 0.0 if nought or value == "0s" else parse_duration_s(value)


#: Seconds, at least 0, written as a duration.
Moment = Annotated[float, BeforeValidator(_moment_s)]


class Section(SettingsGroup):
    """A group of an experiment; read from and written to documents by the names of the file."""

    model_config = ConfigDict(serialize_by_alias=True, validate_by_name=True, validate_by_alias=True)


class SimulatedFault(Section):
    """A fault between two instants.

    Attributes
    ----------
    from_s: When it begins.
    until_s: When it ends.
    """

    from_s: Moment
    until_s: Duration

    @model_validator(mode="after")
    def _check_times(self) -> Self:
        if self.from_s >= self.until_s:
            raise InvalidValueError("fault-times-reversed", from_s=self.from_s, until_s=self.until_s)
        return self


class FailureKind(StrEnum):
    """What happens to a node, and to its executors; no kind lets an executor start there."""

    #: The node is not ready, and everything on it is lost.
    DOWN = "down"
    #: The node is deleted from the cluster, and everything on it is lost.
    DELETED = "deleted"
    #: The node is cordoned and its executors are deleted; Spark's new ones stay Pending until it is back.
    DRAINED = "drained"
    #: The node is not ready, and its executors do nothing until it is back.
    CUT_OFF = "cut-off"
    #: The cluster reports the node as not ready, but its executors work.
    UNREPORTED = "unreported"


class NodeFailure(SimulatedFault):
    """A node that cannot be used for a while.

    Attributes
    ----------
    node: Name of the node.
    loss: What happens to the node and its executors; an engine other than Spark loses everything on it.
    """

    node: str
    loss: FailureKind = FailureKind.DOWN


class LinkSlowdown(SimulatedFault):
    """Links whose round trip is longer for a while than in the latency map.

    Attributes
    ----------
    one: Node at one end of the links. Default: any.
    other: Node at the other end. Default: any.
    factor: Factor on the map's round trip.
    added_ms: Addition to it, ms.
    """

    one: str | None = None
    other: str | None = None
    factor: float = Field(1.0, ge=1, le=1000)
    added_ms: float = Field(0.0, ge=0)

    @model_validator(mode="after")
    def _check_effect(self) -> Self:
        if self.one is not None and self.one == self.other:
            raise InvalidValueError("link-ends-equal", node=self.one)
        if self.factor == 1 and self.added_ms == 0:
            raise InvalidValueError("link-unchanged")
        return self

    @property
    def ends(self) -> frozenset[str]:
        """The named ends of the links."""
        return frozenset({self.one, self.other} - {None})  # type: ignore[arg-type] # None is removed


#: Time after which a changed delay is in the latency map, seconds: two rounds of the agents' probes.
MAPPED_AFTER_S = 60.0


class CostChange(SimulatedFault):
    """A time in which each row costs more or less on all nodes, as on nodes that throttle.

    Attributes
    ----------
    factor: Time of a row relative to the physics.
    """

    factor: Positive


class CpuAccount(StrEnum):
    """Definition of CPU use, which the paper leaves open."""

    WORK = "work"
    WORK_AND_WAITING = "work-and-waiting"
    NOT_MEASURED = "not-measured"


class MetricTraits(Section):
    """Quality of the metrics.

    Attributes
    ----------
    cpu: Definition of CPU use.
    window_s: Time over which an operator is measured.
    history_s: How far back batches are read.
    stale_after_s: Age from which metrics are stale.
    delay_s: Age of the newest metrics.
    gap_share: Share of the periods without any metrics, 0..1.
    jitter_s: Longest delay of a step.
    """

    cpu: CpuAccount = CpuAccount.WORK
    window_s: Duration = 60.0
    history_s: Duration = 180.0
    stale_after_s: Duration = 180.0
    delay_s: Moment = 0.0
    gap_share: Share = 0.0
    jitter_s: Moment = 0.0

    @property
    def reach_s(self) -> float:
        """Age of the oldest metrics in a reading, seconds, apart from the history of batches."""
        return self.delay_s + self.window_s


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """A workflow on nodes under a load.

    Raises
    ------
    InputError
        If replicas or a driver are not on nodes of the scene.
    """

    #: Operators to scale.
    workflow: Workflow
    #: All nodes by name, including those of the drivers.
    nodes: Mapping[str, SimulatedNode]
    #: Latency map; true except while links are slowed down.
    delays: LatencyMap
    #: The load of each operator that reads a source of the workflow.
    workloads: Mapping[str, Workload]
    #: Initial placement of each operator; its replicas are warm.
    initial: Mapping[str, tuple[str, ...]]
    #: Rows that an operator emits per row that it reads; 1 by default.
    selectivity: Mapping[str, float] = field(default_factory=dict)
    #: Time for which a source of the workflow keeps a row that is not read, seconds; only on Flink. Default: for ever.
    retention_s: Mapping[str, float] = field(default_factory=dict)
    metrics: MetricTraits = field(default_factory=MetricTraits)
    failures: tuple[NodeFailure, ...] = ()
    slowdowns: tuple[LinkSlowdown, ...] = ()
    #: Time after which the map that policies read shows a slow-down; None if it never does.
    mapped_after_s: float | None = MAPPED_AFTER_S
    #: Changes of the cost of a row; only on Spark, and unknown to the true MST.
    cost_changes: tuple[CostChange, ...] = ()
    #: Time between two steps of the loop.
    period_s: float = 60.0
    #: Shortest time to a next step that a policy requests; None if it may not request one.
    min_period_s: float | None = None
    #: Time between two samples for the scores.
    sample_s: float = 10.0
    #: After the input ends the run goes on until all rows are processed, at most this long.
    drain_limit_s: float = 7200.0
    #: A change that has not settled after this time no longer blocks the next.
    rescale_timeout_s: float = 300.0
    #: Most executors of a node, of all operators together; None for one of each operator.
    executors_per_node: int | None = None

    def __post_init__(self) -> None:
        for name, placement in self.initial.items():
            driver_node = self.workflow.operators[name].driver_node
            unknown = sorted({*placement, driver_node} - set(self.nodes))
            if unknown or not placement or len(set(placement)) != len(placement):
                raise InputError(
                    "simulated-placement-invalid", operator=name, placement=placement, driver_node=driver_node
                )

    @property
    def duration_s(self) -> float:
        """T, the length of the measurement: until the last source has offered its last row."""
        return max(workload.duration_s for workload in self.workloads.values())

    def source_shares(self, operator: str) -> Mapping[str, float]:
        """Return the rows that reach an operator for each row that a source offers, by source."""
        upstream = self.workflow.upstream(operator)
        if not upstream:
            return {operator: 1.0}
        shares: dict[str, float] = {}
        for name in upstream:
            for source, share in self.source_shares(name).items():
                shares[source] = shares.get(source, 0.0) + share * self.selectivity.get(name, 1.0)
        return shares
