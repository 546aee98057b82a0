"""Knowledge in one SQLite file: bounded, whole after a kill, readable while the loop writes."""

import json
import logging
import math
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import astuple, fields, replace
from pathlib import Path

from gesscale.errors import KnowledgeError
from gesscale.knowledge.cells import ModelRow, OrderRow, ReadingRow
from gesscale.knowledge.file import CorruptFileError, begin_again, faults_in_words, open_for_writing
from gesscale.knowledge.history import KnowledgeFile
from gesscale.knowledge.keeping import (
    KnowledgeLimits,
    is_new_version,
    operators_of,
    order_of,
    unknown_order,
)
from gesscale.knowledge.memory import MemoryKnowledge
from gesscale.model.decision import Decision
from gesscale.model.document import decision_document, model_document
from gesscale.model.order import Order
from gesscale.ports import Knowledge
from perfmodel import Reading

_LOG = logging.getLogger(__name__)

_READING_COLUMNS = tuple(field.name for field in fields(Reading))
_ORDER_COLUMNS = tuple(Order.model_fields)


def _insert(table: str, columns: tuple[str, ...]) -> str:
    return (
        f"INSERT INTO {table} (operator, {', '.join(columns)}) "  # noqa: S608 - names of our classes
        f"VALUES (?{', ?' * len(columns)})"
    )


_KEEP_READING = _insert(ReadingRow.TABLE, _READING_COLUMNS)
_KEEP_ORDER = _insert(OrderRow.TABLE, _ORDER_COLUMNS)


class SqliteKnowledge(KnowledgeFile):
    """A `gesscale.ports.KnowledgeStore` in a file; may be shared by threads, written by one process.

    What the loop needs is held in memory too: where the file turns out to be corrupt, a new one is begun with it.

    Parameters
    ----------
    path
        Need not exist; a corrupt file is set aside and a new one begun.
    now_s
        Seconds since the epoch, for the name of a file that is set aside.
    limits
        How much is kept; what exceeds it is deleted by the transaction that adds to it.

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
        few = replace(self._limits, decisions_per_operator=1, models_per_operator=1)
        self._held = MemoryKnowledge(few, known=super().recall(math.inf))

    def recall(self, now_s: float) -> Knowledge:
        """Return readings and orders that are not dated later than now, whatever becomes of the file."""
        with self._lock:
            self._now_s = now_s
            try:
                return super().recall(now_s)
            except CorruptFileError as fault:
                with suppress(KnowledgeError):  # the next that writes says it
                    self._begin_again(fault)
            except KnowledgeError as error:
                _LOG.warning("%s; the loop goes on with what it holds in memory", error)
            return self._held.recall(now_s)

    def remember(self, decision: Decision) -> None:
        """Keep a decision and all it brought, in one transaction."""

        def write(connection: sqlite3.Connection) -> None:
            self._remember_readings(connection, decision.operator, decision.analysis.evidence)
            self._remember_model(connection, decision)
            if decision.analysis.memo is not None:
                _remember_memo(connection, decision.operator, decision.at_s, decision.analysis.memo)
            if (order := order_of(decision)) is not None:
                self._remember_order(connection, decision.operator, order)
            document = decision_document(decision)
            connection.execute(
                "INSERT INTO decision (operator, at_s, policy, reason, acted, document) "
                "VALUES (?, ?, ?, ?, ?, ?)",
                (
                    decision.operator,
                    decision.at_s,
                    decision.policy,
                    decision.plan.reason.value,
                    decision.acted,
                    _json(document),
                ),
            )
            _forget(connection, "decision", decision.operator, self._limits.decisions_per_operator)

        self._write(write, lambda: self._held.remember(decision))

    def settle(self, operator: str, order: Order) -> None:
        """Keep an order that has settled or was given up.

        Raises
        ------
        KnowledgeError
            When no order of that operator and instant is known.
        """

        def write(connection: sqlite3.Connection) -> None:
            changed = connection.execute(
                "UPDATE placement_order SET settled_at_s = ?, given_up = ?, downtime_s = ?, first_tasks_s = ? "
                "WHERE operator = ? AND at_s = ?",
                (
                    order.settled_at_s,
                    order.given_up,
                    order.downtime_s,
                    order.first_tasks_s,
                    operator,
                    order.at_s,
                ),
            )
            if changed.rowcount == 0:
                raise unknown_order(operator, order)

        self._write(write, lambda: self._held.settle(operator, order))

    def _take_over(self, connection: sqlite3.Connection, known: Knowledge) -> None:
        """Write what is known into a new file."""
        for name in operators_of(known):
            self._remember_readings(connection, name, tuple(reversed(known.readings.get(name, ()))))
            for order in reversed(known.orders.get(name, ())):
                self._remember_order(connection, name, order)
            if name in known.memos:
                _remember_memo(connection, name, 0.0, known.memos[name])

    def _remember_readings(
        self, connection: sqlite3.Connection, operator: str, readings: Iterable[Reading]
    ) -> None:
        connection.executemany(_KEEP_READING, [(operator, *astuple(reading)) for reading in readings])
        for saturated in (0, 1):
            connection.execute(
                "DELETE FROM reading WHERE operator = ?1 AND saturated = ?2 AND id <= (SELECT id FROM reading "
                "WHERE operator = ?1 AND saturated = ?2 ORDER BY id DESC LIMIT 1 OFFSET ?3)",
                (operator, saturated, self._limits.readings_per_operator),
            )

    def _remember_model(self, connection: sqlite3.Connection, decision: Decision) -> None:
        if decision.analysis.model is None:
            return
        document = model_document(decision.analysis.model)
        last = [previous for _, previous in self._newest(ModelRow, decision.operator, 1)]
        if is_new_version(last[0] if last else None, document):
            connection.execute(
                "INSERT INTO model (operator, at_s, law, document) VALUES (?, ?, ?, ?)",
                (decision.operator, decision.at_s, document["law"], _json(document)),
            )
            _forget(connection, "model", decision.operator, self._limits.models_per_operator)

    def _remember_order(self, connection: sqlite3.Connection, operator: str, order: Order) -> None:
        row = {**order.model_dump(), "placement": _json(order.placement)}
        connection.execute(_KEEP_ORDER, (operator, *(row[name] for name in _ORDER_COLUMNS)))
        _forget(connection, OrderRow.TABLE, operator, self._limits.orders_per_operator)

    def _write(self, write: Callable[[sqlite3.Connection], None], hold: Callable[[], None]) -> None:
        """Write in one transaction, where the file turns out to be corrupt into a new one; then hold it in memory."""
        with self._lock:
            try:
                with self._transaction() as connection:
                    write(connection)
            except CorruptFileError as fault:
                self._begin_again(fault)
                with self._transaction() as connection:
                    write(connection)
            hold()

    def _begin_again(self, fault: CorruptFileError) -> None:
        with suppress(sqlite3.Error):
            self._connection.close()
        self._connection = begin_again(self.path, fault, self._now_s)
        with self._transaction() as connection:
            self._take_over(connection, self._held.recall(math.inf))

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with faults_in_words(self.path):
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._connection
                self._connection.execute("COMMIT")
            finally:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")


def _remember_memo(connection: sqlite3.Connection, operator: str, at_s: float, text: str) -> None:
    connection.execute(
        "INSERT OR REPLACE INTO memo (operator, at_s, text) VALUES (?, ?, ?)", (operator, at_s, text)
    )


def _forget(connection: sqlite3.Connection, table: str, operator: str, keep: int) -> None:
    connection.execute(
        f"DELETE FROM {table} WHERE operator = ?1 AND id <= "  # noqa: S608 - the tables' names are ours
        f"(SELECT id FROM {table} WHERE operator = ?1 ORDER BY id DESC LIMIT 1 OFFSET ?2)",
        (operator, keep),
    )


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
