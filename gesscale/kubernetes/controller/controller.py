"""The controller process: watches, takes part in leader election, and steps every workflow once per period."""

import logging
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from gesscale.common.logs import log_event, log_problem
from gesscale.common.threads import in_thread
from gesscale.kubernetes.api.connection import Connection
from gesscale.kubernetes.api.events import Events
from gesscale.kubernetes.api.lease import (
    LEASE_NAME,
    LEASE_NAMESPACE,
    ElectionTimes,
    Elector,
    LeaseLock,
    new_identity,
    steady_now_s,
)
from gesscale.kubernetes.controller.latencies import LatencyMaps
from gesscale.kubernetes.controller.probes import HealthSnapshot
from gesscale.kubernetes.controller.scheduling import WorkflowScheduler
from gesscale.kubernetes.controller.status_reporter import FaultReporter, StatusReporter
from gesscale.kubernetes.controller.targets import AllowedTarget, Targets
from gesscale.kubernetes.controller.workflow_controller import ControllerContext
from gesscale.kubernetes.order_store import Documents, OrderWriter
from gesscale.kubernetes.placement.reservations import Reservations
from gesscale.kubernetes.placement.watches import Watches
from gesscale.kubernetes.resource.autoscaler import namespaced_name
from gesscale.kubernetes.resource.order import order_of
from gesscale.kubernetes.resource.spec_groups import AGENTS_DNS
from gesscale.kubernetes.resource.translate import GroupedWorkflows, Key, group_into_workflows
from gesscale.plan.change_budget import ChangeBudget
from gesscale.service.journal import Journal
from gesscale.service.metrics import ApiFigures, ScalerMetrics

_LOG = logging.getLogger(__name__)
_ROUND_S = 0.5
#: A large fleet writes many statuses a second, and each change wakes; one round serves all of them.
_MIN_ROUND_S = 0.2
_ROUNDS_PER_LIVENESS_PERIOD = 20
_THREADS = 2
_OWN_TARGETS = (AllowedTarget.parse(AGENTS_DNS),)
#: A pod has 30 s to end, in which the lease must be released too.
_LAST_STEP_S = 15.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ControllerOptions:
    """Options of a controller."""

    #: Namespace of the StreamAutoscalers; None for all.
    namespace: str | None = None
    #: The Lease of the leader, the same for all controllers of the same resources (lease_namespace, lease_name).
    lease_namespace: str = LEASE_NAMESPACE
    lease_name: str = LEASE_NAME
    #: Times of the election.
    times: ElectionTimes = field(default_factory=ElectionTimes)
    #: Targets that resources of any namespace may use, in addition to their own pods and Services.
    allowed_targets: tuple[AllowedTarget, ...] = ()
    #: Maximum number of operators, of all workflows, that change at the same time; None: no limit.
    max_changing_operators: int | None = None


class Controller:
    """The whole controller; `run` blocks until `stop`.

    Attributes
    ----------
    identity
        Its holder identity in the Lease.
    metrics
        Its metrics.
    journal
        The newest steps, for the page.
    """

    def __init__(
        self,
        connection: Connection,
        options: ControllerOptions,
        *,
        version: str,
        now_s: Callable[[], float] = time.time,
    ) -> None:
        self._connection = connection
        self.identity = new_identity()
        self._stopping, self._waking = False, threading.Event()
        self._watches = Watches(connection, options.namespace, self._waking.set)
        self._lease = LeaseLock(connection, options.lease_namespace, options.lease_name)
        self._elector = Elector(
            self._lease, self.identity, times=options.times, term_floor=self._highest_term, on_change=self._waking.set
        )
        self.metrics = ScalerMetrics(version, self._api_figures)
        self.journal = Journal()
        self._reservations = Reservations()
        self._budget = ChangeBudget(options.max_changing_operators)
        self._pool = ThreadPoolExecutor(_THREADS, thread_name_prefix="report")
        documents = Documents(
            connection, self._watches.documents, lease=self._lease.key, has_ended=self._elector.has_ended
        )
        events = Events(connection, self.identity, now_s=now_s)
        reporter = StatusReporter(documents, events, self.metrics, self._term, now_s)
        targets = Targets((*_OWN_TARGETS, *options.allowed_targets), self._watches.snapshot)
        context = ControllerContext(
            latency_maps=LatencyMaps(connection, targets.client, lambda: self._watches.snapshot().nodes.objects),
            snapshot=self._watches.snapshot,
            order_writer=OrderWriter(documents, self._term),
            reservations=self._reservations,
            targets=targets,
            measure_phase=self.metrics.measure_phase,
            journal=self.journal,
            budget=self._budget,
        )
        self._scheduler = WorkflowScheduler(
            context=context,
            documents=documents,
            reporter=reporter,
            metrics=self.metrics,
            begin=in_thread,
            now_s=now_s,
            steady_s=steady_now_s,
        )
        self._fault_reporter = FaultReporter(reporter.report_fault_of, self._pool)
        self._grouped: tuple[dict[Key, tuple[str, int]], GroupedWorkflows] = ({}, GroupedWorkflows())
        self._moved_at_s = steady_now_s()
        self._unread: dict[str, str] = {}

    @property
    def leads(self) -> bool:
        """Whether this process leads, so that it may act."""
        return self._elector.is_leader()

    def run(self) -> None:
        """Watch until `stop`; while leading, start the steps that are due."""
        self._watches.start()
        candidate, led = False, False
        try:
            while not self._stopping:
                self._moved_at_s = steady_now_s()
                self._log_watches()
                if not candidate and self._watches.listed:
                    candidate = True  # not earlier: the term must exceed that of any order
                    self._elector.start()
                term = self._term()
                if (term is not None) != led:
                    led = term is not None
                    self._report_leadership(led)
                if term is None:
                    self.journal.keep_only(())
                else:
                    self._advance(term)
                self._waking.wait(_ROUND_S)
                time.sleep(_MIN_ROUND_S)
                self._waking.clear()
        finally:
            self._end()

    def stop(self) -> None:
        """Ask `run` to end soon, with the running steps; takes no lock, so that a signal handler may call it."""
        self._stopping = True

    def health(self) -> HealthSnapshot:
        """Return the input of the probes."""
        return HealthSnapshot(
            moved_at_s=self._moved_at_s,
            period_s=_ROUND_S * _ROUNDS_PER_LIVENESS_PERIOD,
            leading=self.leads,
            api_problem=self._elector.problem,
            caches=self._watches.statuses(),
            missing_rights=self._connection.missing_rights,
            steps=self._scheduler.statuses(),
        )

    def _report_leadership(self, leads: bool) -> None:
        self.metrics.lead(leads)
        done = "LeadershipAcquired" if leads else "LeadershipLost"
        log_event(_LOG, done, lease=self._lease.key, term=self._elector.term, identity=self.identity)
        if not leads:
            self._give_up_leadership()

    def _log_watches(self) -> None:
        """Log when objects of a kind cannot be read, and when they can again."""
        for each in self._watches.statuses():
            started = each.problem is None or each.problem.code != "watch-not-started"
            failure = each.failure if started and (each.listed or each.problem) else None
            code = "" if failure is None else failure.code
            if code != self._unread.get(each.resource, ""):
                self._unread[each.resource] = code
                if failure is None:
                    log_event(_LOG, "WatchRecovered", resource=each.resource)
                else:
                    log_problem(_LOG, logging.WARNING, failure.code, **failure.fields)

    def _advance(self, term: int) -> None:
        """Start the steps that are due."""
        generations, grouped = self._group_workflows()
        self._scheduler.advance(grouped.workflows, term)
        names = {"/".join(key) for key in grouped.workflows}
        self.journal.keep_only(names)
        self._budget.keep_only(names)
        self._fault_reporter.report(grouped.faults, generations, steady_now_s())

    def _group_workflows(self) -> tuple[dict[Key, tuple[str, int]], GroupedWorkflows]:
        """Return the workflows; formed again only after a spec has changed, since statuses change all the time."""
        documents = self._watches.documents()
        generations: dict[Key, tuple[str, int]] = {}
        for item in documents.values():
            metadata = item["metadata"]
            generations[namespaced_name(item)] = str(metadata.get("uid", "")), int(metadata.get("generation", 0))
        if generations != self._grouped[0]:
            grouped = group_into_workflows(documents.values())
            self._grouped = (generations, grouped)
            self._reservations.keep_only(
                (workflow.namespace, name) for workflow in grouped.workflows.values() for name in workflow.resources
            )
        return self._grouped

    def _term(self) -> int | None:
        return self._elector.term if self._elector.is_leader() else None

    def _highest_term(self) -> int:
        orders = (order_of(item) for item in self._watches.documents().values())
        return max((order.term for order in orders if order is not None), default=-1)

    def _api_figures(self) -> ApiFigures:
        return ApiFigures(
            requests=self._connection.requests,
            stale_s={each.resource: each.stale_s or 0.0 for each in self._watches.statuses()},
            missing_rights=len(self._connection.missing_rights),
        )

    def _give_up_leadership(self) -> None:
        self._scheduler.drop_all()
        self._fault_reporter.forget()

    def _end(self) -> None:
        self._give_up_leadership()
        self._scheduler.wait(_LAST_STEP_S)
        self._elector.stop()
        self._watches.stop()
        self._pool.shutdown(wait=False, cancel_futures=True)
