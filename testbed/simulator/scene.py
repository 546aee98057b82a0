"""What is simulated: everything but the policy and the seed."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated, Self

from pydantic import BeforeValidator, ConfigDict, Field, model_validator
from pydantic.dataclasses import dataclass as validated_dataclass

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
    #: The weight that the scaler sees; None where it is the true one.
    reported_weight: Positive | None = None


def _moment_s(value: object) -> float:
    """Read a duration that may be 0."""
    nought = isinstance(value, int | float) and not isinstance(value, bool) and value == 0
    return 0.0 if nought or value == "0s" else parse_duration_s(value)


#: Seconds, at least 0, written as a duration.
Moment = Annotated[float, BeforeValidator(_moment_s)]


class Section(SettingsGroup):
    """A group of an experiment; read from and written to documents by the names of the file."""

    model_config = ConfigDict(serialize_by_alias=True, validate_by_name=True, validate_by_alias=True)


class Fault(Section):
    """What goes wrong for a while.

    Attributes
    ----------
    from_s: When it begins.
    until_s: When it is over.
    """

    from_s: Moment
    until_s: Duration

    @model_validator(mode="after")
    def _check_times(self) -> Self:
        if self.from_s >= self.until_s:
            raise ValueError(f"expected from < until, got {self.from_s:g} s and {self.until_s:g} s")
        return self


class NodeFailure(Fault):
    """A node that is gone for a while, with all that runs on it.

    Attributes
    ----------
    node: Which.
    """

    node: str


class LinkSlowdown(Fault):
    """A pair of nodes whose round trip is longer for a while than the latency map says.

    Attributes
    ----------
    one: A node.
    other: Another.
    added_ms: On top of the map's round trip, ms.
    """

    one: str
    other: str
    added_ms: float = Field(gt=0)

    @model_validator(mode="after")
    def _check_nodes(self) -> Self:
        if self.one == self.other:
            raise ValueError(f"expected two nodes, got {self.one!r} twice")
        return self


class CpuAccount(StrEnum):
    """What counts as CPU use: the accounting that the paper leaves open."""

    WORK = "work"
    WORK_AND_WAITING = "work-and-waiting"
    NOT_MEASURED = "not-measured"


class MetricTraits(Section):
    """How well Monitor sees.

    Attributes
    ----------
    cpu: What is reported as CPU use.
    window_s: Time over which an operator is judged.
    history_s: How far back batches are read.
    stale_after_s: Age beyond which figures are not acted on.
    delay_s: Age of the newest figures that can be had.
    gap_share: Share of the periods without any figures, 0..1.
    jitter_s: A step is taken up to this much too late.
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
        """How old the oldest figures are that a reading is made of, seconds; the history of batches left out."""
        return self.delay_s + self.window_s


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """A workflow on nodes under a load.

    Raises
    ------
    InputError
        Where replicas or a driver are on no node of the scene.
    """

    #: What is scaled.
    workflow: Workflow
    #: By name; every node that may hold a replica, the drivers' nodes too.
    nodes: Mapping[str, SimulatedNode]
    #: The latency map, as true as links are not slowed down.
    delays: LatencyMap
    #: The load of each operator that reads a source of the workflow.
    workloads: Mapping[str, Workload]
    #: Where the replicas of each operator are when the measurement begins, warm.
    initial: Mapping[str, tuple[str, ...]]
    #: Rows that an operator emits per row that it reads; 1 where it is not listed.
    selectivity: Mapping[str, float] = field(default_factory=dict)
    metrics: MetricTraits = field(default_factory=MetricTraits)
    failures: tuple[NodeFailure, ...] = ()
    slowdowns: tuple[LinkSlowdown, ...] = ()
    #: Time between two steps of the loop.
    period_s: float = 60.0
    #: A policy may ask for its next step so soon; None: it may not ask.
    min_period_s: float | None = None
    #: Time between two samples for the scores.
    sample_s: float = 10.0
    #: After the input ends the run goes on until all rows are processed, at most this long.
    drain_limit_s: float = 7200.0
    #: As in the settings.
    rescale_timeout_s: float = 300.0
    #: How many a node can hold, of all operators together; None: one of each operator.
    executors_per_node: int | None = None

    def __post_init__(self) -> None:
        for name, placement in self.initial.items():
            driver_node = self.workflow.operators[name].driver_node
            unknown = sorted({*placement, driver_node} - set(self.nodes))
            if unknown or not placement or len(set(placement)) != len(placement):
                raise InputError(
                    f"operator {name!r}: expected replicas and a driver on nodes of the scene, each once, got "
                    f"{placement} with the driver on {driver_node!r}"
                )

    @property
    def duration_s(self) -> float:
        """T, the length of the measurement: until the last source has offered its last row."""
        return max(workload.duration_s for workload in self.workloads.values())

    def source_shares(self, operator: str) -> Mapping[str, float]:
        """Return how many rows each source puts before an operator for each row it offers."""
        upstream = self.workflow.upstream(operator)
        if not upstream:
            return {operator: 1.0}
        shares: dict[str, float] = {}
        for name in upstream:
            for source, share in self.source_shares(name).items():
                shares[source] = shares.get(source, 0.0) + share * self.selectivity.get(name, 1.0)
        return shares
