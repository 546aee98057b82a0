"""What a knowledge file holds, every row checked as it is read."""

import sqlite3
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from threading import RLock
from typing import Any, Self, TypeVar

from gesscale.knowledge.cells import (
    DecisionRow,
    KnowledgeRow,
    MemoRow,
    ModelRow,
    OrderRow,
    ReadingRow,
    checked,
    document_in,
)
from gesscale.knowledge.file import faults_in_words, open_for_reading
from gesscale.ports import Knowledge

T = TypeVar("T")
R = TypeVar("R", bound=KnowledgeRow)


class KnowledgeFile:
    """An open knowledge file; may be shared by threads.

    Parameters
    ----------
    path
        Names it in messages.
    connection
        To it.
    """

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

    def recall(self, now_s: float) -> Knowledge:
        """Return readings and orders that are not dated later than now.

        A replay sees only its own past, and a clock that once ran ahead blocks nothing.
        """
        with self._lock, faults_in_words(self.path, reading=True):
            readings = self._past(ReadingRow, now_s)
            orders = self._past(OrderRow, now_s)
            memos = self._past(MemoRow, now_s)
            return Knowledge(
                readings=_by_operator((row.operator, row.reading()) for row in readings),
                orders=_by_operator((row.operator, row.order()) for row in orders),
                memos={row.operator: row.text for row in memos},
                order_unknown=self._ordered_later(now_s),
            )

    def _ordered_later(self, now_s: float) -> frozenset[str]:
        """Return the operators whose newest order is dated later."""
        newest = self._connection.execute(
            "SELECT operator, at_s, max(id) FROM placement_order GROUP BY operator "
            "HAVING typeof(at_s) IN ('real', 'integer') AND at_s > ?",
            (now_s,),
        )
        return frozenset(str(operator) for operator, _, _ in newest)

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
            Documents of `gesscale.model.document.decision_document`.
        """
        return tuple(document for _, document in self._newest(DecisionRow, operator, limit))

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
            Documents of `gesscale.model.document.model_document`, with ``at_s`` and ``operator``.
        """
        return tuple(
            {"at_s": row["at_s"], "operator": row["operator"], **document}
            for row, document in self._newest(ModelRow, operator, limit)
        )

    def _past(self, form: type[R], now_s: float) -> list[R]:
        """Return the rows of a table that are not dated later, the newest first."""
        rows = self._rows(f"SELECT rowid AS id, * FROM {form.TABLE} ORDER BY rowid DESC")  # noqa: S608 - our names
        return [found for row in rows if (found := checked(form, dict(row))).at_s <= now_s]

    def _newest(
        self, form: type[KnowledgeRow], operator: str | None, limit: int
    ) -> list[tuple[sqlite3.Row, dict[str, Any]]]:
        """Return the newest rows of a table that has documents, and these."""
        sql = (
            f"SELECT rowid AS id, * FROM {form.TABLE} WHERE ?1 IS NULL OR operator = ?1 "  # noqa: S608 - our names
            "ORDER BY id DESC LIMIT ?2"
        )
        name = None if operator is None else operator.encode("utf-8", "replace").decode()
        with self._lock, faults_in_words(self.path, reading=True):
            return [(row, document_in(form, row)) for row in self._rows(sql, name, limit)]

    def _rows(self, sql: str, *values: object) -> list[sqlite3.Row]:
        # A question that is left open would keep a corrupt file open after it was set aside.
        with closing(self._connection.cursor()) as cursor:
            cursor.row_factory = sqlite3.Row
            return cursor.execute(sql, values).fetchall()


class SqliteHistory(KnowledgeFile):
    """What a knowledge file holds, also while a loop writes it; changes and creates nothing.

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


def _by_operator(items: Iterable[tuple[str, T]]) -> dict[str, tuple[T, ...]]:
    grouped: dict[str, list[T]] = {}
    for operator, item in items:
        grouped.setdefault(operator, []).append(item)
    return {operator: tuple(listed) for operator, listed in grouped.items()}
