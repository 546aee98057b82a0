"""Knowledge in a SQLite file: a table of JSON documents, bounded, whole after a kill, readable while it is written."""

import json
import logging
import math
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from threading import RLock
from typing import Any, NamedTuple, Self

from pydantic import ValidationError

from gesscale.knowledge.file import (
    CorruptFileError,
    DocumentError,
    begin_again,
    faults_in_words,
    open_for_reading,
    open_for_writing,
)
from gesscale.knowledge.memory import (
    KnowledgeLimits,
    MemoryKnowledge,
    is_new_version,
    operators_of,
    order_of,
    unknown_order,
)
from gesscale.model.decision import Decision, ModelSummary
from gesscale.model.document import codec, json_of
from gesscale.model.order import Order
from gesscale.ports import Knowledge
from gesscale.validation import first_problem
from perfmodel import Reading

_LOG = logging.getLogger(__name__)


class _Kind(StrEnum):
    """What a document is. Readings are counted apart, so that a long calm does not push out the saturated ones."""

    SATURATED_READING = "saturated reading"
    OTHER_READING = "other reading"
    ORDER = "order"
    MEMO = "memo"
    MODEL = "model"
    DECISION = "decision"


_FORMS: dict[_Kind, type[Any]] = {
    _Kind.SATURATED_READING: Reading,
    _Kind.OTHER_READING: Reading,
    _Kind.ORDER: Order,
    _Kind.MEMO: str,
    _Kind.MODEL: ModelSummary,
    _Kind.DECISION: Decision,
}
_RECALLED = (_Kind.SATURATED_READING, _Kind.OTHER_READING, _Kind.ORDER, _Kind.MEMO)


class _Entry(NamedTuple):
    """A row of the table, without its id. A higher id arrived later: a clock may step back, an id does not."""

    kind: _Kind
    operator: str
    at_s: float
    document: str


def _entry_of(kind: _Kind, operator: str, at_s: float, value: object) -> _Entry:
    return _Entry(kind, operator, at_s, json_of(value))


def _readings(operator: str, readings: Iterable[Reading]) -> Iterator[_Entry]:
    for each in readings:
        kind = _Kind.SATURATED_READING if each.saturated else _Kind.OTHER_READING
        yield _entry_of(kind, operator, each.at_s, each)


class _KnowledgeFile:
    """An open knowledge file; may be shared by threads."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.path = path
        self._connection = connection
        self._lock = RLock()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def decisions(self, operator: str | None = None, limit: int = 20) -> tuple[dict[str, Any], ...]:
        """Return the last decisions of an operator, or of all, the newest first, as documents."""
        return tuple(json.loads(each.document) for each in self._newest(_Kind.DECISION, operator, limit))

    def models(self, operator: str | None = None, limit: int = 20) -> tuple[dict[str, Any], ...]:
        """Return the last versions of the model, the newest first, as documents with ``at_s`` and ``operator``."""
        return tuple(
            {"at_s": each.at_s, "operator": each.operator, **json.loads(each.document)}
            for each in self._newest(_Kind.MODEL, operator, limit)
        )

    def _newest(self, kind: _Kind, operator: str | None, limit: int) -> list[_Entry]:
        sql = "WHERE kind = ? AND (?2 IS NULL OR operator = ?2) ORDER BY id DESC LIMIT ?3"
        name = None if operator is None else operator.encode("utf-8", "replace").decode()
        with self._lock, faults_in_words(self.path):
            return [entry for entry, _ in self._read(sql, kind.value, name, limit)]

    def _load(self, memory: MemoryKnowledge, *kinds: _Kind) -> MemoryKnowledge:
        """Read and check all documents of some kinds, the oldest first; put into memory what it takes."""
        places = ", ".join("?" * len(kinds))
        with self._lock, faults_in_words(self.path):
            for entry, value in self._read(f"WHERE kind IN ({places}) ORDER BY id", *kinds):
                if isinstance(value, Reading):
                    memory.remember_reading(entry.operator, value)
                elif isinstance(value, Order):
                    memory.remember_order(entry.operator, value)
                elif entry.kind is _Kind.MEMO:
                    memory.remember_memo(entry.operator, entry.at_s, value)
        return memory

    def _read(self, sql: str, *values: object) -> Iterator[tuple[_Entry, Any]]:
        # A question that is left open would keep a corrupt file open after it was set aside.
        with closing(self._connection.cursor()) as cursor:
            cursor.execute(f"SELECT id, kind, operator, at_s, document FROM knowledge {sql}", values)  # noqa: S608 - ours
            for row in cursor:
                yield _checked(*row)


def _checked(number: int, kind: str, operator: str, at_s: float, document: str) -> tuple[_Entry, Any]:
    try:
        entry = _Entry(_Kind(kind), operator, at_s, document)
        return entry, codec(_FORMS[entry.kind]).validate_json(document)
    except ValidationError as error:
        raise DocumentError(f"row {number}, {kind}: {first_problem(error)}") from None
    except ValueError as error:
        raise DocumentError(f"row {number}: {error}") from None


class SqliteHistory(_KnowledgeFile):
    """What a knowledge file holds, also while a loop writes it; changes and creates nothing.

    Raises
    ------
    KnowledgeError
        When it is no knowledge file or cannot be read. The methods raise it too.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(path, open_for_reading(path))

    def recall(self, now_s: float) -> Knowledge:
        """Return what was known at an instant: a replay sees only its own past."""
        everything = 1 << 30
        limits = KnowledgeLimits(readings_per_operator=everything, orders_per_operator=everything)
        return self._load(MemoryKnowledge(limits), *_RECALLED).recall(now_s)


class SqliteKnowledge(_KnowledgeFile):
    """A `gesscale.ports.KnowledgeStore` in a file; may be shared by threads, written by one process.

    What the loop recalls is held in memory; the file is read when it is opened. Where it turns out to be corrupt
    later, a new one is begun with what is held.

    Raises
    ------
    KnowledgeError
        When the file cannot be opened or written, belongs to another program, or has a newer schema. The
        methods raise it too.
    """

    def __init__(self, path: Path, *, now_s: float, limits: KnowledgeLimits | None = None) -> None:
        super().__init__(path, open_for_writing(path, now_s))
        self._limits = limits or KnowledgeLimits()
        self._now_s = now_s
        self._memory = self._empty()
        try:
            self._load(self._memory, *_Kind)
        except CorruptFileError as fault:
            self._memory = self._empty()
            self._begin_again(fault)

    def recall(self, now_s: float) -> Knowledge:
        """Return readings and orders that are not dated later than now, whatever becomes of the file."""
        with self._lock:
            self._now_s = now_s
            return self._memory.recall(now_s)

    def remember(self, decision: Decision) -> None:
        """Keep a decision and all it brought, in one transaction."""
        name, analysis = decision.operator, decision.analysis
        with self._lock:

            def write() -> None:
                self._keep(_readings(name, analysis.evidence))
                if (order := order_of(decision)) is not None:
                    self._keep([_entry_of(_Kind.ORDER, name, order.at_s, order)])
                if analysis.memo is not None:
                    self._keep([_entry_of(_Kind.MEMO, name, decision.at_s, str(analysis.memo))])
                if analysis.model is not None:
                    model = _entry_of(_Kind.MODEL, name, decision.at_s, ModelSummary.of(analysis.model))
                    last = self._newest(_Kind.MODEL, name, 1)
                    if not last or is_new_version(json.loads(last[0].document), json.loads(model.document)):
                        self._keep([model])
                self._keep([_entry_of(_Kind.DECISION, name, decision.at_s, decision)])

            self._write(write)
            self._memory.remember(decision)

    def settle(self, operator: str, order: Order) -> None:
        """Keep an order that has settled or was given up.

        Raises
        ------
        KnowledgeError
            When no order of that operator and instant is known.
        """

        def write() -> None:
            changed = self._connection.execute(
                "UPDATE knowledge SET document = ? WHERE kind = ? AND operator = ? AND at_s = ?",
                (json_of(order), _Kind.ORDER.value, operator, order.at_s),
            )
            if changed.rowcount == 0:
                raise unknown_order(operator, order)

        with self._lock:
            self._write(write)
            self._memory.settle(operator, order)

    def _empty(self) -> MemoryKnowledge:
        return MemoryKnowledge(replace(self._limits, decisions_per_operator=1, models_per_operator=1))

    def _limit(self, kind: _Kind) -> int:
        limits = self._limits
        return {
            _Kind.ORDER: limits.orders_per_operator,
            _Kind.MEMO: 1,
            _Kind.MODEL: limits.models_per_operator,
            _Kind.DECISION: limits.decisions_per_operator,
        }.get(kind, limits.readings_per_operator)

    def _keep(self, entries: Iterable[_Entry]) -> None:
        """Add rows, and forget the oldest of their kinds and operators beyond the limit."""
        listed = list(entries)
        self._connection.executemany(
            "INSERT INTO knowledge (kind, operator, at_s, document) VALUES (?, ?, ?, ?)", listed
        )
        for kind, operator in {(each.kind, each.operator) for each in listed}:
            self._connection.execute(
                "DELETE FROM knowledge WHERE kind = ?1 AND operator = ?2 AND id <= (SELECT id FROM knowledge "
                "WHERE kind = ?1 AND operator = ?2 ORDER BY id DESC LIMIT 1 OFFSET ?3)",
                (kind.value, operator, self._limit(kind)),
            )

    def _write(self, write: Callable[[], None]) -> None:
        """Write in one transaction; where the file turns out to be corrupt, into a new one."""
        try:
            with self._transaction():
                write()
        except CorruptFileError as fault:
            self._begin_again(fault)
            with self._transaction():
                write()

    def _begin_again(self, fault: CorruptFileError) -> None:
        with suppress(sqlite3.Error):
            self._connection.close()
        self._connection = begin_again(self.path, fault, self._now_s)
        known = self._memory.recall(math.inf)
        with self._transaction():
            for name in operators_of(known):
                self._keep(_readings(name, reversed(known.readings.get(name, ()))))
                orders = reversed(known.orders.get(name, ()))
                self._keep(_entry_of(_Kind.ORDER, name, order.at_s, order) for order in orders)
                if name in known.memos:
                    self._keep([_entry_of(_Kind.MEMO, name, 0.0, str(known.memos[name]))])

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        with faults_in_words(self.path):
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._connection.execute("COMMIT")
            finally:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
