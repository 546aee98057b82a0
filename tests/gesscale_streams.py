"""An operator that is offered so much, and what gesscale decides for it."""

from dataclasses import replace

from edge import NODES, known, observe, operator, reading, workflow

from gesscale.model.decision import Analysis, Plan
from gesscale.model.observation import Batch, MissingReading, OperatorReading
from gesscale.model.workflow import DEFAULT_SLO_S, Workflow
from gesscale.monitor.offered import driver_points
from gesscale.policies import policy_named
from gesscale.policies.gesscale.settings import GesscaleSettings
from gesscale.ports import ClusterState, Knowledge, Node
from gesscale.settings.analyze import AnalyzeSettings

TRIGGER_S = 10.0
TOPIC_ROWS = 50_000.0
"""In the topic before the query started."""
FLOW = workflow(replace(operator(), cap=None))


def stream(
    load: float, placement: tuple[str, ...] = ("hub",), *, minutes: int = 3, backlog: float = 0.0
) -> OperatorReading:
    """Return an operator that was offered so many rows/s, and does 100 rows/s and replica: a batch every 10 s."""
    rows = min(load, 100.0 * len(placement)) * TRIGGER_S
    batches = tuple(
        Batch(
            batch_id=index,
            ended_at_s=1000.0 + TRIGGER_S * index,
            rows=int(rows),
            seconds=rows / 100 / len(placement),
            nodes=placement,
            trigger_s=TRIGGER_S,
            offered_rows_total=load * TRIGGER_S * index,
            end_offset_rows_total=TOPIC_ROWS + load * TRIGGER_S * index,
            backlog_rows=backlog,
        )
        for index in range(6 * minutes)
    )
    return reading(
        placement,
        at_s=batches[-1].ended_at_s,
        throughput=rows / TRIGGER_S,
        offered=load,
        backlog=backlog,
        batches=batches,
        offered_points=tuple(driver_points(batches)),
        warm_batches=batches[-6:],
        trigger_s=TRIGGER_S,
    )


def decide(
    seen: OperatorReading | MissingReading,
    *,
    knowledge: Knowledge | None = None,
    cluster: ClusterState | None = None,
    slo_s: float = DEFAULT_SLO_S,
    **settings: float,
) -> tuple[Analysis, Plan]:
    policy = policy_named(
        "gesscale", Workflow(FLOW.operators.values(), slo_s), AnalyzeSettings(gesscale=GesscaleSettings(**settings))
    )
    knowledge = known() if knowledge is None else knowledge
    missing = isinstance(seen, MissingReading)
    observation = observe(missing_readings=[seen]) if missing else observe(seen)
    analyses = policy.analyze(observation, knowledge)
    assert policy.analyze(observation, knowledge) == analyses
    placement = ("hub",) if missing else seen.placement
    cluster = cluster or ClusterState(nodes={name: Node(name=name) for name in NODES}, placements={"op": placement})
    plans = policy.plan(analyses, cluster, knowledge)
    assert policy.plan(analyses, cluster, knowledge) == plans
    return analyses["op"], plans["op"]
