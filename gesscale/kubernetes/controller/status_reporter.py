"""Writes what a step brought, and what keeps a resource from being obeyed: status, events, metrics."""

import logging
from collections.abc import Callable, Mapping
from concurrent.futures import Executor, Future
from dataclasses import dataclass
from typing import Any

from gesscale.errors import ClusterError
from gesscale.kubernetes.api.events import Events
from gesscale.kubernetes.controller.workflow_controller import WorkflowStep
from gesscale.kubernetes.orders import Document, Documents
from gesscale.kubernetes.placement.applications import Application
from gesscale.kubernetes.reporting.report import StepReport, report_fault, report_step
from gesscale.kubernetes.reporting.status import ObservedStep, node_pool_of
from gesscale.kubernetes.resource.status import DriverStatus
from gesscale.kubernetes.resource.translate import Key, ManagedWorkflow, ResourceFault
from gesscale.model.decision import Decision
from gesscale.service.metrics import ScalerMetrics, step_figures
from gesscale.wire import group_of


class StatusReporter:
    """Reports every step to people and machines; only as the leader that made it.

    Parameters
    ----------
    term
        The term of our leadership; None while we do not lead.
    """

    def __init__(
        self,
        documents: Documents,
        events: Events,
        metrics: ScalerMetrics,
        term: Callable[[], int | None],
        now_s: Callable[[], float],
    ) -> None:
        self._documents, self._events, self._metrics = documents, events, metrics
        self._term, self._now_s = term, now_s

    def report_step_of(self, workflow: ManagedWorkflow, step: WorkflowStep, term: int) -> None:
        """Tell of one step of a workflow.

        Raises
        ------
        ClusterError
            Where a status could not be written; the rest was reported all the same.
        """
        now_s = self._now_s()
        figures = step_figures(step.decisions, step.workflow, step.known, step.cluster.placements, now_s)
        self._metrics.step_done(workflow.namespace, workflow.name, figures, step.decisions)
        lost: Exception | None = None
        for decision in step.decisions:
            try:
                self._report_operator(workflow, step, decision, term, now_s)
            except Exception as error:  # noqa: BLE001  # one operator's report must not cost the others theirs
                lost = lost or error
        if lost is not None:
            raise lost

    def report_fault_of(self, resource: Key, fault: ResourceFault) -> None:
        """Tell of a resource that cannot be obeyed.

        Raises
        ------
        ClusterError
            Where its status could not be written.
        """
        term, now_s = self._term(), self._now_s()

        def report(document: Document) -> StepReport:
            generation = group_of(document, "metadata").get("generation")
            known = generation if isinstance(generation, int) else 0
            return report_fault(group_of(document, "status"), fault, known, now_s)

        if term is not None and self._documents.newest(resource) is not None:
            self._write(resource, report, term)

    def _report_operator(
        self, workflow: ManagedWorkflow, step: WorkflowStep, decision: Decision, term: int, now_s: float
    ) -> None:
        name = decision.operator
        resource, key = workflow.resources[name], (workflow.namespace, name)
        newest = self._documents.newest(key)
        if newest is None or str(newest["metadata"].get("uid", "")) != resource.metadata.uid:
            return  # deleted meanwhile, or created again
        seen = ObservedStep(
            spec=resource.spec,
            generation=resource.metadata.generation,
            decision=decision,
            known=step.known,
            live=step.cluster.placements.get(name),
            driver=_driver(step.applications[name]),
            node_pool=node_pool_of(step.cluster, name),
        )
        report = self._write(key, lambda document: report_step(group_of(document, "status"), seen, now_s), term)
        if (order := report.settled) is not None:
            self._metrics.rescale_took((order.settled_at_s or order.at_s) - order.at_s)

    def _write(self, resource: Key, report_on: Callable[[Document], StepReport], term: int) -> StepReport:
        """Write a report over the newest status; the events are of the first look at it, since they come but once."""
        first: list[tuple[StepReport, Document]] = []

        def patch_of(document: Document) -> Mapping[str, Any] | None:
            if self._term() != term:
                said = f"streamautoscaler {'/'.join(resource)}: nothing is reported"
                raise ClusterError(f"{said}, since the leadership of term {term} has ended")
            report = report_on(document)
            first.append((report, document))
            return report.patch

        try:
            self._documents.change_status(resource, patch_of)
        finally:
            for report, document in first[:1]:
                for event in report.events:
                    self._events.publish(document, event)
        return first[0][0] if first else StepReport(status={})


def _driver(application: Application) -> DriverStatus | None:
    if application.place is None:
        return None
    pod = application.driver.name if application.driver is not None else None
    return DriverStatus(pod=pod, node=application.place.node or None)


_LOG = logging.getLogger(__name__)
_AGAIN_S = 15.0


@dataclass(slots=True)
class _Report:
    said: tuple[tuple[str, int] | None, ResourceFault]
    writing: Future[None]
    at_s: float


class FaultReporter:
    """Reports in threads of a pool; used by one thread."""

    def __init__(self, tell: Callable[[Key, ResourceFault], None], pool: Executor) -> None:
        self._write, self._pool = tell, pool
        self._reported: dict[Key, _Report] = {}

    def report(
        self, faults: Mapping[Key, ResourceFault], generations: Mapping[Key, tuple[str, int]], now_s: float
    ) -> None:
        """Report the faults that were not reported yet."""
        self._reported = {key: last for key, last in self._reported.items() if key in faults or not last.writing.done()}
        for key, fault in faults.items():
            said, last = (generations.get(key), fault), self._reported.get(key)
            if last is not None:
                if not last.writing.done():
                    continue
                failed = last.writing.cancelled() or last.writing.exception() is not None
                if last.said == said and (not failed or now_s - last.at_s < _AGAIN_S):
                    continue
            self._reported[key] = _Report(said, self._pool.submit(self._try, key, fault), now_s)

    def forget(self) -> None:
        """Forget the reports: another controller leads and may report otherwise."""
        self._reported = {}

    def _try(self, key: Key, fault: ResourceFault) -> None:
        try:
            self._write(key, fault)
        except Exception as error:
            _LOG.warning("streamautoscaler %s: %s", "/".join(key), error)
            raise
