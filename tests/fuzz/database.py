"""Mutations of an SQLite file: cells, rows, its schema."""

import json
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from random import Random
from typing import Any

from fuzz.tree import MILD_SHARE, Tree
from fuzz.values import TEXTS, nasty_number, near_number, near_text

_NO_WAL = b"\1\1"
"""Read and write version of a file without a write-ahead log, which a database in memory cannot have."""

_OURS = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name"


def changed_database(content: bytes, random: Random, changes: int) -> bytes:
    """Return a database with some things changed.

    Parameters
    ----------
    content
        A sound SQLite file.
    random
        Randomness.
    changes
        How many.
    """
    if random.random() < 0.4:
        content = _without_types(content)
    with _opened(content) as database:
        tables = [
            name
            for (name,) in database.execute(_OURS).fetchall()
            if database.execute(f"SELECT count(*) FROM {name}").fetchone()[0]  # noqa: S608 - names of the sample
        ]
        for _ in range(changes):
            try:
                _change(database, random.choice(tables), random)
            except (sqlite3.Error, OverflowError, UnicodeEncodeError, IndexError):
                continue  # the schema refuses it, or the rows are gone
        database.commit()
        return database.serialize()


def _change(database: sqlite3.Connection, table: str, random: Random) -> None:
    rows = database.execute(f"SELECT rowid, * FROM {table}")  # noqa: S608 - as above
    columns = [column[0] for column in rows.description][1:]
    row = random.choice(rows.fetchall())
    at = random.randrange(len(columns))
    kind = random.random()
    if kind < 0.9:
        value = _other(row[at + 1], random, [each for each in row if isinstance(each, str)])
        database.execute(f"UPDATE {table} SET {columns[at]} = ? WHERE rowid = ?", (value, row[0]))  # noqa: S608
    elif kind < 0.93:
        database.execute(f"DELETE FROM {table}")  # noqa: S608
    elif kind < 0.96:
        database.execute(f"DROP TABLE {table}")
    elif kind < 0.98:
        database.execute(f"ALTER TABLE {table} RENAME COLUMN {columns[at]} TO other")
    else:
        database.execute(f"PRAGMA user_version = {random.choice((0, 1, 2, 3, 99))}")


def _other(value: Any, random: Random, texts: Sequence[str]) -> Any:
    mild = random.random() < MILD_SHARE
    if isinstance(value, str) and value[:1] in {"{", "["}:
        with suppress(ValueError):  # a change before this one may have left no JSON
            tree = Tree(json.loads(value), [json.loads(value)], random)
            tree.change()
            return tree.json()
    if mild and isinstance(value, str):
        return random.choice((near_text(value, random), random.choice(texts)))
    if mild and isinstance(value, int | float):
        return near_number(value, random)
    return random.choice((nasty_number(random), random.choice(TEXTS), None, b"\0\xff"))


def _without_types(content: bytes) -> bytes:
    """Let the columns of all tables take anything, as in a file that another program has made."""
    with _opened(content) as database:
        database.execute("PRAGMA writable_schema = ON")
        database.execute(
            "UPDATE sqlite_schema SET sql = replace(replace(sql, ' STRICT', ''), ' NOT NULL', '')"
        )
        database.commit()
        return database.serialize()


@contextmanager
def _opened(content: bytes) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(":memory:")) as database:
        database.deserialize(content[:18] + _NO_WAL + content[20:])
        yield database
