"""Ports of the loop. Their adapters are in monitor/, knowledge/, kubernetes/ and testbed/."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Protocol

from gesscale.errors import ClusterError
from gesscale.model.decision import Analysis, Decision, MapStatus, Outcome, Plan, Reason
from gesscale.model.observation import WorkflowObservation
from gesscale.model.order import Order
from gesscale.model.undone_changes import ChangesLastHour
from latency_map import LatencyMap
from perfmodel import Reading

#: Reasons of nodes that cannot take a replica, regardless of delays.
NODE_PROBLEMS = (
    Reason.NOT_READY,
    Reason.CORDONED,
    Reason.NO_ROOM,
    Reason.EXCLUDED,
    Reason.WRONG_ARCHITECTURE,
    Reason.NOT_IN_POOL,
    Reason.POD_REFUSED,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """An edge node that may hold a replica.

    Raises
    ------
    ClusterError
        If the reason is another one.
    """

    name: str
    #: Host address that its replicas report; empty if it equals the name or is unknown.
    address: str = ""
    #: Capacity relative to a node of weight 1.
    weight: float = 1.0
    #: Price of a replica on it for a minute, relative to a node of price 1.
    price: float = 1.0
    #: Reason why it cannot take a replica now, as a sentence; empty if it can.
    problem: str = ""
    #: The reason in one word, one of `NODE_PROBLEMS`; has no meaning without a problem.
    reason: Reason = Reason.NOT_READY

    def __post_init__(self) -> None:
        if self.reason not in NODE_PROBLEMS:
            raise ClusterError("node-reason-invalid", node=self.name, expected=NODE_PROBLEMS, got=self.reason.value)


@dataclass(frozen=True, kw_only=True)
class ClusterState:
    """The nodes, and the live replicas of each operator."""

    nodes: Mapping[str, Node] = field(default_factory=dict)
    #: Nodes of the running replicas by operator; operators that do not run are absent.
    placements: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    #: Operators that wait for their first replicas to be placed.
    unplaced: frozenset[str] = frozenset()
    #: Nodes on which the cluster is starting an ordered replica, by operator.
    starting: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    #: Ordered nodes that can no longer hold their replica, each with the cause, by operator.
    left: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    #: Nodes that do not report to the cluster, and since when (`gesscale.plan.silent_nodes`), seconds since the epoch.
    silent: Mapping[str, float] = field(default_factory=dict)
    #: Nodes that cannot take replicas of an operator because of its node pool, image or requests, by operator.
    ineligible: Mapping[str, Mapping[str, Node]] = field(default_factory=dict)
    #: How many more replicas a node can take of all operators together; a node that is absent can take one of
    #: each.
    room: Mapping[str, int] = field(default_factory=dict)
    #: Reason why the cluster could not be read; empty if it was read.
    problem: str = ""

    def for_operator(self, operator: str) -> "ClusterState":
        """Return the same cluster with the problems of nodes for one operator; general problems take precedence."""
        ineligible = self.ineligible.get(operator)
        if not ineligible:
            return self
        nodes = {name: node if node.problem else ineligible.get(name, node) for name, node in self.nodes.items()}
        return replace(self, nodes=nodes)

    @cached_property
    def usable(self) -> tuple[str, ...]:
        """The nodes that can take a replica, by name."""
        return tuple(sorted(name for name, node in self.nodes.items() if not node.problem))

    def usable_by(self, operator: str) -> tuple[str, ...]:
        """Return the nodes that an operator could use if they had room, sorted."""
        nodes = self.for_operator(operator).nodes.values()
        return tuple(sorted(each.name for each in nodes if not each.problem or each.reason is Reason.NO_ROOM))

    @cached_property
    def unusable(self) -> Mapping[Reason, tuple[str, ...]]:
        """The ineligible nodes by reason, sorted by name."""
        found: dict[Reason, list[str]] = {}
        for name in sorted(self.nodes.keys() - set(self.usable)):
            found.setdefault(self.nodes[name].reason, []).append(name)
        return {reason: tuple(names) for reason, names in found.items()}

    @cached_property
    def weights(self) -> Mapping[str, float]:
        """The capacity weight of each node."""
        return {name: node.weight for name, node in self.nodes.items()}

    @cached_property
    def prices(self) -> Mapping[str, float]:
        """The price of each node."""
        return {name: node.price for name, node in self.nodes.items()}

    def priced(self, prices: Mapping[str, float]) -> "ClusterState":
        """Return the same cluster with other prices of some nodes."""
        if not prices:
            return self
        nodes = {name: replace(node, price=prices.get(name, node.price)) for name, node in self.nodes.items()}
        return replace(self, nodes=nodes)

    def excluding(self, names: Collection[str]) -> "ClusterState":
        """Return the same cluster where some nodes take no new replica; their running replicas stay."""
        if not names:
            return self
        excluded = {
            name: replace(node, problem="the settings exclude it", reason=Reason.EXCLUDED)
            for name, node in self.nodes.items()
            if name in names
        }
        return replace(self, nodes={**self.nodes, **excluded})


@dataclass(frozen=True, slots=True, kw_only=True)
class Latencies:
    """The latency map at one instant."""

    #: The newest map; None if there is none yet.
    map: LatencyMap | None = None
    #: Its age, and whether it is stale.
    map_status: MapStatus = field(default_factory=MapStatus)


@dataclass(frozen=True, slots=True, kw_only=True)
class Knowledge:
    """Knowledge at the start of a step: all input of a policy except the observation and the cluster."""

    #: Evidence for the performance model by operator, newest first, bounded.
    readings: Mapping[str, tuple[Reading, ...]] = field(default_factory=dict)
    #: Orders by operator, newest first, bounded.
    orders: Mapping[str, tuple[Order, ...]] = field(default_factory=dict)
    #: The latency map of this step.
    latencies: Latencies = field(default_factory=Latencies)
    #: Last memo of the policy by operator (`gesscale.model.decision.Analysis.memo`).
    memos: Mapping[str, str] = field(default_factory=dict)
    #: Operators whose newest order is in the future because the clock was set back; `orders` has only older
    #: ones, which are no longer in force.
    order_unknown: frozenset[str] = frozenset()

    def pending(self, operator: str) -> Order | None:
        """Return the operator's newest order if it has not settled."""
        latest = self.latest(operator)
        return latest if latest is not None and latest.is_pending else None

    def changes_last_hour(self, operator: str, at_s: float) -> ChangesLastHour:
        """Return the number of the operator's orders in the hour before an instant, and of those undone."""
        orders = reversed(self.orders.get(operator, ()))
        return ChangesLastHour.of([(order.at_s, order.added) for order in orders], at_s)

    def latest(self, operator: str) -> Order | None:
        """Return the operator's newest order, settled or not."""
        orders = self.orders.get(operator)
        return orders[0] if orders else None


class Policy(Protocol):
    """Analyze and Plan, as pure and deterministic functions over all operators of a workflow."""

    @property
    def name(self) -> str:
        """The registered name."""
        ...

    def analyze(self, observation: WorkflowObservation, knowledge: Knowledge) -> Mapping[str, Analysis]:
        """Return an analysis of every operator."""
        ...

    def plan(self, analyses: Mapping[str, Analysis], cluster: ClusterState, knowledge: Knowledge) -> Mapping[str, Plan]:
        """Return a plan for every operator."""
        ...


class MetricSource(Protocol):
    """Monitor: reads the operators. Never raises: missing metrics are returned in `missing_readings`."""

    def observe(self, now_s: float) -> WorkflowObservation:
        """Read every operator over the window that ends now."""
        ...


class LatencySource(Protocol):
    """Monitor: reads the latency map. Never raises: problems are returned in `Latencies.map_status`."""

    def current(self, now_s: float) -> Latencies:
        """Return the newest map; one that cannot be refreshed stays in force and ages."""
        ...


class Cluster(Protocol):
    """Execute: lists nodes, starts and removes replicas. Raises ClusterError if it cannot."""

    def state(self) -> ClusterState:
        """Return nodes and live replicas."""
        ...

    def apply(self, operator: str, placement: tuple[str, ...]) -> Outcome:
        """Order the replicas of an operator on exactly these nodes, sorted. The call is idempotent.

        It returns immediately; the cluster starts and removes replicas asynchronously.
        """
        ...


class KnowledgeStore(Protocol):
    """Knowledge that outlives the process."""

    def recall(self, now_s: float) -> Knowledge:
        """Return the knowledge at an instant."""
        ...

    def remember(self, decision: Decision) -> None:
        """Keep a decision with its evidence, model and order."""
        ...

    def settle(self, operator: str, order: Order) -> None:
        """Keep an order that has settled or timed out, with its downtime."""
        ...

    def close(self) -> None:
        """Close the file, if there is one."""
        ...


class Clock(Protocol):
    """Time, real or simulated."""

    def now_s(self) -> float:
        """Return seconds since the epoch."""
        ...

    def wait_until(self, at_s: float) -> bool:
        """Wait for an instant; return False if the loop must stop."""
        ...
