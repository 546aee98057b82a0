"""How many operators may be in change at once, and who goes first where more of them want a change."""

import threading
from collections.abc import Collection, Iterable, Mapping, Sequence

from gesscale.model.decision import Analysis, Plan, Reason, Verdict
from gesscale.plan.placement import unchanged
from gesscale.ports import Knowledge

#: These are never held back: what was ordered before is brought back, an operator starts, or a person says
#: so.
REPAIRS = frozenset({Reason.REPLICA_LOST, Reason.FIRST_PLACEMENT, Reason.OVERRIDDEN})


class ChangeBudget:
    """Who is in change now; shared by all loops of a process, from any thread.

    Parameters
    ----------
    most
        So many operators may be in change at once; None: any number.
    """

    def __init__(self, most: int | None = None) -> None:
        self.most = most
        self._lock = threading.Lock()
        self._changing: dict[str, set[str]] = {}

    def admit(self, scope: str, changing: Iterable[str], wanting: Sequence[str]) -> Collection[str]:
        """Admit as many operators as may begin a change."""
        with self._lock:
            held = self._changing[scope] = set(changing)
            admitted = []
            for name in wanting:
                count = sum(map(len, self._changing.values()))
                if name in held or self.most is None or count < self.most:
                    held.add(name)
                    admitted.append(name)
            return admitted

    def keep_only(self, scopes: Collection[str]) -> None:
        """Forget loops that are no longer there."""
        with self._lock:
            self._changing = {name: held for name, held in self._changing.items() if name in scopes}


def changing_now(operators: Iterable[str], knowledge: Knowledge, now_s: float, timeout_s: float) -> set[str]:
    """Return the operators whose newest order has not settled."""
    orders = {name: knowledge.pending(name) for name in operators}
    return {name for name, order in orders.items() if order and 0 <= now_s - order.at_s < timeout_s}


def most_urgent_first(plans: Iterable[Plan], analyses: Mapping[str, Analysis]) -> tuple[Plan, ...]:
    """Sort plans that compete for a change."""

    def urgency(plan: Plan) -> tuple[bool, float, float, str]:
        analysis = analyses[plan.operator]
        return analysis.verdict is not Verdict.MORE, -_saving(plan), -_waiting_s(analysis), plan.operator

    return tuple(sorted(plans, key=urgency))


def held_back(plan: Plan, others: Collection[str], most: int) -> Plan:
    """Return a plan without its change, which has to wait for those of others."""
    named = f": {', '.join(sorted(others))}" if others else " elsewhere"
    detail = f"at most {most} may be in change at once, and as many are{named}; else: {plan.reason}, {plan.detail}"
    return unchanged(plan, Reason.CHANGE_BUDGET_SPENT, detail)


def _saving(plan: Plan) -> float:
    """Return by how much the change lowers the bill, in replica-minutes; 0 for a policy without bills."""
    present = (bill.total for bill in plan.bills if bill.replicas == len(plan.before) and not bill.moved)
    least = min((bill.total for bill in plan.bills), default=0.0)
    return next(present, least) - least


def _waiting_s(analysis: Analysis) -> float:
    """Return how long the newest row has to wait at the present throughput."""
    reading = analysis.reading
    if reading is None or not reading.backlog_rows:
        return 0.0
    return reading.backlog_rows / max(reading.throughput_rows_per_s, 1.0)
