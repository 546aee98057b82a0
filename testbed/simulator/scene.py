"""What is simulated: everything but the policy and the seed."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from gesscale.workflow import Workflow
from latency_map import LatencyMap
from testbed.workloads.workload import Workload


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedNode:
    """A fog node.

    Attributes
    ----------
    weight
        Its true speed against a node of weight 1.
    told_weight
        The weight that the scaler is told; None where it is the true one.
    """

    name: str
    weight: float = 1.0
    told_weight: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeFailure:
    """A node that is gone for a while, with all that runs on it."""

    node: str
    from_s: float
    until_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkSlowdown:
    """A pair of nodes whose round trip is longer for a while than the latency map says.

    Attributes
    ----------
    added_ms
        On top of the map's round trip, ms.
    """

    one: str
    other: str
    from_s: float
    until_s: float
    added_ms: float


class CpuAccount(StrEnum):
    """What counts as CPU use: the accounting that the paper leaves open."""

    WORK = "work"
    WORK_AND_WAITING = "work-and-waiting"
    NOT_MEASURED = "not-measured"


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricTraits:
    """How well Monitor sees.

    Attributes
    ----------
    window_s, stale_after_s, history_s
        As in the settings of group ``monitor``.
    delay_s
        Age of the newest figures that can be had, seconds.
    gap_share
        Share of the periods in which an operator cannot be read, 0..1.
    jitter_s
        The step is taken up to this much too late, seconds.
    cpu
        What is reported as CPU use.
    """

    window_s: float = 60.0
    stale_after_s: float = 180.0
    history_s: float = 180.0
    delay_s: float = 0.0
    gap_share: float = 0.0
    jitter_s: float = 0.0
    cpu: CpuAccount = CpuAccount.WORK


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """A workflow on nodes under a load.

    Attributes
    ----------
    workflow
        What is scaled.
    nodes
        By name; every node that may hold a replica, the drivers' nodes too.
    delays
        The latency map, as true as links are not slowed down.
    workloads
        The load of each operator that reads a source of the workflow.
    initial
        Where the replicas of each operator are when the measurement begins.
    period_s
        Time between two steps of the loop.
    sample_s
        Time between two samples for the scores.
    drain_limit_s
        After the input ends the run goes on until all rows are processed, at most this long.
    settle_timeout_s
        As in the settings.
    """

    workflow: Workflow
    nodes: Mapping[str, SimulatedNode]
    delays: LatencyMap
    workloads: Mapping[str, Workload]
    initial: Mapping[str, tuple[str, ...]]
    metrics: MetricTraits = field(default_factory=MetricTraits)
    failures: tuple[NodeFailure, ...] = ()
    slowdowns: tuple[LinkSlowdown, ...] = ()
    period_s: float = 60.0
    sample_s: float = 10.0
    drain_limit_s: float = 7200.0
    settle_timeout_s: float = 300.0

    @property
    def duration_s(self) -> float:
        """T, the length of the measurement: until the last source has offered its last row."""
        return max(workload.duration_s for workload in self.workloads.values())
