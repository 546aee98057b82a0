"""The loop's port `gesscale.ports.Cluster` on Kubernetes: reads watched nodes and pods, writes orders."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from gesscale.errors import ClusterError
from gesscale.kubernetes.order_store import OrderWriter
from gesscale.kubernetes.placement.applications import Application, find_application, needs_of
from gesscale.kubernetes.placement.replicas import Replicas, SeenExecutors, replicas_of
from gesscale.kubernetes.placement.reservations import Reservations
from gesscale.kubernetes.placement.room import NodeBackoff, shared_room
from gesscale.kubernetes.placement.watches import ClusterView
from gesscale.kubernetes.resource.autoscaler import StreamAutoscaler
from gesscale.kubernetes.resource.order import OrderStatus
from gesscale.kubernetes.resource.translate import Key, ManagedWorkflow
from gesscale.model.decision import Outcome, OutcomeStatus, Reason
from gesscale.ports import ClusterState, Node

_SEVERAL = 2


@dataclass(slots=True, kw_only=True)
class KubernetesCluster:
    """Nodes and replicas of one workflow; acts through orders that the drivers apply."""

    #: The current resources.
    workflow: ManagedWorkflow
    #: Returns the watched objects.
    snapshot: Callable[[], ClusterView]
    #: Shared by the whole controller (order_writer, reservations).
    order_writer: OrderWriter
    reservations: Reservations
    #: Term of the leadership under which it acts.
    term: int
    #: When the step began, seconds since the epoch.
    at_s: float
    #: Nodes on which executors failed to start, by operator.
    node_backoff: dict[str, NodeBackoff] = field(default_factory=dict)
    #: Executors seen on each node, by operator.
    seen_executors: dict[str, SeenExecutors] = field(default_factory=dict)
    #: By operator, its application and its order in force at the last refresh (applications, current_orders).
    applications: Mapping[str, Application] = field(default_factory=dict)
    current_orders: Mapping[str, OrderStatus | None] = field(default_factory=dict)
    #: The last state.
    last_state: ClusterState = field(default_factory=lambda: ClusterState(problem="the cluster was not read yet"))

    def begin(self, workflow: ManagedWorkflow, at_s: float) -> ClusterView:
        """Begin a step with the current resources; return the watched objects."""
        self.workflow, self.at_s = workflow, at_s
        return self.refresh()

    def refresh(self) -> ClusterView:
        """Find each operator's application and order; return the watched objects."""
        view = self.snapshot()
        resources = self.workflow.resources
        self.node_backoff = {name: self.node_backoff.get(name) or NodeBackoff() for name in resources}
        self.seen_executors = {name: self.seen_executors.get(name) or SeenExecutors() for name in resources}
        self.applications = {name: find_application(resource, view.index) for name, resource in resources.items()}
        self.current_orders = {
            name: self.order_writer.current_order(_key(resource)) for name, resource in resources.items()
        }
        return view

    def state(self) -> ClusterState:
        """Return the nodes as each operator may use them, and the live replicas.

        Raises
        ------
        ClusterError
            The watched objects are too old for a decision.
        """
        view = self.refresh()
        if (problem := view.problem) is not None:
            self.last_state = ClusterState(problem=str(problem))
            raise ClusterError(problem.code, **problem.fields)
        self.last_state = self._state(view)
        return self.last_state

    def apply(self, operator: str, placement: tuple[str, ...]) -> Outcome:
        """Order a placement; the driver applies it asynchronously.

        Raises
        ------
        ClusterError
            Nothing was ordered.
        """
        if operator not in self.applications:
            raise ClusterError(
                "operator-not-in-workflow",
                workflow=self.workflow.name,
                operator=operator,
                known=tuple(self.applications),
            )
        resource, application = self.workflow.resources[operator], self.applications[operator]
        if application.endpoint is None:
            raise ClusterError("order-without-driver", operator=operator, cause=str(application.problem or ""))
        # Compare with the state of the decision, which leaves out executors that do not become ready.
        present = self.last_state.placements.get(operator, ())
        added = tuple(node for node in placement if node not in present)
        removed = tuple(node for node in present if node not in placement)
        _check_limits(resource, placement, added=added, removed=removed)
        began_s = time.monotonic()
        rehearse, current = resource.spec.mode == "DryRun", self.current_orders[operator]
        if not rehearse:
            new = tuple(node for node in added if node not in self._ordered(operator))
            self._claim(resource, application, placement, new)
        order = self.order_writer.write(
            resource,
            placement,
            at_s=self.at_s,
            term=self.term,
            replaces=current,
            lost=tuple(self.last_state.left.get(operator, ())),
            rehearse=rehearse,
        )
        seconds = time.monotonic() - began_s
        if rehearse:
            detail = f"dry run: the API server would accept the order for {', '.join(placement)}"
            return Outcome(status=OutcomeStatus.REHEARSED, seconds=seconds, detail=detail)
        if current is not None and order.id == current.id:
            return Outcome(status=OutcomeStatus.NOTHING_TO_DO, detail=f"order {order.id} already has this placement")
        return Outcome(
            status=OutcomeStatus.ORDERED, added=added, removed=removed, seconds=seconds, detail=f"order {order.id}"
        )

    def announce_lost(self) -> None:
        """Add the nodes that can hold no executor to the orders in force, where no new order names them.

        Raises
        ------
        ClusterError
            An order could not be changed.
        """
        for name, left in self.last_state.left.items():
            resource = self.workflow.resources[name]
            order = self.order_writer.current_order(_key(resource))
            if order is None or not self._ordered(name):
                continue
            # What an order has left out stays lost: its executors are removed in any case.
            lost = {*left, *(set(order.lost) - set(order.placement))}
            if lost != set(order.lost):
                self.order_writer.change_lost(resource, order, tuple(sorted(lost)), term=self.term)

    def _claim(
        self, resource: StreamAutoscaler, application: Application, target: tuple[str, ...], added: tuple[str, ...]
    ) -> None:
        """Reserve the nodes for this operator; refused if one has become ineligible since the decision."""
        view = self.snapshot()
        if (stale := view.problem) is not None:
            raise ClusterError(stale.code, **stale.fields)
        needs = needs_of(resource, application, view.nodes.objects)
        with self.reservations.claim(_key(resource), set(target) - _bound(application), needs.requests) as reserved:
            for name in added:
                cause = "the node was deleted"
                if name in view.nodes.objects:
                    cause = view.index.evaluate_node(name, needs, application.executors, reserved).problem
                if cause:
                    raise ClusterError("node-not-eligible", operator=resource.name, node=name, cause=cause)

    def _state(self, view: ClusterView) -> ClusterState:
        nodes, names = view.nodes.objects, self.workflow.resources
        ineligible = {name: self._ineligible(name, view) for name in names}
        replicas = {
            name: replicas_of(
                application.executors,
                self._ordered(name),
                nodes,
                ineligible[name],
                self.seen_executors[name].misplaced(application.executors, nodes, ineligible[name]),
            )
            for name, application in self.applications.items()
        }
        backed_off = {name: self._backed_off_nodes(name, replicas[name], view.at_s) for name in names}
        running = {name: each for name, each in replicas.items() if self.applications[name].endpoint is not None}
        return ClusterState(
            nodes=view.index.all_nodes,
            placements={name: each.running for name, each in running.items()},
            unplaced=frozenset(
                name for name in running if self.current_orders[name] is None and not _bound(self.applications[name])
            ),
            starting={
                name: tuple(node for node in each.starting if node not in backed_off[name])
                for name, each in running.items()
            },
            left={name: each.left for name, each in running.items()},
            silent={node.name: node.unready_since_s for node in nodes.values() if node.unready_since_s is not None},
            ineligible={name: ineligible[name] | backed_off[name] for name in names},
            room=self._room(view),
        )

    def _room(self, view: ClusterView) -> dict[str, int]:
        """Return how many executors each node can take, for nodes that cannot take one of each operator."""
        resources = self.workflow.resources
        if len(resources) < _SEVERAL:
            return {}
        nodes = view.nodes.objects
        return shared_room(
            nodes.values(),
            view.pods.objects.values(),
            [needs_of(each, self.applications[name], nodes).requests for name, each in resources.items()],
            reserved=self.reservations.of_others(None),
        )

    def _ineligible(self, operator: str, view: ClusterView) -> dict[str, Node]:
        resource, application = self.workflow.resources[operator], self.applications[operator]
        needs = needs_of(resource, application, view.nodes.objects)
        self.reservations.reserve(_key(resource), set(self._ordered(operator)) - _bound(application), needs.requests)
        ineligible = view.index.ineligible_nodes(
            needs, application.executors, self.reservations.of_others(_key(resource))
        )
        excluded = {
            name: replace(node, problem="excluded by spec.executor.excludeNodes", reason=Reason.EXCLUDED)
            for name in resource.spec.executor.exclude_nodes
            if (node := view.index.all_nodes.get(name)) is not None
        }
        return ineligible | excluded

    def _backed_off_nodes(self, operator: str, replicas: Replicas, now_s: float) -> dict[str, Node]:
        """Return the nodes in backoff after an executor failed to start; the fault of one that has left is known."""
        executors = [pod for pod in self.applications[operator].executors if pod.node not in replicas.left]
        backoff = self.node_backoff[operator]
        backoff.wait_s = self.workflow.rescale_timeout_s
        problems = backoff.update(executors, (*replicas.running, *replicas.starting), now_s)
        return {name: Node(name=name, problem=problem, reason=Reason.NOT_READY) for name, problem in problems.items()}

    def _ordered(self, operator: str) -> tuple[str, ...]:
        """Return the nodes of the order that the driver applies; none without such an order."""
        order = self.current_orders[operator]
        applies = (
            self.workflow.resources[operator].spec.mode == "Act" and self.applications[operator].endpoint is not None
        )
        return order.placement if order is not None and applies else ()


def _check_limits(
    resource: StreamAutoscaler, target: tuple[str, ...], *, added: tuple[str, ...], removed: tuple[str, ...]
) -> None:
    """Refuse an order outside the replica limits: a wrong plan must not leave an operator without replicas."""
    low, high = resource.spec.min_replicas, resource.spec.max_replicas
    if not target or (removed and len(target) < low) or (added and len(target) > high):
        raise ClusterError(
            "order-outside-limits", operator=resource.name, low=low, high=high, count=len(target), nodes=target
        )


def _key(resource: StreamAutoscaler) -> Key:
    return resource.namespace, resource.name


def _bound(application: Application) -> set[str]:
    return {pod.node for pod in application.executors if pod.node}
