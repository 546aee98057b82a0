"""What each number of replicas is expected to cost: every candidate is played against every course of the load.

After its first step a candidate goes on by simple rules, of which the best counts (parallel rollout; Bertsekas,
Reinforcement Learning and Optimal Control, 2019, section 2.4).
"""

from collections.abc import Sequence

import numpy as np

from gesscale.decision import CandidateBill
from gesscale.policies.gesscale2.analysis.rollout import Game, Paid, play


def bills(games: Sequence[Game]) -> list[tuple[CandidateBill, ...]]:
    """Return the bills of the candidates of many operators.

    Parameters
    ----------
    games
        Operators with their loads and candidates; each is billed as it would be alone.

    Returns
    -------
    list of tuple of CandidateBill
        For each game, in the order of its candidates.
    """
    return [_bills(game, paid) for game, paid in zip(games, play(games), strict=True)]


def _bills(game: Game, paid: Paid) -> tuple[CandidateBill, ...]:
    outlook, candidates = game
    late, changes = (
        outlook.late_minute_price * paid.late_minutes,
        outlook.change.replica_minutes * paid.changes,
    )
    expected = (paid.replica_minutes + late + changes) @ outlook.weights
    best = np.argmin(expected, axis=1)
    picked = np.arange(len(candidates)), best
    parts = [(part @ outlook.weights)[picked].tolist() for part in paid]
    return tuple(
        CandidateBill(
            replicas=candidate.replicas,
            replica_minutes=replicas,
            late_minutes=late,
            changes=changes,
            total=float(total),
        )
        for candidate, replicas, late, changes, total in zip(
            candidates, *parts, expected[picked], strict=True
        )
    )
