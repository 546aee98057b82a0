"""The workflows under way: each is stepped once per period, in a thread of its own, never twice at once.

A step waits for endpoints that its resource names, so a thread that all share could be held by one author's. Each
namespace may hold a few threads only, and its quick steps go first: who hangs delays himself.
"""

import logging
from collections import Counter
from collections.abc import Callable, Mapping
from concurrent.futures import Future, wait
from dataclasses import dataclass
from functools import partial
from typing import Any

from gesscale.errors import GesscaleError
from gesscale.kubernetes.controller.metrics import ControllerMetrics
from gesscale.kubernetes.controller.probes import StepStanding
from gesscale.kubernetes.controller.steering import Surroundings, WorkflowSteering
from gesscale.kubernetes.controller.telling import Teller
from gesscale.kubernetes.orders.documents import Documents
from gesscale.kubernetes.placement.applications import find_application
from gesscale.kubernetes.placement.quantity import ONE_POD
from gesscale.kubernetes.resource.groups import group_of
from gesscale.kubernetes.resource.translate import Key, SteeredWorkflow

_LOG = logging.getLogger(__name__)
_HASTE_S = 3.0
"""A driver that waits for its first nodes is not let wait for a whole period."""
OPERATORS_AT_ONCE = 64
"""Of one namespace. Each that waits holds three threads, together some 10 MB."""
_CLOCK_BACK_S = 1.0
"""A wall clock that goes back further is resumed from as another controller would."""


@dataclass(slots=True)
class _Course:
    """A workflow under way; its steering belongs to the thread of the step that runs, else to the scheduler."""

    workflow: SteeredWorkflow
    term: int
    since_s: float
    due_s: float
    begun_s: float = float("-inf")
    steering: WorkflowSteering | None = None
    running: Future[None] | None = None
    last_s: float | None = None
    took_s: float = 0.0

    @property
    def idle(self) -> bool:
        return self.running is None or self.running.done()


class Courses:
    """Starts the steps that are due; its methods are for one thread.

    Parameters
    ----------
    surroundings, documents, teller, metrics
        What steps need.
    begin
        Begins a step in a thread of its own.
    now_s
        Seconds since the epoch.
    steady_s
        A clock that never jumps.
    """

    def __init__(
        self,
        *,
        surroundings: Surroundings,
        documents: Documents,
        teller: Teller,
        metrics: ControllerMetrics,
        begin: Callable[[Callable[[], None]], "Future[None]"],
        now_s: Callable[[], float],
        steady_s: Callable[[], float],
    ) -> None:
        self._surroundings, self._documents, self._teller = surroundings, documents, teller
        self._metrics, self._begin = metrics, begin
        self._now_s, self._steady_s = now_s, steady_s
        self._courses: dict[Key, _Course] = {}
        self._leaving: list[tuple[Key, _Course]] = []

    def standings(self) -> tuple[StepStanding, ...]:
        """Return when each workflow was stepped last; for any thread."""
        return tuple(
            StepStanding(
                workflow="/".join(key),
                period_s=course.workflow.monitor.period_s,
                since_s=course.since_s,
                last_s=course.last_s,
                running_since_s=None if course.idle else course.begun_s,
            )
            for key, course in list(self._courses.items())
        )

    def advance(self, workflows: Mapping[Key, SteeredWorkflow], term: int) -> None:
        """Take up new workflows, let go of vanished ones, and start what is due.

        Parameters
        ----------
        workflows
            All that there are.
        term
            Of our leadership.
        """
        for key in [key for key, course in self._courses.items() if course.term != term]:
            self._leave(key, self._courses.pop(key))  # led by somebody else in between
        self._close_idle()
        for key in self._courses.keys() - workflows.keys():
            course = self._courses[key]
            if course.idle:
                self._close(self._courses.pop(key))
                self._metrics.forget(*key)
        now_s = self._steady_s()
        still_running = {key for key, _ in self._leaving}
        for key in workflows.keys() - still_running - self._courses.keys():
            self._courses[key] = _Course(workflows[key], term, since_s=now_s, due_s=now_s)
        self._start_due({key: workflows[key] for key in workflows.keys() - still_running}, now_s)

    def leave_all(self) -> None:
        """Let go of every workflow, without waiting: steps that are going on can order nothing any more."""
        for key, course in self._courses.items():
            self._leave(key, course)
        self._courses = {}
        self._close_idle()

    def wait(self, timeout_s: float) -> None:
        """Wait for the steps that are going on after `leave_all`, but not for ever."""
        wait([course.running for _, course in self._leaving if course.running is not None], timeout=timeout_s)
        self._close_idle()

    def _start_due(self, workflows: Mapping[Key, SteeredWorkflow], now_s: float) -> None:
        """Start what is due, the quickest first, as far as its namespace has threads left."""
        every = (*self._courses.items(), *self._leaving)
        at_once: Counter[str] = Counter()
        for (namespace, _), course in every:
            at_once[namespace] += 0 if course.idle else len(course.workflow.resources)
        for key in sorted(workflows, key=lambda key: self._courses[key].took_s):
            course, namespace = self._courses[key], key[0]
            due = course.idle and self._is_due(course, workflows[key], now_s)
            if due and at_once[namespace] < OPERATORS_AT_ONCE:
                at_once[namespace] += len(course.workflow.resources)
                self._start(key, course, now_s)

    def _is_due(self, course: _Course, workflow: SteeredWorkflow, now_s: float) -> bool:
        if course.workflow is not workflow:
            if _born_anew(course.workflow, workflow):
                self._close(course)
            course.workflow, course.due_s = workflow, now_s
        return now_s >= course.due_s or (
            now_s >= course.begun_s + _HASTE_S
            and awaits_placement(workflow, self._documents, self._surroundings)
        )

    def _start(self, key: Key, course: _Course, now_s: float) -> None:
        course.begun_s, course.due_s = now_s, now_s + course.workflow.monitor.period_s
        course.running = self._begin(partial(self._step, key, course))

    def _leave(self, key: Key, course: _Course) -> None:
        self._leaving.append((key, course))

    def _close_idle(self) -> None:
        still_running = []
        for key, course in self._leaving:
            if course.idle:
                self._close(course)
            else:
                still_running.append((key, course))
        self._leaving = still_running

    def _close(self, course: _Course) -> None:
        for name in course.workflow.resources:
            self._surroundings.promises.keep((course.workflow.namespace, name), (), ONE_POD)
        course.steering = None

    def _step(self, key: Key, course: _Course) -> None:
        """Run one step in its thread; nothing that goes wrong with it leaves this function."""
        workflow = course.workflow
        try:
            step = self._steering_of(course).step(workflow, self._now_s())
            self._teller.tell_step(workflow, step, course.term)
        except GesscaleError as error:
            self._failed(key, str(error))
        except Exception:  # noqa: BLE001  # one workflow's fault must not end the others'
            _LOG.exception("workflow %s: a step failed", "/".join(key))
            self._metrics.step_failed(*key)
        finally:
            course.last_s = self._steady_s()
            course.took_s = course.last_s - course.begun_s

    def _failed(self, key: Key, why: str) -> None:
        _LOG.warning("workflow %s: %s", "/".join(key), why)
        self._metrics.step_failed(*key)

    def _steering_of(self, course: _Course) -> WorkflowSteering:
        now_s = self._now_s()
        if course.steering is not None and now_s < course.steering.last_s - _CLOCK_BACK_S:
            _LOG.warning("workflow %s: the clock went back; it is resumed", course.workflow.name)
            self._close(course)
        if course.steering is None:
            workflow = course.workflow
            documents = {
                name: self._documents.newest((workflow.namespace, name)) or {} for name in workflow.resources
            }
            statuses: dict[str, Mapping[str, Any]] = {
                name: group_of(document, "status") for name, document in documents.items()
            }
            course.steering = WorkflowSteering(workflow, self._surroundings, course.term, statuses, now_s)
        return course.steering


def _born_anew(old: SteeredWorkflow, new: SteeredWorkflow) -> bool:
    """Say whether a resource has gone, even if another of its name has come: its knowledge must not outlive it."""
    return any(
        name not in new.resources or new.resources[name].metadata.uid != resource.metadata.uid
        for name, resource in old.resources.items()
    )


def awaits_placement(workflow: SteeredWorkflow, documents: Documents, surroundings: Surroundings) -> bool:
    """Say whether a driver runs whose first executors nobody has placed yet, though we may.

    Cheap where all operators have an order, which is nearly always.
    """
    for name, resource in workflow.resources.items():
        document = documents.newest((workflow.namespace, name)) or {}
        if resource.spec.mode != "Act" or group_of(document, "status").get("order"):
            continue
        application = find_application(resource, surroundings.look().pods.objects.values())
        if application.place is not None and not application.executors:
            return True
    return False
