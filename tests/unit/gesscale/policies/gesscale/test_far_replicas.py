"""gesscale under overload where the next replica would be far away."""

from dataclasses import replace

import numpy as np
import pytest
from edge import known, observe, operator, workflow
from figures import figures
from gesscale_streams import stream

from gesscale.model.decision import Analysis, MapStatus, Plan, Reason, Verdict
from gesscale.model.workflow import BatchCap
from gesscale.options import PolicyOptions
from gesscale.policies import policy_named
from gesscale.policies.gesscale.memo import GesscaleMemo
from gesscale.policies.memos import serialize_memo
from gesscale.ports import ClusterState, Latencies, Node
from latency_map import LatencyMap
from perfmodel import BatchEvidence, BatchSample, learned

NODES = ("n0", "n1", "n2")


def decide(load: float, present: tuple[str, ...], *, trips: float = 100.0) -> tuple[Analysis, Plan]:
    """Decide for batches of 1,000 rows a replica, which take 10 s, and the round trips of 150 ms with a second one."""
    samples = [
        BatchSample(count * rows, rows / 100 + trips * rtt_ms / 1000, count, count, rtt_ms, rtt_ms, 900.0)
        for count, rtt_ms in ((1, 0.0), (2, 150.0))
        for rows in 10 * (300.0, 600.0, 1000.0)
    ]
    memo = GesscaleMemo(policy="gesscale", at_s=999.0, period_s=20.0, batches=learned(BatchEvidence(), samples))
    delays = LatencyMap(names=NODES, rtt_ms=150 * (1 - np.eye(3)))
    knowledge = known(memos={"op": serialize_memo(memo)})
    knowledge = replace(knowledge, latencies=Latencies(map=delays, map_status=MapStatus(age_s=None, stale="")))
    flow = workflow(replace(operator(), driver_node="n0", max_replicas=2, cap=BatchCap(rows_per_replica=1000)))
    policy = policy_named("gesscale", flow, PolicyOptions())
    seen = stream(load, present, backlog=load * 100)
    seconds = 10.0 if len(present) == 1 else 10 + 0.15 * trips
    batches = tuple(replace(each, rows=1000 * len(present), seconds=seconds) for each in seen.batches)
    analyses = policy.analyze(observe(replace(seen, batches=batches)), knowledge)
    cluster = ClusterState(nodes={name: Node(name=name) for name in NODES}, placements={"op": present})
    return analyses["op"], policy.plan(analyses, cluster, knowledge)["op"]


def test_no_far_replica_is_added_that_lowers_the_capacity() -> None:
    # 100 rows/s on one node; 2,000 rows in 10 + 100 * 0.15 = 25 s on two, 80 rows/s, or a little more by the prior.
    analysis, plan = decide(150, ("n0",))
    assert (analysis.verdict, plan.reason, plan.change) == (Verdict.MORE, Reason.DELAY_EATS_GAIN, None)
    load, one, capacity, delay_ms, two, less = figures(plan.detail)
    assert (load, one, delay_ms, two) == (150, 1, 150, 2)
    assert capacity == pytest.approx(100, rel=0.05)
    assert less == pytest.approx(80, rel=0.15)
    assert [(each.node, each.reason) for each in plan.rejections] == [(name, plan.reason) for name in ("n1", "n2")]
    assert figures(plan.rejections[0].detail) == [delay_ms, less, capacity]


def test_a_near_replica_is_added() -> None:
    # Without the delay two nodes do 200 rows/s.
    _, plan = decide(150, ("n0",), trips=0.0)
    assert (plan.reason, len(plan.placement)) == (Reason.OVERLOADED, 2)


def test_a_replica_that_lowered_the_capacity_is_taken_back_at_once() -> None:
    analysis, plan = decide(150, ("n0", "n1"))
    assert analysis.verdict is Verdict.MORE
    assert (plan.reason, plan.placement) == (Reason.DELAY_EATS_GAIN, ("n0",))
    assert plan.mst.mid > analysis.mst.mid
