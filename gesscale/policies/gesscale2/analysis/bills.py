"""What each number of replicas is expected to cost: every candidate is played against every course of the load.

After its first step a candidate goes on as dynamic programming advises. The loop decides again at each step, so the
advice follows what the load does on a course, and does not know what it will do.
"""

from collections.abc import Sequence

from gesscale.model.decision import CandidateBill
from gesscale.policies.gesscale2.analysis.rollout import Game, Paid, play


def bills(games: Sequence[Game]) -> list[tuple[CandidateBill, ...]]:
    """Return the bills of the candidates of many operators."""
    return [_bills(game, paid) for game, paid in zip(games, play(games), strict=True)]


def _bills(game: Game, paid: Paid) -> tuple[CandidateBill, ...]:
    outlook, candidates = game
    late, changes = (outlook.late_minute_price * paid.late_minutes, outlook.change.replica_minutes * paid.changes)
    total = paid.replica_minutes + late + changes
    expected = [(part @ outlook.weights).tolist() for part in (*paid, total)]
    return tuple(
        CandidateBill(
            replicas=candidate.replicas,
            replica_minutes=replicas,
            late_minutes=late_minutes,
            changes=changed,
            total=bill,
        )
        for candidate, replicas, late_minutes, changed, bill in zip(candidates, *expected, strict=True)
    )
