"""Expected cost of each number of replicas: simulates every candidate on every scenario of the load.

After the first step a candidate follows the scaling table. Like the loop, which decides again in each step, the table
reacts to the load of a scenario but cannot foresee it.
"""

from collections.abc import Sequence

from gesscale.model.decision import CandidateCost
from gesscale.policies.gesscale.analysis.rollout import Rollout, RolloutCost, simulate_rollouts


def estimate_costs(rollouts: Sequence[Rollout]) -> list[tuple[CandidateCost, ...]]:
    """Return the expected costs of the candidates of many operators."""
    return [_costs_of(rollout, cost) for rollout, cost in zip(rollouts, simulate_rollouts(rollouts), strict=True)]


def _costs_of(rollout: Rollout, cost: RolloutCost) -> tuple[CandidateCost, ...]:
    horizon, candidates = rollout
    late, changes = (horizon.late_minute_price * cost.late_minutes, horizon.change.replica_minutes * cost.changes)
    total = cost.replica_minutes + late + changes
    expected = [(part @ horizon.weights).tolist() for part in (*cost, total)]
    return tuple(
        CandidateCost(
            replicas=candidate.replicas,
            replica_minutes=replicas,
            late_minutes=late_minutes,
            changes=changed,
            total=total_cost,
        )
        for candidate, replicas, late_minutes, changed, total_cost in zip(candidates, *expected, strict=True)
    )
