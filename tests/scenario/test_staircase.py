"""Every policy that follows a load, under one that climbs and comes down again, on both simulated engines."""

import pytest
from staircase import climb, supply

from gesscale.policies import policy_names

NO_FOLLOWERS = {"static", "keda-kafka", "trigger-dra"}
FOLLOWERS = sorted(name for name in policy_names() if name not in NO_FOLLOWERS and not name.startswith("thr-"))
"""All but who never changes; thresholds, which sleep where replicas wait: docs/evidence/where_policies_break.md; a
scaler by lag, which removes all replicas but one whenever no row waits; and one that doubles what it adds."""


@pytest.mark.parametrize("policy", FOLLOWERS)
@pytest.mark.parametrize(("engine", "operator"), [("spark", {}), ("flink", {"restart": "30s"})])
def test_it_follows_up_and_down(policy, engine, operator):
    result = climb(policy, engine, {"operator": operator})
    assert not result.lost
    counts = supply(result)
    # 600 points; the first step ends at 67, the peak is from 267 to 333. The first and the last step are a fifth of the
    # peak, and the peak needs 80 % of what eight replicas can do: one or two replicas, and six or seven.
    assert max(counts[:60]) <= 3
    # lcp pays the stop of a change for each replica that it adds.
    assert min(counts[300:330]) >= (5 if (policy, engine) == ("lcp", "flink") else 6)
    # Two are needed. On Flink gesscale keeps what costs less than the late minutes of one more stop;
    # flink-autoscaler waits an hour with each removal, mdp removes one at a time.
    assert counts[-1] <= {"hpa-varga": 4, "gesscale": 5, "flink-autoscaler": 8, "mdp": 4}.get(policy, 3)
    assert counts.index(max(counts)) > 133  # not before the third step
    assert result.metrics["drained"] is True
    # Of four replicas that are needed in the mean, less than half of one is missing.
    assert result.metrics["accuracy_U"] < 0.5


# numaflow sizes the second by a buffer of 30,000 rows, which is larger than the plant's: it stays at one.
@pytest.mark.parametrize("policy", [name for name in FOLLOWERS if name != "numaflow"])
def test_it_keeps_two_operators_up(policy):
    # Both of the same weight are overloaded at once, and the second holds the first back.
    operators = {"parse": {"selectivity": 0.5, "restart": "30s"}, "join": {"upstream": ["parse"]}}
    result = climb(policy, "flink", operators)
    assert not result.lost
    counts = supply(result)
    assert max(counts) >= 6
    # dhalion lets all keep what they have while it sees one catch up.
    # On Flink gesscale keeps what costs less than one more stop, for an objective of half a minute each.
    # flink-autoscaler removes nothing for an hour.
    assert policy in {"dhalion", "flink-autoscaler"} or counts[-1] <= (6 if policy == "gesscale" else 4)
    assert result.metrics["drained"] is True
    # So many replicas were missing in the mean, of both together, which need four each.
    assert result.metrics["accuracy_U"] < 1.0
