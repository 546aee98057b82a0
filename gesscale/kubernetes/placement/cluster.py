"""The cluster as the loop's port `gesscale.ports.Cluster`: nodes and pods as watched, orders as written."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from gesscale.errors import ClusterError
from gesscale.kubernetes.orders import OrderWriter
from gesscale.kubernetes.placement.applications import Application, find_application, needs_of
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
    """The nodes and replicas of one workflow; acts by orders that the drivers obey."""

    #: The resources, as they are now.
    workflow: ManagedWorkflow
    #: Returns what is watched.
    look: Callable[[], ClusterView]
    #: Of the whole controller (order_writer, reservations).
    order_writer: OrderWriter
    reservations: Reservations
    #: Of the leadership under which it acts.
    term: int
    #: When the step began, seconds since the epoch.
    at_s: float
    #: By operator: the nodes where its executors do not come.
    node_backoff: dict[str, NodeBackoff] = field(default_factory=dict)
    #: By operator, what runs of it and the order in force, as they were looked at last (applications, standing).
    applications: Mapping[str, Application] = field(default_factory=dict)
    standing: Mapping[str, OrderStatus | None] = field(default_factory=dict)
    #: The last state.
    seen: ClusterState = field(default_factory=lambda: ClusterState(problem="it was not looked at"))

    def begin(self, workflow: ManagedWorkflow, at_s: float) -> ClusterView:
        """Begin a step with the resources as they are now; return what was watched."""
        self.workflow, self.at_s = workflow, at_s
        return self.look_around()

    def look_around(self) -> ClusterView:
        """Find each operator's application and order, and return what was watched."""
        view = self.look()
        resources = self.workflow.resources
        self.node_backoff = {name: self.node_backoff.get(name) or NodeBackoff() for name in resources}
        self.applications = {name: find_application(resource, view.index) for name, resource in resources.items()}
        self.standing = {name: self.order_writer.standing(_key(resource)) for name, resource in resources.items()}
        return view

    def state(self) -> ClusterState:
        """Return the nodes, as each operator may use them, and the live replicas.

        Raises
        ------
        ClusterError
            Where what is watched is too old to decide on.
        """
        view = self.look_around()
        self.seen = ClusterState(problem=view.problem) if view.problem else self._state(view)
        if view.problem:
            raise ClusterError(view.problem)
        return self.seen

    def apply(self, operator: str, placement: tuple[str, ...]) -> Outcome:
        """Order a placement; the driver makes it so in its own time.

        Raises
        ------
        ClusterError
            Where nothing was ordered.
        """
        if operator not in self.applications:
            raise ClusterError(
                f"workflow {self.workflow.name} has no operator {operator}; it has {', '.join(self.applications)}"
            )
        resource, application = self.workflow.resources[operator], self.applications[operator]
        if application.place is None:
            raise ClusterError(f"operator {operator}: there is no driver to carry out an order: {application.problem}")
        # By the state that was decided on: an executor that does not become ready is no part of it.
        present = self.seen.placements.get(operator, ())
        added = tuple(node for node in placement if node not in present)
        removed = tuple(node for node in present if node not in placement)
        _check_limits(resource, placement, added=added, removed=removed)
        began_s = time.monotonic()
        rehearse, standing = resource.spec.mode == "DryRun", self.standing[operator]
        if not rehearse:
            self._claim(resource, application, placement, added)
        order = self.order_writer.write(
            resource, placement, at_s=self.at_s, term=self.term, over=standing, rehearse=rehearse
        )
        seconds = time.monotonic() - began_s
        if rehearse:
            detail = f"the API server would take the order for {', '.join(placement)}"
            return Outcome(status=OutcomeStatus.REHEARSED, seconds=seconds, detail=detail)
        if standing is not None and order.id == standing.id:
            return Outcome(status=OutcomeStatus.NOTHING_TO_DO, detail=f"order {order.id} asks for it already")
        return Outcome(
            status=OutcomeStatus.ORDERED, added=added, removed=removed, seconds=seconds, detail=f"order {order.id}"
        )

    def _claim(
        self, resource: StreamAutoscaler, application: Application, target: tuple[str, ...], added: tuple[str, ...]
    ) -> None:
        """Promise the nodes to this operator; refused where one has been filled or closed since it was chosen."""
        view = self.look()
        if view.problem:
            raise ClusterError(view.problem)
        needs = needs_of(resource, application, view.nodes.objects)
        with self.reservations.reserving(_key(resource), set(target) - _bound(application), needs.takes) as reserved:
            for name in added:
                problem = "it is gone"
                if name in view.nodes.objects:
                    problem = view.index.judged(name, needs, application.executors, reserved).problem
                if problem:
                    raise ClusterError(
                        f"operator {resource.name}: node {name} was chosen, but is none to choose now: {problem}"
                    )

    def _state(self, view: ClusterView) -> ClusterState:
        refused = {name: self._refused(name, view.at_s) for name in self.workflow.resources}
        placements = {
            name: tuple(node for node in application.placement if node not in refused[name])
            for name, application in self.applications.items()
            if application.place is not None
        }
        return ClusterState(
            nodes=view.index.members,
            placements=placements,
            unplaced=frozenset(
                name for name in placements if self.standing[name] is None and not _bound(self.applications[name])
            ),
            coming={
                name: tuple(node for node in self._ordered(name) if node not in {*placement, *refused[name]})
                for name, placement in placements.items()
            },
            ineligible={name: self._ineligible(name, view) | refused[name] for name in self.workflow.resources},
            room=self._room(view),
        )

    def _room(self, view: ClusterView) -> dict[str, int]:
        """Return how many executors the nodes can take that cannot take one of each operator."""
        resources = self.workflow.resources
        if len(resources) < _SEVERAL:
            return {}
        nodes = view.nodes.objects
        return shared_room(
            nodes.values(),
            view.pods.objects.values(),
            [needs_of(each, self.applications[name], nodes).takes for name, each in resources.items()],
            reserved=self.reservations.of_others(None),
        )

    def _ineligible(self, operator: str, view: ClusterView) -> dict[str, Node]:
        resource, application = self.workflow.resources[operator], self.applications[operator]
        needs = needs_of(resource, application, view.nodes.objects)
        self.reservations.keep(_key(resource), set(self._ordered(operator)) - _bound(application), needs.takes)
        ineligible = view.index.ineligible_nodes(
            needs, application.executors, self.reservations.of_others(_key(resource))
        )
        excluded = {
            name: replace(node, problem="the resource excludes it", reason=Reason.EXCLUDED)
            for name in resource.spec.executor.exclude_nodes
            if (node := view.index.members.get(name)) is not None
        }
        return ineligible | excluded

    def _refused(self, operator: str, now_s: float) -> dict[str, Node]:
        """Return the nodes where an executor was awaited in vain."""
        executors = self.applications[operator].executors
        backoff = self.node_backoff[operator]
        backoff.wait_s = self.workflow.rescale_timeout_s
        problems = backoff.judge(executors, self._ordered(operator), now_s)
        return {name: Node(name=name, problem=problem, reason=Reason.NOT_READY) for name, problem in problems.items()}

    def _ordered(self, operator: str) -> tuple[str, ...]:
        """Return the nodes on which the driver is to keep executors; none where it obeys no order."""
        order = self.standing[operator]
        obeys = self.workflow.resources[operator].spec.mode == "Act" and self.applications[operator].place is not None
        return order.placement if order is not None and obeys else ()


def _check_limits(
    resource: StreamAutoscaler, target: tuple[str, ...], *, added: tuple[str, ...], removed: tuple[str, ...]
) -> None:
    """Refuse what no plan should ask for: an error must not leave an operator without replicas, or with too many."""
    low, high = resource.spec.min_replicas, resource.spec.max_replicas
    if not target or (removed and len(target) < low) or (added and len(target) > high):
        raise ClusterError(
            f"operator {resource.name}: expected an order for {low} to {high} nodes, got {len(target)} "
            f"({', '.join(target) or 'none'}); it is refused"
        )


def _key(resource: StreamAutoscaler) -> Key:
    return resource.namespace, resource.name


def _bound(application: Application) -> set[str]:
    return {pod.node for pod in application.executors if pod.node}
