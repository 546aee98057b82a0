"""Controller of one workflow: runs `gesscale.loop` on the watched cluster and the drivers' metrics."""

import logging
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple

from gesscale.assembly import open_monitor
from gesscale.common.errors import Problem
from gesscale.common.logs import log_problem
from gesscale.errors import ClusterError
from gesscale.knowledge.memory import KnowledgeLimits, MemoryKnowledge
from gesscale.kubernetes.api.events import EventDraft
from gesscale.kubernetes.controller.latencies import LatencyMaps, SharedLatencies
from gesscale.kubernetes.controller.targets import Targets
from gesscale.kubernetes.order_store import OrderKnowledge, OrderWriter
from gesscale.kubernetes.placement.applications import Application
from gesscale.kubernetes.placement.cluster import KubernetesCluster
from gesscale.kubernetes.placement.labels import empty_pool
from gesscale.kubernetes.placement.reservations import Reservations
from gesscale.kubernetes.placement.watches import ClusterView
from gesscale.kubernetes.reporting.replica_events import ReplicaEvents
from gesscale.kubernetes.resource.memory import MemoryStatus, knowledge_of, read_memory
from gesscale.kubernetes.resource.order import OrderStatus
from gesscale.kubernetes.resource.translate import ManagedWorkflow
from gesscale.loop import ControlLoop
from gesscale.model.observation import WorkflowObservation
from gesscale.model.workflow import Workflow
from gesscale.monitor.row_age import RowAges
from gesscale.monitor.window import missing_reading
from gesscale.plan.change_budget import ChangeBudget
from gesscale.plan.directives import Directive, Pause
from gesscale.plan.replica_kinds import replica_kinds
from gesscale.policies.guarded import GuardedPolicy
from gesscale.ports import ClusterState, Knowledge, Latencies, MetricSource
from gesscale.service.journal import Journal, JournalStep
from gesscale.wire import group_of

_LOG = logging.getLogger(__name__)


class RestoredState(NamedTuple):
    """Knowledge restored from the statuses of a workflow's resources: readings and memos.

    ``lost`` has the operators whose memory is missing or partly invalid although decisions were made for them.
    """

    known: Knowledge
    lost: frozenset[str]


def restored_state(statuses: Mapping[str, Mapping[str, Any]], now_s: float) -> RestoredState:
    """Restore the knowledge from statuses."""
    memories: dict[str, MemoryStatus] = {}
    lost = set()
    for name in statuses:
        status = group_of(statuses, name)
        memories[name], faults = read_memory(status.get("memory"))
        if faults:
            log_problem(_LOG, logging.WARNING, "status-memory-invalid", operator=name, entries=faults)
        if _is_lost(status, dropped=bool(faults)):
            lost.add(name)
    return RestoredState(knowledge_of(memories, now_s), frozenset(lost))


def _is_lost(status: Mapping[str, Any], *, dropped: bool) -> bool:
    """Return whether knowledge is missing. An order alone may have no memory: its controller died before."""
    if dropped or status.get("memory") is None:
        return bool(status.get("history") or status.get("order"))
    return bool(status.get("history")) and not status.get("order")


#: The statuses keep the rest; a controller does not serve past decisions or models.
_LIMITS = KnowledgeLimits(orders_per_operator=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class ControllerContext:
    """Dependencies that all workflows of one controller share."""

    #: The latency maps that they read.
    latency_maps: LatencyMaps
    #: Returns the watched objects.
    snapshot: Callable[[], ClusterView]
    #: Writes orders, and reserves their room (order_writer, reservations).
    order_writer: OrderWriter
    reservations: Reservations
    #: Allowed targets of connections, and the memory for their responses.
    targets: Targets
    #: Measures the phases of a step; see `gesscale.loop.ControlLoop`.
    measure_phase: Callable[[str], AbstractContextManager[None]]
    #: Keeps the steps for the page.
    journal: Journal
    #: Limits how many operators of all workflows change at the same time.
    budget: ChangeBudget = field(default_factory=ChangeBudget)


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkflowStep(JournalStep):
    """Result of one step, with the applications and the events of replicas by operator."""

    applications: Mapping[str, Application]
    #: Events of its replicas, by operator.
    incidents: Mapping[str, tuple[EventDraft, ...]]
    #: Reason why an operator's node pool is empty, by operator.
    empty_pools: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class _NamedDrivers:
    """Metrics, with the reason why an operator has no driver."""

    source: MetricSource
    applications: Mapping[str, Application]

    def observe(self, now_s: float) -> WorkflowObservation:
        seen = self.source.observe(now_s)
        missing = {
            name: missing_reading(name, found.problem.code, **found.problem.fields)
            for name, found in self.applications.items()
            if found.problem is not None and name not in seen.readings
        }
        return replace(seen, missing_readings={**seen.missing_readings, **missing})


class WorkflowController:
    """Steps one workflow while this process leads; used by one thread at a time.

    Attributes
    ----------
    last_s
        When it was created or stepped last.
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
            snapshot=context.snapshot,
            order_writer=context.order_writer,
            reservations=context.reservations,
            term=term,
            at_s=now_s,
        )
        self._replica_events: dict[str, ReplicaEvents] = {}
        self._urls: dict[str, str] = {}
        self._hosts: dict[str, str] = {}
        self._metrics: tuple[object, MetricSource] | None = None
        self._latencies: tuple[object, SharedLatencies] | None = None
        self._row_ages = RowAges()
        restored = restored_state(statuses, now_s)
        cautious_until_s = now_s + workflow.monitor.history_s
        self._cautious_until_s = dict.fromkeys(restored.lost, cautious_until_s)
        self._store = OrderKnowledge(MemoryKnowledge(_LIMITS, known=restored.known), self._stored_orders)

    def step(self, workflow: ManagedWorkflow, now_s: float) -> WorkflowStep:
        """Run one step of the loop."""
        self.last_s = now_s
        cluster = self._cluster
        view = cluster.begin(workflow, now_s)
        self._note_addresses(view)
        endpoints = {name: found.endpoint for name, found in cluster.applications.items() if found.endpoint is not None}
        built = workflow.build(endpoints)
        inputs: list[tuple[ClusterState, Latencies]] = []

        def note_inputs(state: ClusterState, latencies: Latencies) -> None:
            cluster.last_state = state
            inputs.append((state, latencies))

        loop = ControlLoop(
            metrics=_NamedDrivers(self._open_metrics(workflow), cluster.applications),
            latencies=self._open_latencies(workflow),
            policy=GuardedPolicy(workflow.policy_settings.build(built)),
            cluster=cluster,
            knowledge=self._store,
            acts=True,
            rescale_timeout_s=workflow.rescale_timeout_s,
            directives=self._directives(workflow, built, now_s),
            budget=self._context.budget,
            budget_key=f"{workflow.namespace}/{workflow.name}",
            measure_phase=self._context.measure_phase,
            measure_rows=partial(self._row_ages.measure, workflow=built),
            on_inputs=note_inputs,
        )
        decisions = loop.step(now_s)
        try:
            cluster.announce_lost()
        except ClusterError as error:
            log_problem(_LOG, logging.WARNING, error.code, **error.fields)
        state, latencies = inputs[0]
        known = self._store.recall(now_s)
        step = WorkflowStep(
            name=loop.budget_key,
            workflow=built,
            period_s=workflow.monitor.period_s,
            policy=loop.policy.name,
            decisions=decisions,
            cluster=state,
            latencies=latencies,
            known=known,
            settings=workflow.settings(built, self._urls) if self._urls.keys() == workflow.resources.keys() else None,
            applications=cluster.applications,
            empty_pools={
                name: str(problem)
                for name, each in workflow.resources.items()
                if (problem := empty_pool(each.spec.node_pool, view.index.nodes.values())) is not None
            },
            incidents={
                each.operator: self._replica_events.setdefault(each.operator, ReplicaEvents()).of(
                    replica_kinds(each, known, state), now_s
                )
                for each in decisions
            },
        )
        self._context.journal.add(step)
        return step

    def _stored_orders(self) -> Mapping[str, tuple[OrderStatus, ...]]:
        workflow, writer = self._cluster.workflow, self._context.order_writer
        return {name: writer.orders((workflow.namespace, name)) for name in workflow.resources}

    def _note_addresses(self, view: ClusterView) -> None:
        """Update the addresses of drivers and executors for the metric source."""
        self._urls.clear()
        self._hosts.clear()
        for name, application in self._cluster.applications.items():
            if application.endpoint is not None:
                self._urls[name] = application.endpoint.metrics_url
            self._hosts.update({pod.ip: pod.node for pod in application.executors if pod.ip and pod.node})
        self._hosts.update(view.index.nodes_by_address)

    def _open_metrics(self, workflow: ManagedWorkflow) -> MetricSource:
        """Return the metric source, the same one until the settings change: it keeps an idle query's last batch."""
        topics = {
            name: resource.spec.kafka
            for name, resource in workflow.resources.items()
            if resource.spec.kafka is not None
        }
        settings = (workflow.monitor, topics, tuple(self._urls))
        if self._metrics is None or self._metrics[0] != settings:
            client = self._context.targets.client(workflow.namespace)
            opened = open_monitor(workflow.monitor, self._urls, self._hosts, topics, client)
            self._metrics = (settings, opened)
        return self._metrics[1]

    def _open_latencies(self, workflow: ManagedWorkflow) -> SharedLatencies:
        """Return the source of the latency map, the same one until the settings change: it keeps the last good map."""
        settings = (workflow.latency_map, workflow.monitor.timeout_s)
        if self._latencies is None or self._latencies[0] != settings:
            spec, timeout_s = settings
            self._latencies = (settings, self._context.latency_maps.open(spec, workflow.namespace, timeout_s))
        return self._latencies[1]

    def _directives(self, workflow: ManagedWorkflow, built: Workflow, now_s: float) -> Mapping[str, Directive]:
        """Return the directives; without restored memory, pause for one history first unless there is an override."""
        return {
            name: _cautious(directive, self._cautious_until_s.get(name, now_s), now_s)
            for name, directive in workflow.directives(built).items()
        }


def _cautious(directive: Directive, until_s: float, now_s: float) -> Directive:
    """Add a pause until the history is long enough, unless an override or a longer pause is set."""
    overridden = directive.override is not None and directive.override.holds_at(now_s)
    pause = directive.pause
    paused = pause is not None and (pause.until_s is None or pause.until_s >= until_s)
    if overridden or paused or now_s >= until_s:
        return directive
    return replace(directive, pause=Pause(until_s=until_s, why=str(Problem("status-memory-lost"))))
