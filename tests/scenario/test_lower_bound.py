"""No policy costs less than the lower bound, in the arena's simulated worlds."""

import pytest
from staircase import climb

from testbed.arena.names import CHANGE_PRICE, LATE_MINUTE_PRICE


@pytest.mark.parametrize("policy", ["static", "ds2", "lcp", "mdp-backlog", "gesscale", "oracle"])
@pytest.mark.parametrize(("engine", "operator"), [("spark", {}), ("flink", {"restart": "30s"})])
def test_no_policy_costs_less_than_the_bound(policy, engine, operator):
    metrics = climb(policy, engine, {"operator": operator}).metrics
    late_min = metrics["lag_above_slo_s"] / 60
    replicas_min = metrics["node_seconds"] / 60
    cost = replicas_min + LATE_MINUTE_PRICE * late_min + CHANGE_PRICE * metrics["reconfigurations"]
    assert 0 < metrics["lower_bound_cost"] <= cost
