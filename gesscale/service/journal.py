"""Keeps the newest decisions of every workflow for the page, within a bound of memory and for any thread.

It begins with the decisions of the knowledge file and ends with the process. Readers poll for what is newer than what
they have, so a slow reader delays nobody.
"""

import json
import logging
import threading
import zlib
from collections import deque
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from gesscale.common.errors import Problem
from gesscale.common.logs import log_problem
from gesscale.model.decision import Decision
from gesscale.model.document import codec, decision_document, json_of
from gesscale.model.workflow import Workflow
from gesscale.plan.replica_kinds import replica_kinds
from gesscale.ports import ClusterState, Knowledge, Latencies
from gesscale.service.documents import (
    DecisionPoint,
    NodesDocument,
    RecordDocument,
    RunningWorkflow,
    cost_of,
    nodes_document,
    point_of,
    record_document,
    workflow_document,
)
from gesscale.settings import Settings

#: Memory limit of decisions: about 2,500, four hours of one operator at a period of 6 s. States of clusters may take a
#: quarter of it.
MAX_BYTES = 4 << 20

_LOG = logging.getLogger(__name__)
_OVERHEAD_BYTES = 400
_LEVEL = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalStep:
    """One step of a workflow for the page."""

    #: Name of the workflow on the page.
    name: str
    #: Its operators.
    workflow: Workflow
    #: Period of the loop, and name of the policy.
    period_s: float
    policy: str
    #: One for each operator, at least one.
    decisions: tuple[Decision, ...]
    #: Inputs of the step.
    cluster: ClusterState
    latencies: Latencies
    #: Knowledge after the step.
    known: Knowledge
    #: Settings of a loop that decides alike; None while a driver is unknown.
    settings: Settings | None


class _Entry(NamedTuple):
    number: int
    workflow: str
    operator: str
    at_s: float
    point: str
    decision: bytes

    @property
    def size(self) -> int:
        return len(self.point) + len(self.decision) + _OVERHEAD_BYTES


class _Cluster(NamedTuple):
    """A state of the cluster that lasts until the next one of its workflow."""

    workflow: str
    at_s: float
    packed: bytes


class News(NamedTuple):
    """Points that are newer than a step."""

    #: Number of the newest step, for the next request.
    number: int
    #: The new points by workflow, each as JSON.
    points: Mapping[str, list[str]]


@dataclass(slots=True)
class Journal:
    """Keeps decisions and forgets the oldest."""

    #: Memory limit.
    max_bytes: int = MAX_BYTES
    _entries: deque[_Entry] = field(default_factory=deque)
    _clusters: deque[_Cluster] = field(default_factory=deque)
    _bytes: int = 0
    _number: int = 0
    _newest: dict[str, dict[str, _Entry]] = field(default_factory=dict)
    _steps: dict[str, JournalStep] = field(default_factory=dict)
    _settings: dict[str, Settings] = field(default_factory=dict)
    _changed: threading.Condition = field(default_factory=threading.Condition)

    def begin_with(self, workflow: str, documents: Iterable[Mapping[str, Any]]) -> None:
        """Keep decisions of an earlier process, oldest first; see `gesscale.model.document.decision_document`."""
        with self._changed:
            for document in documents:
                self._keep(workflow, document, point_of(codec(Decision).validate_python(document)))

    def add(self, step: JournalStep) -> None:
        """Keep a step and wake the readers that wait. A decision that cannot be converted is logged and skipped."""
        with self._changed:
            self._number += 1
            self._steps[step.name] = step
            if step.settings is not None:
                self._settings[step.name] = step.settings
            self._keep_cluster(step)
            for decision in step.decisions:
                try:
                    document = decision_document(decision)
                    self._keep(step.name, document, _point(step, decision))
                except Exception as error:  # noqa: BLE001 - the page must never fail a step
                    log_problem(_LOG, logging.ERROR, "decision-not-shown", exc_info=error, workflow=step.name)
            self._changed.notify_all()

    def keep_only(self, names: Collection[str]) -> None:
        """Forget all other workflows."""
        with self._changed:
            if not self._newest.keys() <= {*names}:
                self._entries = deque(each for each in self._entries if each.workflow in names)
                self._bytes = sum(each.size for each in self._entries)
                self._newest = {name: kept for name, kept in self._newest.items() if name in names}
                self._steps = {name: kept for name, kept in self._steps.items() if name in names}
                self._settings = {name: kept for name, kept in self._settings.items() if name in names}
                self._clusters = deque(each for each in self._clusters if each.workflow in names)

    def workflows(self) -> list[RunningWorkflow]:
        """Return every workflow that has a step, with the newest point of each operator in ``points``."""
        with self._changed:
            return [
                {
                    **workflow_document(
                        name,
                        step.workflow,
                        period_s=step.period_s,
                        policy=step.policy,
                        last_step_s=step.decisions[0].at_s,
                    ),
                    "points": [
                        json.loads(entry.point)
                        for operator, entry in self._newest.get(name, {}).items()
                        if operator in step.workflow.operators
                    ],
                }
                for name, step in sorted(self._steps.items())
            ]

    def missing_replicas(self) -> tuple[Problem, ...]:
        """Return the operators that lacked replicas at their newest step."""
        with self._changed:
            steps = [*self._steps.values()]
        return tuple(
            Problem("replica-missing", {"workflow": step.name, "operator": each.operator, "nodes": missing})
            for step in steps
            for each in step.decisions
            if (missing := replica_kinds(each, step.known, step.cluster).missing)
        )

    def points(self, workflow: str, operator: str | None = None) -> list[str]:
        """Return all points of a workflow, or of one operator, oldest first, each as JSON."""
        with self._changed:
            return [
                each.point for each in self._entries if each.workflow == workflow and operator in {None, each.operator}
            ]

    def decision(self, workflow: str, operator: str, at_s: float) -> bytes | None:
        """Return the decision of an instant as JSON; None if it is not kept."""
        with self._changed:
            found = next(
                (
                    each.decision
                    for each in self._entries
                    if (each.workflow, each.operator, each.at_s) == (workflow, operator, at_s)
                ),
                None,
            )
        return None if found is None else zlib.decompress(found)

    def record(self, workflow: str) -> RecordDocument | None:
        """Return the record of a workflow since its first kept state; None before a driver was found."""
        with self._changed:
            step, settings = self._steps.get(workflow), self._settings.get(workflow)
            clusters = [each for each in self._clusters if each.workflow == workflow]
            entries = [each for each in self._entries if each.workflow == workflow]
        if step is None or settings is None or not clusters:
            return None
        return record_document(
            settings,
            step.latencies,
            [{"at_s": each.at_s, "state": _unpacked(each.packed)} for each in clusters],
            [_unpacked(each.decision) for each in entries if each.at_s >= clusters[0].at_s],
        )

    def nodes(self, workflow: str) -> NodesDocument | None:
        """Return the nodes of a workflow at its newest step; None if it has no step."""
        with self._changed:
            step = self._steps.get(workflow)
        if step is None:
            return None
        drivers = {operator.driver_node for operator in step.workflow.operators.values()}
        placed = {node for decision in step.decisions for node in decision.plan.placement}
        return nodes_document(step.latencies, step.cluster, drivers | placed)

    def news(self, after: int, timeout_s: float) -> News:
        """Wait for a step after a number and return the newer points; empty on timeout."""
        with self._changed:
            self._changed.wait_for(lambda: self._number > after, timeout_s)
            points: dict[str, list[str]] = {}
            for entry in reversed(self._entries):
                if entry.number <= after:
                    break
                points.setdefault(entry.workflow, []).insert(0, entry.point)
            return News(self._number, points)

    @property
    def number(self) -> int:
        """The number of the newest step."""
        with self._changed:
            return self._number

    def _keep_cluster(self, step: JournalStep) -> None:
        packed = _packed(json_of(step.cluster))
        if packed != next((each.packed for each in reversed(self._clusters) if each.workflow == step.name), None):
            self._clusters.append(_Cluster(step.name, step.decisions[0].at_s, packed))
        while len(self._clusters) > 1 and sum(len(each.packed) for each in self._clusters) > self.max_bytes // 4:
            self._clusters.popleft()

    def _keep(self, workflow: str, document: Mapping[str, Any], point: DecisionPoint) -> None:
        entry = _Entry(
            number=self._number,
            workflow=workflow,
            operator=document["operator"],
            at_s=document["at_s"],
            point=json.dumps(point, separators=(",", ":")),
            decision=_packed(json.dumps(document, separators=(",", ":"))),
        )
        self._entries.append(entry)
        self._newest.setdefault(workflow, {})[entry.operator] = entry
        self._bytes += entry.size
        while self._bytes > self.max_bytes and len(self._entries) > 1:
            self._bytes -= self._entries.popleft().size


def _packed(text: str) -> bytes:
    return zlib.compress(text.encode(), _LEVEL)


def _unpacked(packed: bytes) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(zlib.decompress(packed))
    return document


def _point(step: JournalStep, decision: Decision) -> DecisionPoint:
    order, reading = step.known.latest(decision.operator), decision.analysis.reading
    batches = reading.batches if reading else ()
    cost = None if order is None else cost_of(order, batches)
    age_s = decision.at_s - batches[-1].ended_at_s if batches else None
    return point_of(decision, cost, age_s, step.known.changes_last_hour(decision.operator, decision.at_s))
