"""Limits how many operators change at the same time, and puts the most urgent changes first."""

import threading
from collections.abc import Collection, Iterable, Mapping, Sequence

from gesscale.model.decision import Analysis, Plan, Reason, Verdict
from gesscale.plan.node_ranking import unchanged_plan
from gesscale.ports import Knowledge

#: Changes that the budget never defers: lost replicas, first placements and overrides.
REPAIRS = frozenset({Reason.REPLICA_LOST, Reason.FIRST_PLACEMENT, Reason.OVERRIDDEN, Reason.OVERRIDE_UNMET})


class ChangeBudget:
    """Limit on operators that change at the same time. All loops of a process share it, from any thread.

    Parameters
    ----------
    limit
        Maximum number of operators in change; None means no limit.
    """

    def __init__(self, limit: int | None = None) -> None:
        self.limit = limit
        self._lock = threading.Lock()
        self._changing: dict[str, set[str]] = {}

    def admit(self, loop: str, changing: Iterable[str], requesting: Sequence[str]) -> Collection[str]:
        """Return the operators of a loop that may begin a change.

        Parameters
        ----------
        loop
            The key of the loop.
        changing
            Its operators that are already in change.
        requesting
            Its operators that request a change, the most urgent first.
        """
        with self._lock:
            operators = self._changing[loop] = set(changing)
            admitted = []
            for name in requesting:
                count = sum(map(len, self._changing.values()))
                if name in operators or self.limit is None or count < self.limit:
                    operators.add(name)
                    admitted.append(name)
            return admitted

    def keep_only(self, loops: Collection[str]) -> None:
        """Forget all other loops, which have ended."""
        with self._lock:
            self._changing = {name: operators for name, operators in self._changing.items() if name in loops}


def changing_now(operators: Iterable[str], knowledge: Knowledge, now_s: float, timeout_s: float) -> set[str]:
    """Return the operators whose newest order has not settled."""
    orders = {name: knowledge.pending(name) for name in operators}
    return {name for name, order in orders.items() if order and 0 <= now_s - order.at_s < timeout_s}


def most_urgent_first(plans: Iterable[Plan], analyses: Mapping[str, Analysis]) -> tuple[Plan, ...]:
    """Sort plans that compete for the change budget, the most urgent first."""

    def urgency(plan: Plan) -> tuple[bool, float, float, str]:
        analysis = analyses[plan.operator]
        return analysis.verdict is not Verdict.MORE, -_earlier_s(plan), -_waiting_s(analysis), plan.operator

    return tuple(sorted(plans, key=urgency))


def defer_change(plan: Plan, changing: Collection[str], limit: int) -> Plan:
    """Return a plan without its change, which waits until other operators have changed."""
    names = f" ({', '.join(sorted(changing))})" if changing else ""
    detail = f"deferred: {limit} operators are changing, the limit{names}; planned: {plan.reason}, {plan.detail}"
    return unchanged_plan(plan, Reason.CHANGE_BUDGET_SPENT, detail)


def _earlier_s(plan: Plan) -> float:
    """Return by how much less the rows are late after the change; 0 for a policy that compares no candidates."""
    present, chosen = plan.candidate_of(plan.before), plan.candidate_of(plan.placement)
    return present.late_s - chosen.late_s if present is not None and chosen is not None else 0.0


def _waiting_s(analysis: Analysis) -> float:
    """Return how long the newest row waits at the present throughput."""
    reading = analysis.reading
    if reading is None or not reading.backlog_rows:
        return 0.0
    return reading.backlog_rows / max(reading.throughput_rows_per_s, 1.0)
