"""Rules that select what is kept of a decision, and a knowledge store in memory."""

import math
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gesscale.errors import KnowledgeError
from gesscale.model.decision import Decision
from gesscale.model.order import Order
from gesscale.ports import Knowledge
from perfmodel import Reading

#: Relative change of a parameter that makes a new version of a model; smaller changes are noise.
PARAMETER_TOLERANCE = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class KnowledgeLimits:
    """Maximum number of rows of each kind per operator; the oldest are forgotten. The settings explain the defaults."""

    readings_per_operator: int = 200
    models_per_operator: int = 100
    decisions_per_operator: int = 10_000
    orders_per_operator: int = 200


def order_of(decision: Decision) -> Order | None:
    """Return the order of a decision; None if it did not act."""
    if not decision.acted:
        return None
    plan = decision.plan
    return Order(placement=plan.placement, at_s=decision.at_s, before=len(plan.before), reason=plan.reason.value)


def unknown_order(operator: str, order: Order) -> KnowledgeError:
    """Return the error of a store that has no such order to settle."""
    return KnowledgeError("knowledge-order-unknown", operator=operator, at_s=order.at_s)


def operators_of(known: Knowledge) -> tuple[str, ...]:
    """Return the operators with any knowledge, by name."""
    return tuple(sorted(known.readings.keys() | known.orders.keys() | known.memos.keys()))


def is_new_version(previous: Mapping[str, Any] | None, model: Mapping[str, Any]) -> bool:
    """Return whether a model differs noticeably from the last kept version.

    Parameters
    ----------
    previous, model
        Documents of `perfmodel.ModelSummary`; None without a previous one.
    """
    if previous is None or any(previous[key] != model[key] for key in ("law", "fitted")):
        return True
    before, after = _parameters(previous), _parameters(model)
    return before.keys() != after.keys() or any(_moved(before[key], after[key]) for key in after)


def _parameters(model: Mapping[str, Any]) -> dict[tuple[str, str], float]:
    """Return the parameters that the evidence identifies, by law and name."""
    return {
        (law["law"], each["name"]): each["value"]
        for law in model["laws"]
        for each in law["parameters"]
        if each["identified"]
    }


def _moved(before: float, after: float) -> bool:
    return abs(after - before) > PARAMETER_TOLERANCE * max(abs(before), abs(after))


class MemoryKnowledge:
    """A `gesscale.ports.KnowledgeStore` without a file, and without a history of decisions and models."""

    def __init__(self, limits: KnowledgeLimits | None = None, known: Knowledge | None = None) -> None:
        self._limits = limits or KnowledgeLimits()
        # By operator, newest first: a full deque forgets at its other end.
        self._readings: dict[str, deque[Reading]] = {}
        self._orders: dict[str, tuple[Order, ...]] = {}
        self._memos: dict[str, tuple[float, str]] = {}
        if known is not None:
            self._load(known)

    def close(self) -> None:
        """Do nothing: there is no file."""

    def recall(self, now_s: float) -> Knowledge:
        """Return readings and orders that are not later than now."""
        readings = {
            name: tuple(reading for reading in stored if reading.at_s <= now_s)
            for name, stored in self._readings.items()
        }
        orders = {
            name: tuple(order for order in stored if order.at_s <= now_s) for name, stored in self._orders.items()
        }
        return Knowledge(
            readings={name: items for name, items in readings.items() if items},
            orders={name: items for name, items in orders.items() if items},
            memos={name: text for name, (at_s, text) in self._memos.items() if at_s <= now_s},
            order_unknown=frozenset(name for name, stored in self._orders.items() if stored[0].at_s > now_s),
        )

    def remember(self, decision: Decision) -> None:
        """Keep what later steps need of a decision."""
        name = decision.operator
        for reading in decision.analysis.evidence:
            self.remember_reading(name, reading)
        if decision.analysis.memo is not None:
            self.remember_memo(name, decision.at_s, decision.analysis.memo)
        if (order := order_of(decision)) is not None:
            self.remember_order(name, order)

    def _load(self, known: Knowledge) -> None:
        for name in operators_of(known):
            if name in known.memos:
                self.remember_memo(name, -math.inf, known.memos[name])
            for reading in reversed(known.readings.get(name, ())):
                self.remember_reading(name, reading)
            for order in reversed(known.orders.get(name, ())):
                self.remember_order(name, order)

    def remember_reading(self, operator: str, reading: Reading) -> None:
        """Keep a reading; forget the oldest beyond the limit."""
        if operator not in self._readings:
            self._readings[operator] = deque(maxlen=self._limits.readings_per_operator)
        self._readings[operator].appendleft(reading)

    def remember_memo(self, operator: str, at_s: float, memo: str) -> None:
        """Replace the memo of a policy."""
        self._memos[operator] = (at_s, memo)

    def remember_order(self, operator: str, order: Order) -> None:
        """Keep an order."""
        orders = (order, *self._orders.get(operator, ()))
        self._orders[operator] = orders[: self._limits.orders_per_operator]

    def settle(self, operator: str, order: Order) -> None:
        """Keep an order that has settled or timed out.

        Raises
        ------
        KnowledgeError
            If no order of that operator and instant is known.
        """
        orders = self._orders.get(operator, ())
        if all(known.at_s != order.at_s for known in orders):
            raise unknown_order(operator, order)
        self._orders[operator] = tuple(order if known.at_s == order.at_s else known for known in orders)
