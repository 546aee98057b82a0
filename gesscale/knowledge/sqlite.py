"""Knowledge in one SQLite file: bounded, whole after a kill, readable while the loop writes."""

import json
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import astuple, fields
from pathlib import Path
from threading import Lock
from typing import Any, Self, TypeVar

from gesscale.decision import Decision
from gesscale.document import decision_document, model_document
from gesscale.errors import KnowledgeError
from gesscale.knowledge.file import (
    MEMOS_SINCE,
    faults_in_words,
    open_for_reading,
    open_for_writing,
    schema_version,
)
from gesscale.knowledge.keeping import KnowledgeLimits, is_new_version, reconfiguration_of, strangers
from gesscale.ports import Knowledge, Reconfiguration
from perfmodel import Reading

T = TypeVar("T")

_READING_COLUMNS = tuple(field.name for field in fields(Reading))
_KEEP_READING = (
    f"INSERT INTO reading (operator, {', '.join(_READING_COLUMNS)}) "  # noqa: S608 - names of our dataclass
    f"VALUES (?{', ?' * len(_READING_COLUMNS)})"
)


class _KnowledgeFile:
    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.path = path
        self._connection = connection
        self._lock = Lock()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def recall(self, now_s: float) -> Knowledge:
        """Return readings and changes that are not dated later than now.

        A replay sees only its own past, and a clock that once ran ahead blocks nothing.
        """
        return Knowledge(
            readings=_by_operator(
                (row["operator"], _reading(row))
                for row in self._rows("SELECT * FROM reading WHERE at_s <= ? ORDER BY id DESC", now_s)
            ),
            reconfigurations=_by_operator(
                (row["operator"], _reconfiguration(row))
                for row in self._rows("SELECT * FROM reconfiguration WHERE at_s <= ? ORDER BY id DESC", now_s)
            ),
            memos=self._memos(now_s),
        )

    def decisions(self, operator: str | None = None, limit: int = 20) -> tuple[dict[str, Any], ...]:
        """Return the last decisions, the newest first.

        Parameters
        ----------
        operator
            Whose; None for all.
        limit
            At most so many.

        Returns
        -------
        tuple of dict
            Documents of `gesscale.document.decision_document`.
        """
        rows = self._rows(
            "SELECT document FROM decision WHERE ?1 IS NULL OR operator = ?1 ORDER BY id DESC LIMIT ?2",
            operator,
            limit,
        )
        return tuple(json.loads(row["document"]) for row in rows)

    def models(self, operator: str | None = None, limit: int = 20) -> tuple[dict[str, Any], ...]:
        """Return the last model versions, the newest first.

        Parameters
        ----------
        operator
            Whose; None for all.
        limit
            At most so many.

        Returns
        -------
        tuple of dict
            Documents of `gesscale.document.model_document`, with ``at_s`` and ``operator``.
        """
        rows = self._rows(
            "SELECT at_s, operator, document FROM model WHERE ?1 IS NULL OR operator = ?1 "
            "ORDER BY id DESC LIMIT ?2",
            operator,
            limit,
        )
        return tuple(
            {"at_s": row["at_s"], "operator": row["operator"], **json.loads(row["document"])} for row in rows
        )

    def _memos(self, now_s: float) -> dict[str, str]:
        if schema_version(self._connection) < MEMOS_SINCE:
            return {}
        return {
            row["operator"]: row["text"] for row in self._rows("SELECT * FROM memo WHERE at_s <= ?", now_s)
        }

    def _rows(self, sql: str, *values: object) -> list[sqlite3.Row]:
        with self._lock, faults_in_words(self.path):
            cursor = self._connection.cursor()
            cursor.row_factory = sqlite3.Row
            return cursor.execute(sql, values).fetchall()


class SqliteHistory(_KnowledgeFile):
    """What a knowledge file holds, beside a running loop or without one; changes and creates nothing.

    Parameters
    ----------
    path
        An existing knowledge file.

    Raises
    ------
    KnowledgeError
        When it is no knowledge file or cannot be read. The methods raise it too.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(path, open_for_reading(path))


class SqliteKnowledge(_KnowledgeFile):
    """A `gesscale.ports.KnowledgeStore` in a file; may be shared by threads, written by one process.

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

    def remember(self, decision: Decision) -> None:
        """Keep a decision and all it brought, in one transaction."""
        with self._transaction() as connection:
            self._remember_readings(connection, decision.operator, decision.analysis.evidence)
            self._remember_model(connection, decision)
            if decision.analysis.memo is not None:
                _remember_memo(connection, decision.operator, decision.at_s, decision.analysis.memo)
            if (change := reconfiguration_of(decision)) is not None:
                self._remember_reconfiguration(connection, change)
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

    def settle(self, reconfiguration: Reconfiguration) -> None:
        """Keep a measured downtime.

        Raises
        ------
        KnowledgeError
            When no change of that operator and instant is known.
        """
        with self._transaction() as connection:
            changed = connection.execute(
                "UPDATE reconfiguration SET downtime_s = ? WHERE operator = ? AND at_s = ?",
                (reconfiguration.downtime_s, reconfiguration.operator, reconfiguration.at_s),
            )
            if changed.rowcount == 0:
                message = (
                    f"no change of operator {reconfiguration.operator!r} at {reconfiguration.at_s} s is known"
                )
                raise KnowledgeError(message)

    def adopt(self, known: Knowledge) -> None:
        """Take over what another store knew of operators of which this one knows nothing; in one transaction."""
        with self._transaction() as connection:
            own = connection.execute(
                "SELECT operator FROM reading UNION SELECT operator FROM reconfiguration "
                "UNION SELECT operator FROM memo"
            ).fetchall()
            for name in strangers(known, {operator for (operator,) in own}):
                self._remember_readings(connection, name, tuple(reversed(known.readings.get(name, ()))))
                for change in reversed(known.reconfigurations.get(name, ())):
                    self._remember_reconfiguration(connection, change)
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
        last = connection.execute(
            "SELECT document FROM model WHERE operator = ? ORDER BY id DESC LIMIT 1", (decision.operator,)
        ).fetchone()
        if is_new_version(json.loads(last[0]) if last else None, document):
            connection.execute(
                "INSERT INTO model (operator, at_s, law, document) VALUES (?, ?, ?, ?)",
                (decision.operator, decision.at_s, document["law"], _json(document)),
            )
            _forget(connection, "model", decision.operator, self._limits.models_per_operator)

    def _remember_reconfiguration(self, connection: sqlite3.Connection, change: Reconfiguration) -> None:
        connection.execute(
            "INSERT INTO reconfiguration (operator, at_s, placement, downtime_s) VALUES (?, ?, ?, ?)",
            (change.operator, change.at_s, _json(change.placement), change.downtime_s),
        )
        _forget(connection, "reconfiguration", change.operator, self._limits.reconfigurations_per_operator)

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with self._lock, faults_in_words(self.path):
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


def _reading(row: sqlite3.Row) -> Reading:
    columns = {name: row[name] for name in _READING_COLUMNS}
    return Reading(**{**columns, "saturated": bool(row["saturated"])})


def _reconfiguration(row: sqlite3.Row) -> Reconfiguration:
    return Reconfiguration(
        at_s=row["at_s"],
        operator=row["operator"],
        placement=tuple(json.loads(row["placement"])),
        downtime_s=row["downtime_s"],
    )


def _by_operator(items: Iterable[tuple[str, T]]) -> dict[str, tuple[T, ...]]:
    grouped: dict[str, list[T]] = {}
    for operator, item in items:
        grouped.setdefault(operator, []).append(item)
    return {operator: tuple(listed) for operator, listed in grouped.items()}


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
