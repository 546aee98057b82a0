"""What each number of replicas is expected to cost: every candidate is played against every scenario of the load.

After its first step a candidate goes on as dynamic programming advises. The loop decides again at each step, so the
advice follows what the load does on a scenario, and does not know what it will do.
"""

from collections.abc import Sequence

from gesscale.model.decision import CandidateCost
from gesscale.policies.gesscale2.analysis.rollout import Rollout, RolloutCost, simulate_rollouts


def estimate_costs(rollouts: Sequence[Rollout]) -> list[tuple[CandidateCost, ...]]:
    """Return the bills of the candidates of many operators."""
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
            total=bill,
        )
        for candidate, replicas, late_minutes, changed, bill in zip(candidates, *expected, strict=True)
    )
