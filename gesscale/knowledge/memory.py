"""Knowledge that ends with the process, for simulations and tests."""

import math
from collections import deque
from collections.abc import Iterable, Mapping
from itertools import count, islice
from typing import Any, TypeVar

from gesscale.knowledge.keeping import (
    KnowledgeLimits,
    is_new_version,
    operators_of,
    order_of,
    unknown_order,
)
from gesscale.model.decision import Decision, ModelSummary
from gesscale.model.document import as_document, decision_document
from gesscale.model.order import Order
from gesscale.ports import Knowledge
from perfmodel import Model, Reading

T = TypeVar("T")


class MemoryKnowledge:
    """A `gesscale.ports.KnowledgeStore` without a file.

    A decision is kept as it is and becomes a document when it is asked for: simulations make many and ask for few.

    Parameters
    ----------
    limits
        How much is kept.
    known
        What it begins with.
    """

    def __init__(self, limits: KnowledgeLimits | None = None, known: Knowledge | None = None) -> None:
        self._limits = limits or KnowledgeLimits()
        # By operator, newest first: a full deque forgets at its other end.
        self._readings: dict[str, _Readings] = {}
        self._models: dict[str, deque[tuple[int, dict[str, Any]]]] = {}
        self._newest_model: dict[str, Model] = {}
        self._decisions: dict[str, deque[tuple[int, Decision]]] = {}
        self._orders: dict[str, tuple[Order, ...]] = {}
        self._memos: dict[str, tuple[float, str]] = {}
        self._numbers = count()
        if known is not None:
            self._take_over(known)

    def close(self) -> None:
        """Do nothing: there is no file."""

    def recall(self, now_s: float) -> Knowledge:
        """Return readings and orders that are not dated later than now."""
        readings = {name: kept.until(now_s) for name, kept in self._readings.items()}
        orders = {
            name: tuple(order for order in kept if order.at_s <= now_s) for name, kept in self._orders.items()
        }
        return Knowledge(
            readings={name: items for name, items in readings.items() if items},
            orders={name: items for name, items in orders.items() if items},
            memos={name: text for name, (at_s, text) in self._memos.items() if at_s <= now_s},
            order_unknown=frozenset(name for name, kept in self._orders.items() if kept[0].at_s > now_s),
        )

    def remember(self, decision: Decision) -> None:
        """Keep a decision and all it brought."""
        name, limits = decision.operator, self._limits
        for reading in decision.analysis.evidence:
            self.remember_reading(name, reading)
        if decision.analysis.model is not None:
            self._remember_model(name, decision.analysis.model, decision.at_s)
        if decision.analysis.memo is not None:
            self.remember_memo(name, decision.at_s, decision.analysis.memo)
        if (order := order_of(decision)) is not None:
            self.remember_order(name, order)
        decisions = self._decisions.setdefault(name, deque(maxlen=limits.decisions_per_operator))
        decisions.appendleft((next(self._numbers), decision))

    def _take_over(self, known: Knowledge) -> None:
        for name in operators_of(known):
            if name in known.memos:
                self.remember_memo(name, -math.inf, known.memos[name])
            for reading in reversed(known.readings.get(name, ())):
                self.remember_reading(name, reading)
            for order in reversed(known.orders.get(name, ())):
                self.remember_order(name, order)

    def remember_reading(self, operator: str, reading: Reading) -> None:
        """Keep a reading; the oldest of its kind is forgotten beyond the limit."""
        if operator not in self._readings:
            self._readings[operator] = _Readings(self._limits.readings_per_operator)
        self._readings[operator].add(reading)

    def remember_memo(self, operator: str, at_s: float, memo: str) -> None:
        """Keep the memo of a policy in the place of the one before."""
        self._memos[operator] = (at_s, memo)

    def remember_order(self, operator: str, order: Order) -> None:
        """Keep an order, whoever gave it."""
        kept = (order, *self._orders.get(operator, ()))
        self._orders[operator] = kept[: self._limits.orders_per_operator]

    def settle(self, operator: str, order: Order) -> None:
        """Keep an order that has settled or was given up.

        Raises
        ------
        KnowledgeError
            When no order of that operator and instant is known.
        """
        kept = self._orders.get(operator, ())
        if all(known.at_s != order.at_s for known in kept):
            raise unknown_order(operator, order)
        self._orders[operator] = tuple(order if known.at_s == order.at_s else known for known in kept)

    def decisions(self, operator: str | None = None, limit: int = 20) -> tuple[dict[str, Any], ...]:
        """Return the last decisions as documents, the newest first."""
        return tuple(decision_document(each) for each in _newest(self._decisions, operator, limit))

    def models(self, operator: str | None = None, limit: int = 20) -> tuple[dict[str, Any], ...]:
        """Return the last model versions as documents, the newest first."""
        return tuple(_newest(self._models, operator, limit))

    def _remember_model(self, name: str, model: Model, at_s: float) -> None:
        known, self._newest_model[name] = self._newest_model.get(name), model
        if known is not None and _tells(known) == _tells(model):
            return
        models = self._models.setdefault(name, deque(maxlen=self._limits.models_per_operator))
        document = as_document(ModelSummary.of(model))
        if is_new_version(models[0][1] if models else None, document):
            models.appendleft((next(self._numbers), {"at_s": at_s, "operator": name, **document}))


def _tells(model: Model) -> tuple[object, ...]:
    """Return what makes a new version of a model, see `is_new_version`."""
    return model.law, model.parameters, model.fitted, model.calibrated, model.drift


class _Readings:
    """An operator's readings, a bounded number of the saturated and of the others; handing out all is cheap."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._numbers = count()
        self._kept: dict[int, Reading] = {}  # oldest first
        self._numbers_of: dict[bool, deque[int]] = {True: deque(), False: deque()}

    def add(self, reading: Reading) -> None:
        """Keep a reading as the newest."""
        number, numbers = next(self._numbers), self._numbers_of[reading.saturated]
        self._kept[number] = reading
        numbers.append(number)
        if len(numbers) > self._most:
            del self._kept[numbers.popleft()]

    def until(self, now_s: float) -> tuple[Reading, ...]:
        """Return the readings that are not dated later, newest first."""
        return tuple(reading for reading in reversed(self._kept.values()) if reading.at_s <= now_s)


def _newest(kept: Mapping[str, Iterable[tuple[int, T]]], operator: str | None, limit: int) -> list[T]:
    found = [entry for name, entries in kept.items() if operator in {None, name} for entry in entries]
    found.sort(key=lambda entry: entry[0], reverse=True)
    return [kept for _, kept in islice(found, limit)]
