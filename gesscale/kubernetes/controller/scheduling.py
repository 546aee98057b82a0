"""Scheduling of workflows: each is stepped once per period or sooner, in a thread, never twice at a time.

A step waits for endpoints that its resource configures. A shared thread could be blocked by one tenant's endpoint, so
each namespace has a limited number of threads, and its quick steps start first: a slow tenant delays only itself.
"""

import logging
from collections import Counter
from collections.abc import Callable, Mapping
from concurrent.futures import Future, wait
from dataclasses import dataclass
from functools import partial

from gesscale.common.counted_warnings import CountedWarnings
from gesscale.common.logs import log_problem
from gesscale.errors import GesscaleError
from gesscale.kubernetes.controller.probes import StepStatus
from gesscale.kubernetes.controller.status_reporter import StatusReporter
from gesscale.kubernetes.controller.workflow_controller import ControllerContext, WorkflowController
from gesscale.kubernetes.order_store import Documents
from gesscale.kubernetes.placement.applications import find_application
from gesscale.kubernetes.placement.nodes import ONE_POD
from gesscale.kubernetes.placement.replicas import changed_nodes
from gesscale.kubernetes.placement.watches import ClusterView
from gesscale.kubernetes.resource.autoscaler import StreamAutoscaler
from gesscale.kubernetes.resource.translate import Key, ManagedWorkflow
from gesscale.loop import next_step_in_s
from gesscale.service.metrics import ScalerMetrics
from gesscale.wire import entries_of, group_of

_LOG = logging.getLogger(__name__)
#: A driver that waits for its first placement does not wait for a full period.
_EARLY_STEP_S = 3.0
#: Changes of one cause, such as two nodes of one switch, arrive within this time and are answered by one step.
_GATHER_S = 1.0
#: A replica on a node that does not report may stop to work at any time, and no watch would show it.
_SILENT_STEP_S = 10.0
#: With a thousand operators, a check in each round took a fifth of the interpreter's time.
_EARLY_CHECK_EVERY_S = 1.0
#: Limit for one namespace. Each waiting operator holds three threads, together about 10 MB.
CONCURRENT_OPERATORS = 64
#: After the wall clock was set back further, a workflow restarts from its status, as in another controller.
_CLOCK_BACK_S = 1.0


@dataclass(slots=True)
class _ScheduledWorkflow:
    """A scheduled workflow; its controller belongs to the running step's thread, else to the scheduler."""

    workflow: ManagedWorkflow
    term: int
    since_s: float
    due_s: float
    begun_s: float = float("-inf")
    #: When it must step because one of its replicas may be lost.
    urgent_s: float = float("inf")
    #: When its driver may be checked again for an early step.
    next_check_s: float = float("-inf")
    #: Whether each of its operators has an order, so that no early step is needed.
    placed: bool = False
    controller: WorkflowController | None = None
    running: Future[None] | None = None
    last_s: float | None = None
    took_s: float = 0.0

    @property
    def idle(self) -> bool:
        return self.running is None or self.running.done()


class WorkflowScheduler:
    """Starts the steps that are due; for use by one thread."""

    def __init__(
        self,
        *,
        context: ControllerContext,
        documents: Documents,
        reporter: StatusReporter,
        metrics: ScalerMetrics,
        begin: Callable[[Callable[[], None]], "Future[None]"],
        now_s: Callable[[], float],
        steady_s: Callable[[], float],
    ) -> None:
        self._context, self._documents, self._reporter = context, documents, reporter
        self._metrics, self._begin = metrics, begin
        self._now_s, self._steady_s = now_s, steady_s
        self._warnings = CountedWarnings(_LOG)
        self._workflows: dict[Key, _ScheduledWorkflow] = {}
        self._draining: list[tuple[Key, _ScheduledWorkflow]] = []
        self._view: ClusterView | None = None

    def statuses(self) -> tuple[StepStatus, ...]:
        """Return when each workflow was stepped last; callable from any thread."""
        return tuple(
            StepStatus(
                workflow="/".join(key),
                period_s=scheduled.workflow.monitor.period_s,
                since_s=scheduled.since_s,
                last_s=scheduled.last_s,
                running_since_s=None if scheduled.idle else scheduled.begun_s,
            )
            for key, scheduled in list(self._workflows.items())
        )

    def advance(self, workflows: Mapping[Key, ManagedWorkflow], term: int) -> None:
        """Add new workflows, drop deleted ones, and start the steps that are due."""
        for key in [key for key, scheduled in self._workflows.items() if scheduled.term != term]:
            self._draining.append((key, self._workflows.pop(key)))  # another controller led in between
        self._close_idle()
        for key in self._workflows.keys() - workflows.keys():
            scheduled = self._workflows[key]
            if scheduled.idle:
                self._close(self._workflows.pop(key))
                self._metrics.forget(*key)
        now_s = self._steady_s()
        still_running = {key for key, _ in self._draining}
        for key in workflows.keys() - still_running - self._workflows.keys():
            self._workflows[key] = _ScheduledWorkflow(workflows[key], term, since_s=now_s, due_s=now_s)
        if any(scheduled.last_s is not None for scheduled in self._workflows.values()):
            self._hurry_after_loss(now_s)
        self._start_due({key: workflows[key] for key in workflows.keys() - still_running}, now_s)

    def drop_all(self) -> None:
        """Drop every workflow without waiting; running steps can no longer write orders."""
        self._draining += self._workflows.items()
        self._workflows = {}
        self._close_idle()

    def wait(self, timeout_s: float) -> None:
        """Wait for the running steps after `drop_all`, with a timeout."""
        wait([scheduled.running for _, scheduled in self._draining if scheduled.running is not None], timeout=timeout_s)
        self._close_idle()

    def _hurry_after_loss(self, now_s: float) -> None:
        """Hasten the step of each workflow that has an order on a node which changed or lost an executor."""
        before, view = self._view, self._context.snapshot()
        self._view = view
        if before is None or (before.nodes.objects is view.nodes.objects and before.pods.objects is view.pods.objects):
            return
        changed = changed_nodes(before.index, view.index)
        for scheduled in self._workflows.values() if changed else ():
            if not changed.isdisjoint(_ordered_nodes(scheduled.workflow, self._documents)):
                early_s = max(now_s + _GATHER_S, scheduled.begun_s + _EARLY_STEP_S)
                scheduled.urgent_s = min(scheduled.urgent_s, early_s)

    def _start_due(self, workflows: Mapping[Key, ManagedWorkflow], now_s: float) -> None:
        """Start the due steps, the quickest first, within the threads of each namespace."""
        every = (*self._workflows.items(), *self._draining)
        at_once: Counter[str] = Counter()
        for (namespace, _), scheduled in every:
            at_once[namespace] += 0 if scheduled.idle else len(scheduled.workflow.resources)
        for key in sorted(workflows, key=lambda key: self._workflows[key].took_s):
            scheduled, namespace = self._workflows[key], key[0]
            due = scheduled.idle and self._is_due(scheduled, workflows[key], now_s)
            if due and at_once[namespace] < CONCURRENT_OPERATORS:
                at_once[namespace] += len(scheduled.workflow.resources)
                self._start(key, scheduled, now_s)

    def _is_due(self, scheduled: _ScheduledWorkflow, workflow: ManagedWorkflow, now_s: float) -> bool:
        if scheduled.workflow != workflow:
            if _is_recreated(scheduled.workflow, workflow):
                self._close(scheduled)
            scheduled.due_s, scheduled.placed = now_s, False
        scheduled.workflow = workflow  # the same object compares fast in the next round
        if now_s >= min(scheduled.due_s, scheduled.urgent_s):
            return True
        if scheduled.placed or now_s < max(scheduled.begun_s + _EARLY_STEP_S, scheduled.next_check_s):
            return False
        scheduled.next_check_s = now_s + _EARLY_CHECK_EVERY_S
        unplaced = _unplaced(workflow, self._documents)
        scheduled.placed = not unplaced
        index = self._context.snapshot().index
        found = [find_application(resource, index) for resource in unplaced]
        return any(each.endpoint is not None and not each.executors for each in found)

    def _start(self, key: Key, scheduled: _ScheduledWorkflow, now_s: float) -> None:
        scheduled.begun_s, scheduled.due_s = now_s, now_s + scheduled.workflow.monitor.period_s
        scheduled.urgent_s = float("inf")
        scheduled.running = self._begin(partial(self._step, key, scheduled))

    def _close_idle(self) -> None:
        still_running = []
        for key, scheduled in self._draining:
            if scheduled.idle:
                self._close(scheduled)
            else:
                still_running.append((key, scheduled))
        self._draining = still_running

    def _close(self, scheduled: _ScheduledWorkflow) -> None:
        for name in scheduled.workflow.resources:
            self._context.reservations.reserve((scheduled.workflow.namespace, name), (), ONE_POD)
        scheduled.controller = None

    def _step(self, key: Key, scheduled: _ScheduledWorkflow) -> None:
        """Run one step in its thread; never raises."""
        workflow = scheduled.workflow
        try:
            step = self._controller_of(scheduled).step(workflow, self._now_s())
            monitor = workflow.monitor
            scheduled.due_s = scheduled.begun_s + next_step_in_s(step.decisions, monitor.period_s, monitor.min_period_s)
            if any(not step.cluster.silent.keys().isdisjoint(nodes) for nodes in step.cluster.placements.values()):
                scheduled.due_s = min(scheduled.due_s, scheduled.begun_s + _SILENT_STEP_S)
            self._reporter.report_step_of(workflow, step, scheduled.term)
        except GesscaleError as error:
            self._warnings.warn(error.code, **{"workflow": "/".join(key), **error.fields})
            self._metrics.step_failed(*key)
        except Exception as error:  # noqa: BLE001  # an error of one workflow must not stop the others
            log_problem(_LOG, logging.ERROR, "step-failed", exc_info=True, workflow="/".join(key), cause=repr(error))
            self._metrics.step_failed(*key)
        finally:
            scheduled.last_s = self._steady_s()
            scheduled.took_s = scheduled.last_s - scheduled.begun_s

    def _controller_of(self, scheduled: _ScheduledWorkflow) -> WorkflowController:
        now_s = self._now_s()
        if scheduled.controller is not None and now_s < scheduled.controller.last_s - _CLOCK_BACK_S:
            by_s = scheduled.controller.last_s - now_s
            log_problem(_LOG, logging.WARNING, "clock-set-back", workflow=scheduled.workflow.name, by_s=by_s)
            self._close(scheduled)
        if scheduled.controller is None:
            workflow = scheduled.workflow
            statuses = {
                name: group_of(self._documents.newest((workflow.namespace, name)) or {}, "status")
                for name in workflow.resources
            }
            scheduled.controller = WorkflowController(workflow, self._context, scheduled.term, statuses, now_s)
        return scheduled.controller


def _is_recreated(old: ManagedWorkflow, new: ManagedWorkflow) -> bool:
    """Return whether a resource was deleted, even if recreated: its knowledge must not outlive it."""
    return any(
        name not in new.resources or new.resources[name].metadata.uid != resource.metadata.uid
        for name, resource in old.resources.items()
    )


def _ordered_nodes(workflow: ManagedWorkflow, documents: Documents) -> set[str]:
    documents_of = (documents.newest((workflow.namespace, name)) or {} for name in workflow.resources)
    return {
        node for each in documents_of for node in entries_of(group_of(group_of(each, "status"), "order"), "placement")
    }


def _unplaced(workflow: ManagedWorkflow, documents: Documents) -> list[StreamAutoscaler]:
    """Return the resources in mode Act without an order: a running driver waits for its first executors."""
    return [
        resource
        for name, resource in workflow.resources.items()
        if resource.spec.mode == "Act"
        and not group_of(documents.newest((workflow.namespace, name)) or {}, "status").get("order")
    ]
