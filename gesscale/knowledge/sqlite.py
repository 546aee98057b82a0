"""Stores knowledge in an SQLite file: a bounded table of JSON documents that survives a kill and can be read live."""

import json
import logging
import math
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from enum import StrEnum
from pathlib import Path
from threading import RLock
from typing import Any, NamedTuple, Self

from pydantic import ValidationError

from gesscale.knowledge.file import (
    CorruptFileError,
    DocumentError,
    open_for_reading,
    open_for_writing,
    replace_corrupt,
    sqlite_errors,
)
from gesscale.knowledge.memory import (
    KnowledgeLimits,
    MemoryKnowledge,
    is_new_version,
    operators_of,
    order_of,
    unknown_order,
)
from gesscale.model.decision import Decision
from gesscale.model.document import codec, json_of
from gesscale.model.order import Order
from gesscale.ports import Knowledge
from gesscale.validation import first_problem
from perfmodel import ModelSummary, Reading

_LOG = logging.getLogger(__name__)


class _Kind(StrEnum):
    """Kind of a document."""

    READING = "reading"
    ORDER = "order"
    MEMO = "memo"
    MODEL = "model"
    DECISION = "decision"


_TYPES: dict[_Kind, type[Any]] = {
    _Kind.READING: Reading,
    _Kind.ORDER: Order,
    _Kind.MEMO: str,
    _Kind.MODEL: ModelSummary,
    _Kind.DECISION: Decision,
}
_RECALLED = (_Kind.READING, _Kind.ORDER, _Kind.MEMO)


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
        yield _entry_of(_Kind.READING, operator, each.at_s, each)


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
        with self._lock, sqlite_errors(self.path):
            return [entry for entry, _ in self._read(sql, kind.value, name, limit)]

    def _load(self, memory: MemoryKnowledge, *kinds: _Kind) -> MemoryKnowledge:
        """Read and check all documents of some kinds, the oldest first, and keep them in memory."""
        places = ", ".join("?" * len(kinds))
        with self._lock, sqlite_errors(self.path):
            for entry, value in self._read(f"WHERE kind IN ({places}) ORDER BY id", *kinds):
                if isinstance(value, Reading):
                    memory.remember_reading(entry.operator, value)
                elif isinstance(value, Order):
                    memory.remember_order(entry.operator, value)
                elif entry.kind is _Kind.MEMO:
                    memory.remember_memo(entry.operator, entry.at_s, value)
        return memory

    def _read(self, sql: str, *values: object) -> Iterator[tuple[_Entry, Any]]:
        # An open cursor would keep a corrupt file open after it was renamed.
        with closing(self._connection.cursor()) as cursor:
            cursor.execute(f"SELECT id, kind, operator, at_s, document FROM knowledge {sql}", values)  # noqa: S608 - ours
            for row in cursor:
                yield _checked(*row)


def _checked(number: int, kind: str, operator: str, at_s: float, document: str) -> tuple[_Entry, Any]:
    try:
        entry = _Entry(_Kind(kind), operator, at_s, document)
        return entry, codec(_TYPES[entry.kind]).validate_json(document)
    except ValidationError as error:
        raise DocumentError(f"row {number}, {kind}: {first_problem(error)}") from None
    except ValueError as error:
        raise DocumentError(f"row {number}: {error}") from None


class SqliteHistory(_KnowledgeFile):
    """Reads a knowledge file, also while a loop writes it; changes and creates nothing.

    Raises
    ------
    KnowledgeError
        If it is not a knowledge file or cannot be read. The methods raise it too.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(path, open_for_reading(path))

    def recall(self, now_s: float) -> Knowledge:
        """Return the knowledge at an instant, for a replay."""
        everything = 1 << 30
        limits = KnowledgeLimits(readings_per_operator=everything, orders_per_operator=everything)
        return self._load(MemoryKnowledge(limits), *_RECALLED).recall(now_s)


class SqliteKnowledge(_KnowledgeFile):
    """A `gesscale.ports.KnowledgeStore` in a file; may be shared by threads, written by one process.

    Recalled knowledge is held in memory; the file is read once, when it is opened. If it is found to be corrupt later,
    a new file is started from memory.

    Raises
    ------
    KnowledgeError
        If the file cannot be opened or written, belongs to another program, or has a newer schema. The methods
        raise it too.
    """

    def __init__(self, path: Path, *, now_s: float, limits: KnowledgeLimits | None = None) -> None:
        super().__init__(path, open_for_writing(path, now_s))
        self._limits = limits or KnowledgeLimits()
        self._now_s = now_s
        self._memory = MemoryKnowledge(self._limits)
        try:
            self._load(self._memory, *_Kind)
        except CorruptFileError as error:
            self._memory = MemoryKnowledge(self._limits)
            self._start_again(error)

    def recall(self, now_s: float) -> Knowledge:
        """Return readings and orders that are not later than now, from memory."""
        with self._lock:
            self._now_s = now_s
            return self._memory.recall(now_s)

    def remember(self, decision: Decision) -> None:
        """Keep a decision with its evidence, model and order, in one transaction."""
        name, analysis = decision.operator, decision.analysis
        with self._lock:

            def write() -> None:
                self._keep(_readings(name, analysis.evidence))
                if (order := order_of(decision)) is not None:
                    self._keep([_entry_of(_Kind.ORDER, name, order.at_s, order)])
                if analysis.memo is not None:
                    self._keep([_entry_of(_Kind.MEMO, name, decision.at_s, str(analysis.memo))])
                if analysis.model is not None:
                    model = _entry_of(_Kind.MODEL, name, decision.at_s, analysis.model)
                    last = self._newest(_Kind.MODEL, name, 1)
                    if not last or is_new_version(json.loads(last[0].document), json.loads(model.document)):
                        self._keep([model])
                self._keep([_entry_of(_Kind.DECISION, name, decision.at_s, decision)])

            self._write(write)
            self._memory.remember(decision)

    def settle(self, operator: str, order: Order) -> None:
        """Keep an order that has settled or timed out.

        Raises
        ------
        KnowledgeError
            If no order of that operator and instant is known.
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

    def _limit(self, kind: _Kind) -> int:
        limits = self._limits
        return {
            _Kind.ORDER: limits.orders_per_operator,
            _Kind.MEMO: 1,
            _Kind.MODEL: limits.models_per_operator,
            _Kind.DECISION: limits.decisions_per_operator,
        }.get(kind, limits.readings_per_operator)

    def _keep(self, entries: Iterable[_Entry]) -> None:
        """Add rows, and delete the oldest of their kinds and operators beyond the limit."""
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
        """Write in one transaction; if the file is corrupt, into a new one."""
        try:
            with self._transaction():
                write()
        except CorruptFileError as error:
            self._start_again(error)
            with self._transaction():
                write()

    def _start_again(self, error: CorruptFileError) -> None:
        with suppress(sqlite3.Error):
            self._connection.close()
        self._connection = replace_corrupt(self.path, error, self._now_s)
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
        with sqlite_errors(self.path):
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._connection.execute("COMMIT")
            finally:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
