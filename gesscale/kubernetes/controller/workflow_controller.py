"""One workflow under the loop: the same `gesscale.loop`, over what the cluster shows and the drivers tell."""

import logging
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from gesscale.assembly import open_monitor
from gesscale.knowledge.memory import KnowledgeLimits, MemoryKnowledge
from gesscale.kubernetes.controller.latencies import LatencyMaps, SharedLatencies
from gesscale.kubernetes.controller.targets import Targets
from gesscale.kubernetes.orders import OrderKnowledge, OrderWriter
from gesscale.kubernetes.placement.applications import Application
from gesscale.kubernetes.placement.cluster import KubernetesCluster
from gesscale.kubernetes.placement.reservations import Reservations
from gesscale.kubernetes.placement.watches import ClusterView
from gesscale.kubernetes.resource.memory import MemoryStatus, knowledge_of, read_memory
from gesscale.kubernetes.resource.order import OrderStatus
from gesscale.kubernetes.resource.translate import ManagedWorkflow
from gesscale.loop import ControlLoop
from gesscale.model.workflow import Workflow
from gesscale.plan.change_budget import ChangeBudget
from gesscale.plan.directives import Directive, Pause
from gesscale.policies.guarded import GuardedPolicy
from gesscale.ports import ClusterState, Knowledge, Latencies, MetricSource
from gesscale.service.journal import Journal, SeenStep
from gesscale.wire import group_of

_LOG = logging.getLogger(__name__)


class RestoredState(NamedTuple):
    """What the statuses of a workflow's resources hand down: readings and memos.

    Lost are operators whose memory is gone, or broken in part, though something was decided for them.
    """

    known: Knowledge
    lost: frozenset[str]


def restored_state(statuses: Mapping[str, Mapping[str, Any]], now_s: float) -> RestoredState:
    """Read what is handed down."""
    memories: dict[str, MemoryStatus] = {}
    lost = set()
    for name in statuses:
        status = group_of(statuses, name)
        memories[name], faults = read_memory(status.get("memory"))
        if faults:
            dropped = "; ".join(faults)
            _LOG.warning("operator %s: of its status.memory is dropped what cannot be: %s", name, dropped)
        if _is_lost(status, dropped=bool(faults)):
            lost.add(name)
    return RestoredState(knowledge_of(memories, now_s), frozenset(lost))


def _is_lost(status: Mapping[str, Any], *, dropped: bool) -> bool:
    """Say whether more must have been known. An order alone need not have reached it: its controller died."""
    if dropped or status.get("memory") is None:
        return bool(status.get("history") or status.get("order"))
    return bool(status.get("history")) and not status.get("order")


#: The statuses keep what matters; no one asks a controller for past decisions or models.
_LIMITS = KnowledgeLimits(decisions_per_operator=1, models_per_operator=1, orders_per_operator=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class ControllerContext:
    """What all workflows of one controller share."""

    #: The latency maps that they read.
    latency_maps: LatencyMaps
    #: Returns what is watched.
    look: Callable[[], ClusterView]
    #: Orders, and the room that they take (order_writer, reservations).
    order_writer: OrderWriter
    reservations: Reservations
    #: Where connections may go, and how much their answers may take.
    targets: Targets
    #: Measures the phases of a step; see `gesscale.loop.ControlLoop`.
    measure_phase: Callable[[str], AbstractContextManager[None]]
    #: Keeps the steps for the page.
    journal: Journal
    #: How many operators of all workflows may be in change at once.
    budget: ChangeBudget = field(default_factory=ChangeBudget)


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkflowStep(SeenStep):
    """What one step brought and, by operator, what runs of it."""

    applications: Mapping[str, Application]


class WorkflowController:
    """Steers one workflow for as long as this process leads; used by one thread at a time.

    Attributes
    ----------
    last_s
        When it was begun or stepped last.
    """

    def __init__(
        self,
        workflow: ManagedWorkflow,
        context: ControllerContext,
        term: int,
        statuses: Mapping[str, Mapping[str, Any]],
        now_s: float,
    ) -> None:
        self._context, self.term, self.last_s = context, term, now_s
        self._cluster = KubernetesCluster(
            workflow=workflow,
            look=context.look,
            order_writer=context.order_writer,
            reservations=context.reservations,
            term=term,
            at_s=now_s,
        )
        self._urls: dict[str, str] = {}
        self._hosts: dict[str, str] = {}
        self._metrics: tuple[object, MetricSource] | None = None
        self._latencies: tuple[object, SharedLatencies] | None = None
        restored = restored_state(statuses, now_s)
        cautious_until_s = now_s + workflow.monitor.history_s
        self._cautious_until_s = dict.fromkeys(restored.lost, cautious_until_s)
        self._store = OrderKnowledge(MemoryKnowledge(_LIMITS, known=restored.known), self._standing)

    def step(self, workflow: ManagedWorkflow, now_s: float) -> WorkflowStep:
        """Run one step of the loop."""
        self.last_s = now_s
        cluster = self._cluster
        self._note_addresses(cluster.begin(workflow, now_s))
        places = {name: found.place for name, found in cluster.applications.items() if found.place is not None}
        built = workflow.build(places)
        seen: list[tuple[ClusterState, Latencies]] = []
        loop = ControlLoop(
            metrics=self._open_metrics(workflow),
            latencies=self._open_latencies(workflow),
            policy=GuardedPolicy(workflow.policy.build(built)),
            cluster=cluster,
            knowledge=self._store,
            acts=True,
            rescale_timeout_s=workflow.rescale_timeout_s,
            directives=self._directives(workflow, built, now_s),
            budget=self._context.budget,
            budget_key=f"{workflow.namespace}/{workflow.name}",
            measure_phase=self._context.measure_phase,
            on_inputs=lambda cluster, latencies: seen.append((cluster, latencies)),
        )
        decisions = loop.step(now_s)
        state, latencies = seen[0]
        step = WorkflowStep(
            name=loop.budget_key,
            workflow=built,
            period_s=workflow.monitor.period_s,
            policy=loop.policy.name,
            decisions=decisions,
            cluster=state,
            latencies=latencies,
            known=self._store.recall(now_s),
            applications=cluster.applications,
        )
        self._context.journal.add(step)
        return step

    def _standing(self) -> Mapping[str, OrderStatus | None]:
        workflow, writer = self._cluster.workflow, self._context.order_writer
        return {name: writer.standing((workflow.namespace, name)) for name in workflow.resources}

    def _note_addresses(self, view: ClusterView) -> None:
        """Tell the metric source where drivers and executors are."""
        self._urls.clear()
        self._hosts.clear()
        for name, application in self._cluster.applications.items():
            if application.place is not None:
                self._urls[name] = application.place.metrics_url
            self._hosts.update({pod.ip: pod.node for pod in application.executors if pod.ip and pod.node})
        self._hosts.update(view.index.names)

    def _open_metrics(self, workflow: ManagedWorkflow) -> MetricSource:
        """Return the metric source, the same one until the settings change: it remembers an idle query's batch."""
        topics = {
            name: resource.spec.kafka
            for name, resource in workflow.resources.items()
            if resource.spec.kafka is not None
        }
        wanted = (workflow.monitor, topics, tuple(self._urls))
        if self._metrics is None or self._metrics[0] != wanted:
            client = self._context.targets.client(workflow.namespace)
            opened = open_monitor(workflow.monitor, self._urls, self._hosts, topics, client)
            self._metrics = (wanted, opened)
        return self._metrics[1]

    def _open_latencies(self, workflow: ManagedWorkflow) -> SharedLatencies:
        """Return the source of the latency map, the same one until the settings change: it keeps the last good map."""
        wanted = (workflow.latency_map, workflow.monitor.timeout_s)
        if self._latencies is None or self._latencies[0] != wanted:
            spec, timeout_s = wanted
            self._latencies = (wanted, self._context.latency_maps.open(spec, workflow.namespace, timeout_s))
        return self._latencies[1]

    def _directives(self, workflow: ManagedWorkflow, built: Workflow, now_s: float) -> Mapping[str, Directive]:
        """Return what people say; without the memory, look on for one history first, unless there is an override."""
        return {
            name: _cautious(said, self._cautious_until_s.get(name, now_s), now_s)
            for name, said in workflow.directives(built).items()
        }


def _cautious(said: Directive, until_s: float, now_s: float) -> Directive:
    by_hand = said.override is not None and now_s < said.override.until_s
    paused = said.pause is not None and (said.pause.until_s is None or said.pause.until_s >= until_s)
    if by_hand or paused or now_s >= until_s:
        return said
    return replace(
        said, pause=Pause(until_s=until_s, why="this controller resumes without the memory of the one before")
    )
