"""The workflows under way: each is stepped once per period or sooner, in a thread of its own, never twice at once.

A step waits for endpoints that its resource names, so a thread that all share could be held by one author's. Each
namespace may hold a few threads only, and its quick steps go first: who hangs delays himself.
"""

import logging
from collections import Counter
from collections.abc import Callable, Mapping
from concurrent.futures import Future, wait
from dataclasses import dataclass
from functools import partial

from gesscale.errors import GesscaleError
from gesscale.kubernetes.controller.probes import StepStatus
from gesscale.kubernetes.controller.status_reporter import StatusReporter
from gesscale.kubernetes.controller.workflow_controller import ControllerContext, WorkflowController
from gesscale.kubernetes.orders import Documents
from gesscale.kubernetes.placement.applications import find_application
from gesscale.kubernetes.placement.nodes import ONE_POD
from gesscale.kubernetes.resource.autoscaler import StreamAutoscaler
from gesscale.kubernetes.resource.translate import Key, ManagedWorkflow
from gesscale.loop import next_step_in_s
from gesscale.service.metrics import ScalerMetrics
from gesscale.wire import group_of

_LOG = logging.getLogger(__name__)
#: A driver that waits for its first nodes is not let wait for a whole period.
_EARLY_STEP_S = 3.0
#: With a thousand operators a look each round took a fifth of the time of the interpreter.
_EARLY_LOOK_EVERY_S = 1.0
#: Of one namespace. Each that waits holds three threads, together some 10 MB.
OPERATORS_AT_ONCE = 64
#: A wall clock that goes back further is resumed from as another controller would.
_CLOCK_BACK_S = 1.0


@dataclass(slots=True)
class _ScheduledWorkflow:
    """A workflow under way; its controller belongs to the thread of the step that runs, else to the scheduler."""

    workflow: ManagedWorkflow
    term: int
    since_s: float
    due_s: float
    begun_s: float = float("-inf")
    #: From when on its driver may be looked at again, for an early step.
    look_s: float = float("-inf")
    #: Whether each of its operators has had an order; one that has is not looked at again and again.
    placed: bool = False
    controller: WorkflowController | None = None
    running: Future[None] | None = None
    last_s: float | None = None
    took_s: float = 0.0

    @property
    def idle(self) -> bool:
        return self.running is None or self.running.done()


class WorkflowScheduler:
    """Starts the steps that are due; its methods are for one thread."""

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
        self._workflows: dict[Key, _ScheduledWorkflow] = {}
        self._leaving: list[tuple[Key, _ScheduledWorkflow]] = []

    def statuses(self) -> tuple[StepStatus, ...]:
        """Return when each workflow was stepped last; for any thread."""
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
        """Take up new workflows, let go of vanished ones, and start what is due."""
        for key in [key for key, scheduled in self._workflows.items() if scheduled.term != term]:
            self._leaving.append((key, self._workflows.pop(key)))  # led by somebody else in between
        self._close_idle()
        for key in self._workflows.keys() - workflows.keys():
            scheduled = self._workflows[key]
            if scheduled.idle:
                self._close(self._workflows.pop(key))
                self._metrics.forget(*key)
        now_s = self._steady_s()
        still_running = {key for key, _ in self._leaving}
        for key in workflows.keys() - still_running - self._workflows.keys():
            self._workflows[key] = _ScheduledWorkflow(workflows[key], term, since_s=now_s, due_s=now_s)
        self._start_due({key: workflows[key] for key in workflows.keys() - still_running}, now_s)

    def leave_all(self) -> None:
        """Let go of every workflow, without waiting: steps that are going on can order nothing any more."""
        self._leaving += self._workflows.items()
        self._workflows = {}
        self._close_idle()

    def wait(self, timeout_s: float) -> None:
        """Wait for the steps that are going on after `leave_all`, but not for ever."""
        wait([scheduled.running for _, scheduled in self._leaving if scheduled.running is not None], timeout=timeout_s)
        self._close_idle()

    def _start_due(self, workflows: Mapping[Key, ManagedWorkflow], now_s: float) -> None:
        """Start what is due, the quickest first, as far as its namespace has threads left."""
        every = (*self._workflows.items(), *self._leaving)
        at_once: Counter[str] = Counter()
        for (namespace, _), scheduled in every:
            at_once[namespace] += 0 if scheduled.idle else len(scheduled.workflow.resources)
        for key in sorted(workflows, key=lambda key: self._workflows[key].took_s):
            scheduled, namespace = self._workflows[key], key[0]
            due = scheduled.idle and self._is_due(scheduled, workflows[key], now_s)
            if due and at_once[namespace] < OPERATORS_AT_ONCE:
                at_once[namespace] += len(scheduled.workflow.resources)
                self._start(key, scheduled, now_s)

    def _is_due(self, scheduled: _ScheduledWorkflow, workflow: ManagedWorkflow, now_s: float) -> bool:
        if scheduled.workflow != workflow:
            if _is_recreated(scheduled.workflow, workflow):
                self._close(scheduled)
            scheduled.due_s, scheduled.placed = now_s, False
        scheduled.workflow = workflow  # the same object compares at once in the next round
        if now_s >= scheduled.due_s:
            return True
        if scheduled.placed or now_s < max(scheduled.begun_s + _EARLY_STEP_S, scheduled.look_s):
            return False
        scheduled.look_s = now_s + _EARLY_LOOK_EVERY_S
        unplaced = _unplaced(workflow, self._documents)
        scheduled.placed = not unplaced
        index = self._context.look().index
        found = [find_application(resource, index) for resource in unplaced]
        return any(each.place is not None and not each.executors for each in found)

    def _start(self, key: Key, scheduled: _ScheduledWorkflow, now_s: float) -> None:
        scheduled.begun_s, scheduled.due_s = now_s, now_s + scheduled.workflow.monitor.period_s
        scheduled.running = self._begin(partial(self._step, key, scheduled))

    def _close_idle(self) -> None:
        still_running = []
        for key, scheduled in self._leaving:
            if scheduled.idle:
                self._close(scheduled)
            else:
                still_running.append((key, scheduled))
        self._leaving = still_running

    def _close(self, scheduled: _ScheduledWorkflow) -> None:
        for name in scheduled.workflow.resources:
            self._context.reservations.keep((scheduled.workflow.namespace, name), (), ONE_POD)
        scheduled.controller = None

    def _step(self, key: Key, scheduled: _ScheduledWorkflow) -> None:
        """Run one step in its thread; nothing that goes wrong with it leaves this function."""
        workflow = scheduled.workflow
        try:
            step = self._controller_of(scheduled).step(workflow, self._now_s())
            monitor = workflow.monitor
            scheduled.due_s = scheduled.begun_s + next_step_in_s(step.decisions, monitor.period_s, monitor.min_period_s)
            self._reporter.report_step_of(workflow, step, scheduled.term)
        except GesscaleError as error:
            _LOG.warning("workflow %s: %s", "/".join(key), error)
            self._metrics.step_failed(*key)
        except Exception:  # noqa: BLE001  # one workflow's fault must not end the others'
            _LOG.exception("workflow %s: a step failed", "/".join(key))
            self._metrics.step_failed(*key)
        finally:
            scheduled.last_s = self._steady_s()
            scheduled.took_s = scheduled.last_s - scheduled.begun_s

    def _controller_of(self, scheduled: _ScheduledWorkflow) -> WorkflowController:
        now_s = self._now_s()
        if scheduled.controller is not None and now_s < scheduled.controller.last_s - _CLOCK_BACK_S:
            _LOG.warning("workflow %s: the clock went back; it is resumed", scheduled.workflow.name)
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
    """Say whether a resource has gone, even if another of its name has come: its knowledge must not outlive it."""
    return any(
        name not in new.resources or new.resources[name].metadata.uid != resource.metadata.uid
        for name, resource in old.resources.items()
    )


def _unplaced(workflow: ManagedWorkflow, documents: Documents) -> list[StreamAutoscaler]:
    """Return what we may place and have not: if its driver runs, it waits for its first executors."""
    return [
        resource
        for name, resource in workflow.resources.items()
        if resource.spec.mode == "Act"
        and not group_of(documents.newest((workflow.namespace, name)) or {}, "status").get("order")
    ]
