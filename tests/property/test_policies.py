"""What no policy ever does, whatever it sees."""

from itertools import combinations

from edge import NODES, latencies, observe, operator, reading, workflow
from hypothesis import given, settings
from hypothesis import strategies as st
from thoroughness import examples

from gesscale.model.decision import Reason
from gesscale.options import PolicyOptions
from gesscale.policies import policy_named, policy_names
from gesscale.ports import ClusterState, Knowledge, Latencies, Node
from perfmodel import Reading

# Drawn from lists, so that decisive cases are as frequent as marginal ones: else hardly any plan changes anything.
placements = st.sampled_from([some for size in range(1, 6) for some in combinations(sorted(NODES), size)])
maps = st.sampled_from(
    [
        latencies(),
        latencies(),
        latencies(stale="it is 26 h old"),
        Latencies(),
        *(Latencies(map=latencies().map.subset(some)) for some in combinations(sorted(NODES), 4)),
    ]
)


def learned_at(rows_per_s: float) -> tuple[Reading, ...]:
    """Return exact saturation readings of a law by which a replica is good for so many rows/s."""
    return tuple(
        Reading(replicas=n, nd_max_ms=nd, rows_per_s=rows_per_s * n - 0.2 * nd, batch_rows=100.0 * n, weight=float(n))
        for n, nd in ((1, 0.0), (2, 10.0), (3, 50.0), (4, 200.0))
    )


evidence = st.sampled_from([(), learned_at(100.0), learned_at(400.0), learned_at(1000.0)])
nodes = st.fixed_dictionaries(
    {
        name: st.builds(
            Node,
            name=st.just(name),
            problem=st.sampled_from(["", "", "", "it is cordoned"]),
            reason=st.just(Reason.CORDONED),
        )
        for name in NODES
    }
)
readings = st.builds(
    lambda placement, throughput, offered, saturated, cpu: reading(
        placement, throughput=throughput, offered=throughput * offered, saturated=saturated, cpu_share=cpu
    ),
    placements,
    st.sampled_from([5.0, 50.0, 150.0]),
    st.sampled_from([0.5, 1.0, 2.0]),
    st.sampled_from([0.0, 0.5, 1.0]),
    st.sampled_from([None, 0.1, 0.7, 0.95]),
)


@settings(deadline=None, max_examples=examples(300))
@given(
    name=st.sampled_from(sorted(policy_names())),
    seen=readings,
    learned=evidence,
    known_map=maps,
    cluster_nodes=nodes,
    moved=st.sampled_from([False, False, False, True]),
)
def test_plan_never_swaps_a_running_replica(name, seen, learned, known_map, cluster_nodes, moved):
    chosen = policy_named(name, workflow(operator()), PolicyOptions())
    knowledge = Knowledge(readings={"op": learned}, latencies=known_map)
    live = seen.placement[:-1] if moved else seen.placement
    state = ClusterState(nodes=cluster_nodes, placements={"op": live})
    plan = chosen.plan(chosen.analyze(observe(seen), knowledge), state, knowledge)["op"]
    if plan.change is None:
        assert plan.placement == live
        return
    added, removed = set(plan.change.add), set(plan.change.remove)
    assert bool(added) != bool(removed)
    assert removed <= set(live)
    assert not added & set(live)
    assert set(plan.placement) == (set(live) | added) - removed
    assert all(not cluster_nodes[node].problem for node in added)
    if chosen.latency_aware:
        assert known_map.map is not None
        assert not (removed and known_map.map_status.stale)
