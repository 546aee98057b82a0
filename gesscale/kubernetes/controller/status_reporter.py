"""Reports the results of steps, and invalid resources: status, events and metrics."""

import logging
from collections.abc import Callable, Mapping
from concurrent.futures import Executor, Future
from dataclasses import dataclass
from typing import Any

from gesscale.common.logs import log_event, log_problem
from gesscale.errors import ClusterError
from gesscale.kubernetes.api.events import Events, Incident
from gesscale.kubernetes.controller.workflow_controller import WorkflowStep
from gesscale.kubernetes.order_store import Document, Documents
from gesscale.kubernetes.placement.applications import Application
from gesscale.kubernetes.reporting.report import StepReport, report_fault, report_step
from gesscale.kubernetes.reporting.status import ObservedStep, node_pool_of
from gesscale.kubernetes.resource.autoscaler import SINGULAR
from gesscale.kubernetes.resource.order import OrderStatus
from gesscale.kubernetes.resource.status import DriverStatus
from gesscale.kubernetes.resource.translate import Key, ManagedWorkflow, ResourceFault
from gesscale.model.decision import Decision, Reason
from gesscale.plan.replica_kinds import replica_kinds
from gesscale.service.metrics import ScalerMetrics, step_figures
from gesscale.wire import group_of


class StatusReporter:
    """Reports every step as status, events and metrics, only while this process leads.

    Parameters
    ----------
    term
        Returns the term of the current leadership; None while this process does not lead.
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
        """Report one step of a workflow.

        Raises
        ------
        ClusterError
            A status could not be written; the rest was reported.
        """
        now_s = self._now_s()
        figures = step_figures(step.decisions, step.workflow, step.known, step.cluster, now_s)
        self._metrics.step_done(workflow.namespace, workflow.name, figures, step.decisions)
        first: Exception | None = None
        for decision in step.decisions:
            try:
                self._report_operator(workflow, step, decision, term, now_s)
            except Exception as error:  # noqa: BLE001  # a failed report must not prevent the others
                first = first or error
        if first is not None:
            raise first

    def report_fault_of(self, resource: Key, fault: ResourceFault) -> None:
        """Report an invalid resource.

        Raises
        ------
        ClusterError
            Its status could not be written.
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
            return  # deleted or recreated since the step
        observed = ObservedStep(
            spec=resource.spec,
            generation=resource.metadata.generation,
            decision=decision,
            known=step.known,
            replicas=replica_kinds(decision, step.known, step.cluster),
            incidents=step.incidents.get(name, ()),
            driver=_driver(step.applications[name]),
            node_pool=node_pool_of(step.cluster, name),
            empty_pool=step.empty_pools.get(name, ""),
        )
        _log_decision("/".join(key), decision, step.known.latest(name), group_of(newest, "status"))
        report = self._write(key, lambda document: report_step(group_of(document, "status"), observed, now_s), term)
        if (order := report.settled) is not None:
            self._metrics.rescale_took((order.settled_at_s or order.at_s) - order.at_s)

    def _write(self, resource: Key, report_on: Callable[[Document], StepReport], term: int) -> StepReport:
        """Write a report over the newest status; events are published once, from the first attempt."""
        first: list[tuple[StepReport, Document]] = []

        def patch_of(document: Document) -> Mapping[str, Any] | None:
            if self._term() != term:
                raise ClusterError("leadership-lost", source=f"{SINGULAR} {'/'.join(resource)}", term=term)
            report = report_on(document)
            first.append((report, document))
            return report.patch

        try:
            self._documents.change_status(resource, patch_of)
        finally:
            for report, document in first[:1]:
                for event in report.events:
                    self._events.publish(document, event)
                    if event.reason != Incident.RESCALING:  # the line of its order has more
                        fields = {"operator": "/".join(resource), "type": event.kind.value, "message": event.message}
                        log_event(_LOG, event.reason, **fields)
        return first[0][0] if first else StepReport(status={})


def _driver(application: Application) -> DriverStatus | None:
    if application.endpoint is None:
        return None
    pod = application.driver.name if application.driver is not None else None
    return DriverStatus(pod=pod, node=application.endpoint.node or None)


def _log_decision(operator: str, decision: Decision, order: object, before: Mapping[str, Any]) -> None:
    plan, change = decision.plan, decision.plan.change
    if group_of(before, "lastDecision").get("reason") == Reason.OVERRIDDEN and plan.reason is not Reason.OVERRIDDEN:
        log_event(_LOG, "OverrideEnded", operator=operator, reason=plan.reason.value)
    if decision.acted and change is not None and isinstance(order, OrderStatus):
        written = {"id": order.id, "lease": order.written_under, "term": order.term, "reason": plan.reason.value}
        nodes = {"add": ",".join(change.add), "remove": ",".join(change.remove), "lost": ",".join(order.lost)}
        replicas, why = f"{len(plan.before)}->{len(plan.placement)}", plan.detail or decision.analysis.detail
        log_event(_LOG, "order", operator=operator, replicas=replicas, **written, **nodes, why=why)


_LOG = logging.getLogger(__name__)
_RETRY_S = 15.0


@dataclass(slots=True)
class _Report:
    content: tuple[tuple[str, int] | None, ResourceFault]
    writing: Future[None]
    at_s: float


class FaultReporter:
    """Reports invalid resources in threads of a pool; for use by one thread."""

    def __init__(self, write: Callable[[Key, ResourceFault], None], pool: Executor) -> None:
        self._write, self._pool = write, pool
        self._reported: dict[Key, _Report] = {}

    def report(
        self, faults: Mapping[Key, ResourceFault], generations: Mapping[Key, tuple[str, int]], now_s: float
    ) -> None:
        """Report the faults that were not reported yet, and retry failed reports."""
        self._reported = {key: last for key, last in self._reported.items() if key in faults or not last.writing.done()}
        for key, fault in faults.items():
            content, last = (generations.get(key), fault), self._reported.get(key)
            if last is not None:
                if not last.writing.done():
                    continue
                failed = last.writing.cancelled() or last.writing.exception() is not None
                if last.content == content and (not failed or now_s - last.at_s < _RETRY_S):
                    continue
            self._reported[key] = _Report(content, self._pool.submit(self._try, key, fault), now_s)

    def forget(self) -> None:
        """Forget the reports: another controller leads and may report differently."""
        self._reported = {}

    def _try(self, key: Key, fault: ResourceFault) -> None:
        try:
            self._write(key, fault)
        except Exception as error:
            source = f"{SINGULAR} {'/'.join(key)}"
            log_problem(_LOG, logging.WARNING, "status-not-written", source=source, cause=str(error))
            raise
