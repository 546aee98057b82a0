"""A small edge for tests: five nodes in a line, builders of readings, and fakes of the ports."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from gesscale.errors import ClusterError
from gesscale.knowledge.memory import MemoryKnowledge
from gesscale.loop import ControlLoop
from gesscale.model.decision import Change, MapStatus, Outcome, OutcomeStatus
from gesscale.model.observation import Batch, MissingReading, OperatorReading, WorkflowObservation
from gesscale.model.workflow import DEFAULT_SLO_S, BatchCap, Operator, Workflow
from gesscale.options import PolicyOptions
from gesscale.policies import policy_named
from gesscale.ports import ClusterState, Knowledge, Latencies, Node
from latency_map import DelayKind, DelayUnit, LatencyMap

ACTING = ("--set", "execute.mode=act", "--set", "execute.cluster=fake")
"""Options of a command that acts."""

# Round trips in ms. The driver runs on hub. Distances from hub: near 10, mid 50, far 200, edge 300.
NODES = ("hub", "near", "mid", "far", "edge")
RTT_MS = [
    [0, 10, 50, 200, 300],
    [10, 0, 45, 190, 290],
    [50, 45, 0, 160, 260],
    [200, 190, 160, 0, 120],
    [300, 290, 260, 120, 0],
]


def delays() -> LatencyMap:
    return LatencyMap.from_delays(NODES, RTT_MS, unit=DelayUnit.MS, kind=DelayKind.RTT)


def known(*, stale: str = "", age_s: float | None = None, **kept: object) -> Knowledge:
    """Return what a policy may know: the map of this edge, and what is given."""
    return Knowledge(latencies=latencies(stale=stale, age_s=age_s), **kept)


def latencies(*, stale: str = "", age_s: float | None = None) -> Latencies:
    return Latencies(map=delays(), map_status=MapStatus(age_s=age_s, stale=stale))


def operator(name: str = "op", **changes: object) -> Operator:
    return replace(
        Operator(name=name, driver_node="hub", max_replicas=5, cap=BatchCap(rows_per_replica=100)), **changes
    )


def workflow(*operators: Operator, slo_s: float = DEFAULT_SLO_S) -> Workflow:
    return Workflow(operators or (operator(),), slo_s)


def batches(
    placement: Sequence[str], *, at_s: float, rows: int, seconds: float, count: int = 4, cap: int | None = None
) -> tuple[Batch, ...]:
    return tuple(
        Batch(
            batch_id=index,
            ended_at_s=at_s - seconds * (count - 1 - index),
            rows=rows,
            seconds=seconds,
            nodes=tuple(placement),
            trigger_s=2.0,
            cap_rows=cap,
        )
        for index in range(count)
    )


def reading(
    placement: Sequence[str] = ("hub",),
    *,
    name: str = "op",
    at_s: float = 1000.0,
    throughput: float = 100.0,
    offered: float | None = None,
    saturated: float = 0.0,
    backlog: float = 0.0,
    **changes: object,
) -> OperatorReading:
    """Return a reading whose warm batches run at the throughput: full ones of 100 rows a replica if saturated."""
    rows = 100 * len(placement) if saturated else 50
    warm = batches(
        placement, at_s=at_s, rows=rows, seconds=rows / throughput if throughput else 1.0, cap=100 * len(placement)
    )
    made = OperatorReading(
        operator=name,
        at_s=at_s,
        placement=tuple(sorted(placement)),
        throughput_rows_per_s=throughput,
        input_rows_per_s=throughput if offered is None else offered,
        saturated_share=saturated,
        busy_share=1.0 if saturated else 0.4,
        backlog_rows=backlog,
        warm_batches=warm if throughput else (),
        batches=warm,
        trigger_s=2.0,
    )
    return replace(made, **changes)


def observe(*readings: OperatorReading, missing_readings: Sequence[MissingReading] = ()) -> WorkflowObservation:
    return WorkflowObservation(
        at_s=readings[0].at_s if readings else 1000.0,
        readings={item.operator: item for item in readings},
        missing_readings={item.operator: item for item in missing_readings},
    )


@dataclass
class FakeCluster:
    """A cluster in memory that does exactly what a test orders, or fails when `failure` says so."""

    placements: dict[str, tuple[str, ...]]
    nodes: Mapping[str, Node] = field(default_factory=lambda: {name: Node(name=name) for name in NODES})
    failure: str = ""
    orders: list[tuple[str, tuple[str, ...]]] = field(default_factory=list)

    def state(self) -> ClusterState:
        if self.failure:
            raise ClusterError(self.failure)
        return ClusterState(nodes=self.nodes, placements=dict(self.placements))

    def apply(self, operator: str, placement: tuple[str, ...]) -> Outcome:
        if self.failure:
            raise ClusterError(self.failure)
        self.orders.append((operator, placement))
        change = Change.between(self.placements.get(operator, ()), placement)
        if change is None:
            return Outcome(status=OutcomeStatus.NOTHING_TO_DO)
        self.placements[operator] = placement
        return Outcome(status=OutcomeStatus.APPLIED, added=change.add, removed=change.remove, seconds=1.0)


@dataclass
class FakeLatencies:
    """The map of this edge; what a test sets of it comes with the next step."""

    newest: Latencies = field(default_factory=latencies)

    def current(self, now_s: float) -> Latencies:
        del now_s
        return self.newest


@dataclass
class FakeMetrics:
    """Answers with the observations it was given, one a step; the last one again when they run out."""

    observations: list[WorkflowObservation]

    def observe(self, now_s: float) -> WorkflowObservation:
        current = self.observations.pop(0) if len(self.observations) > 1 else self.observations[0]
        return replace(
            current, at_s=now_s, readings={name: replace(item, at_s=now_s) for name, item in current.readings.items()}
        )


def only_decision(out: str) -> dict[str, Any]:
    """Return the one decision of a command's JSON."""
    document = json.loads(out)
    assert list(document) == ["apiVersion", "decisions"]
    assert document["apiVersion"] == "gesscale.dev/v1"
    (decision,) = document["decisions"]
    return decision


def control_loop(
    cluster: FakeCluster, *observations: WorkflowObservation, flow: Workflow | None = None, **changes: Any
) -> ControlLoop:
    """Return a loop of policy gesscale-2021 that acts, over fakes and what is given."""
    given = {
        "latencies": FakeLatencies(),
        "policy": policy_named("gesscale-2021", flow or workflow(), PolicyOptions()),
        "knowledge": MemoryKnowledge(),
        "acts": True,
        "rescale_timeout_s": 60.0,
        **changes,
    }
    return ControlLoop(metrics=FakeMetrics(list(observations)), cluster=cluster, **given)
