"""Knowledge that ends with the process, for simulations and tests."""

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import count, islice
from typing import Any, TypeVar

from gesscale.decision import Decision
from gesscale.document import decision_document, model_document
from gesscale.errors import KnowledgeError
from gesscale.knowledge.keeping import (
    KnowledgeLimits,
    is_new_version,
    newest_of_each_kind,
    reconfiguration_of,
)
from gesscale.ports import Knowledge, Reconfiguration
from perfmodel import Reading

T = TypeVar("T", Reading, Reconfiguration)
_Numbered = tuple[int, dict[str, Any]]


class MemoryKnowledge:
    """A `gesscale.ports.KnowledgeStore` without a file.

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
        self._readings: dict[str, tuple[Reading, ...]] = {}
        self._models: dict[str, deque[_Numbered]] = {}
        self._decisions: dict[str, deque[_Numbered]] = {}
        self._reconfigurations: dict[str, deque[Reconfiguration]] = {}
        self._numbers = count()
        if known is not None:
            self._readings = dict(known.readings)
            self._reconfigurations = {name: deque(items) for name, items in known.reconfigurations.items()}

    def close(self) -> None:
        """Do nothing: there is no file."""

    def recall(self, now_s: float) -> Knowledge:
        """Return readings and changes that are not dated later than now."""
        return Knowledge(
            readings=_until(self._readings, now_s),
            reconfigurations=_until(self._reconfigurations, now_s),
        )

    def remember(self, decision: Decision) -> None:
        """Keep a decision and all it brought."""
        name, limits = decision.operator, self._limits
        readings = (*reversed(decision.analysis.evidence), *self._readings.get(name, ()))
        self._readings[name] = newest_of_each_kind(readings, limits.readings_per_operator)
        if decision.analysis.model is not None:
            models = self._models.setdefault(name, deque(maxlen=limits.models_per_operator))
            document = model_document(decision.analysis.model)
            if is_new_version(models[0][1] if models else None, document):
                entry = {"at_s": decision.at_s, "operator": name, **document}
                models.appendleft((next(self._numbers), entry))
        if (change := reconfiguration_of(decision)) is not None:
            changes = self._reconfigurations.setdefault(
                name, deque(maxlen=limits.reconfigurations_per_operator)
            )
            changes.appendleft(change)
        decisions = self._decisions.setdefault(name, deque(maxlen=limits.decisions_per_operator))
        decisions.appendleft((next(self._numbers), decision_document(decision)))

    def settle(self, reconfiguration: Reconfiguration) -> None:
        """Keep a measured downtime.

        Raises
        ------
        KnowledgeError
            When no change of that operator and instant is known.
        """
        changes = self._reconfigurations.get(reconfiguration.operator, deque())
        for index, known in enumerate(changes):
            if known.at_s == reconfiguration.at_s:
                changes[index] = replace(known, downtime_s=reconfiguration.downtime_s)
                return
        message = f"no change of operator {reconfiguration.operator!r} at {reconfiguration.at_s} s is known"
        raise KnowledgeError(message)

    def decisions(self, operator: str | None = None, limit: int = 20) -> tuple[dict[str, Any], ...]:
        """Return the last decisions as documents, the newest first."""
        return _newest(self._decisions, operator, limit)

    def models(self, operator: str | None = None, limit: int = 20) -> tuple[dict[str, Any], ...]:
        """Return the last model versions as documents, the newest first."""
        return _newest(self._models, operator, limit)


def _until(kept: Mapping[str, Iterable[T]], now_s: float) -> dict[str, tuple[T, ...]]:
    past = {name: tuple(item for item in items if item.at_s <= now_s) for name, items in kept.items()}
    return {name: items for name, items in past.items() if items}


def _newest(
    kept: Mapping[str, Iterable[_Numbered]], operator: str | None, limit: int
) -> tuple[dict[str, Any], ...]:
    found = [entry for name, entries in kept.items() if operator in {None, name} for entry in entries]
    found.sort(key=lambda entry: entry[0], reverse=True)
    return tuple(document for _, document in islice(found, limit))
