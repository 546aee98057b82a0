"""Under overload no change of gesscale lowers the capacity that it predicts, whatever map, law and nodes are."""

from dataclasses import replace

from edge import known, observe, operator, workflow
from gesscale_streams import stream
from hypothesis import given, settings
from hypothesis import strategies as st
from site_maps import site_maps
from thoroughness import examples

from gesscale.model.decision import MapStatus, Verdict
from gesscale.model.workflow import BatchCap
from gesscale.options import PolicyOptions
from gesscale.policies import policy_named
from gesscale.policies.gesscale.memo import GesscaleMemo
from gesscale.policies.memos import serialize_memo
from gesscale.ports import ClusterState, Latencies, Node
from latency_map import LatencyMap
from perfmodel import BatchEvidence, BatchSample, learned


@st.composite
def evidence(draw: st.DrawFn) -> BatchEvidence:
    """Return batches of up to four placements, by a law of batch times with much or little delay."""
    row_s, trips = draw(st.floats(1e-4, 1e-2)), draw(st.floats(0, 30))
    placements = draw(st.lists(st.tuples(st.integers(1, 6), st.floats(1, 300)), max_size=4))
    samples = [
        BatchSample(rows, 0.5 + rows * row_s / count + trips * rtt_ms / 1000, count, count, rtt_ms, rtt_ms, 900.0)
        for count, rtt_ms in placements
        for rows in (300.0, 1000.0, 3000.0)
    ]
    return learned(BatchEvidence(), samples)


@settings(max_examples=examples(400))
@given(data=st.data(), delays=site_maps(), batches=evidence())
def test_a_change_under_overload_raises_the_predicted_capacity(
    data: st.DataObject, delays: LatencyMap, batches: BatchEvidence
) -> None:
    nodes = st.sampled_from(delays.names)
    most = data.draw(st.integers(1, 8))
    present = tuple(sorted(data.draw(st.sets(nodes, min_size=1, max_size=most))))
    cap = data.draw(st.sampled_from([None, BatchCap(rows=3000), BatchCap(rows_per_replica=1000)]))
    flow = workflow(replace(operator(), driver_node="n0", max_replicas=most, cap=cap))
    policy = policy_named("gesscale", flow, PolicyOptions())
    memo = GesscaleMemo(policy="gesscale", at_s=999.0, period_s=20.0, batches=batches)
    knowledge = known(memos={"op": serialize_memo(memo)})
    knowledge = replace(knowledge, latencies=Latencies(map=delays, map_status=MapStatus(age_s=None, stale="")))
    weights = data.draw(st.dictionaries(nodes, st.floats(0.2, 5)))
    cluster = ClusterState(
        nodes={name: Node(name=name, weight=weights.get(name, 1.0)) for name in delays.names},
        placements={"op": present},
    )
    seen = stream(data.draw(st.floats(50, 5000)), present, backlog=data.draw(st.floats(0, 100_000)))
    observation = replace(observe(seen), node_weights=weights)
    analyses = policy.analyze(observation, knowledge)
    plan = policy.plan(analyses, cluster, knowledge)["op"]
    now = analyses["op"]
    if now.verdict is not Verdict.MORE or not plan.change:
        return
    assert plan.mst.mid >= now.mst.mid * (1 - 1e-9)
    if len(plan.placement) > len(present):
        assert plan.mst.mid > now.mst.mid
