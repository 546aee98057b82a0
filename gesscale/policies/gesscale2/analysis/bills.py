"""What each number of replicas is expected to cost: every candidate is played against every course of the load.

After its first step a candidate goes on by simple rules; where a change stops the job, as dynamic programming advises.
On each course the rule counts that is the cheapest there (hindsight optimization; Chong, Givan and Chang, A framework
for simulation-based network control via hindsight optimization, CDC 2000). The loop decides again at each step, so it
follows what the load does: one rule for all courses would charge a candidate for what nobody would do.
"""

from collections.abc import Sequence

import numpy as np

from gesscale.decision import CandidateBill
from gesscale.policies.gesscale2.analysis.outlook import Array, Counts
from gesscale.policies.gesscale2.analysis.rollout import Game, Paid, play


def cheapest_rules(total: Array, weights: Array) -> Counts:
    """Return by which rule each candidate goes on, on each course.

    Parameters
    ----------
    total
        Shape ``(candidates, rules, c)``: what each pays, replica-minutes.
    weights
        Shape ``(c,)``: of the courses. In hindsight they do not matter.

    Returns
    -------
    ndarray
        Shape ``(candidates, c)``.
    """
    del weights
    cheapest: Counts = np.argmin(total, axis=1)
    return cheapest


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
    total = paid.replica_minutes + late + changes
    best = cheapest_rules(total, outlook.weights)[:, None]
    expected = [np.take_along_axis(part, best, axis=1)[:, 0] @ outlook.weights for part in (*paid, total)]
    return tuple(
        CandidateBill(
            replicas=candidate.replicas,
            replica_minutes=replicas,
            late_minutes=late_minutes,
            changes=changed,
            total=bill,
        )
        for candidate, replicas, late_minutes, changed, bill in zip(
            candidates, *(each.tolist() for each in expected), strict=True
        )
    )
