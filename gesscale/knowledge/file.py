"""Opening the knowledge file: schema and version, corruption, faults in words.

Journal: WAL, so that `explain` reads while the loop writes. Synchronous NORMAL: in WAL mode a killed process
loses nothing and a power cut at most the last steps, never the consistency; FULL would only add an fsync per
step, which an edge node's SD card feels more than the loss of one decision.
"""

import logging
import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from importlib.resources import files
from pathlib import Path

from gesscale.errors import KnowledgeError

APPLICATION_ID = 0x67657363
SCHEMA_VERSION = 2
MEMOS_SINCE = 2
"""Version of the schema from which on files keep memos."""

LOCK_TIMEOUT_S = 5.0
"""How long a writer waits for another one; a step writes for milliseconds."""

_MAX_ASIDE = 100
_LOG = logging.getLogger(__name__)
_CORRUPT = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}
_ADVICE = {
    sqlite3.SQLITE_READONLY: "make the file and its directory writable, or name another (knowledge.file)",
    sqlite3.SQLITE_CANTOPEN: "its directory must exist and be writable, and the path must not be a directory",
    sqlite3.SQLITE_BUSY: "another process is writing to it; end that one, or give each its own file",
    sqlite3.SQLITE_FULL: "free some space on the disk",
} | dict.fromkeys(_CORRUPT, "it is corrupt; the loop, when it begins, sets such a file aside")


class _CorruptFileError(KnowledgeError):
    """The file is no sound SQLite file."""


def open_for_writing(path: Path, now_s: float) -> sqlite3.Connection:
    """Open a knowledge file, or begin one.

    Parameters
    ----------
    path
        Need not exist; its directory must. A corrupt file is renamed to ``<name>.corrupt-<time>``, which the
        log says, and a new one begun.
    now_s
        Seconds since the epoch, for that name.

    Returns
    -------
    sqlite3.Connection
        In autocommit mode, checked to be writable.

    Raises
    ------
    KnowledgeError
        When the file cannot be opened or written, belongs to another program, or has a newer schema.
    """
    try:
        return _open(path)
    except _CorruptFileError as fault:
        aside = _set_aside(path, now_s)
        _LOG.warning("%s; it is kept as %s and a new file is begun", fault, aside.name)
        return _open(path)


def open_for_reading(path: Path) -> sqlite3.Connection:
    """Open a knowledge file without creating or changing anything, beside a running loop or without one.

    Parameters
    ----------
    path
        An existing file.

    Returns
    -------
    sqlite3.Connection
        Read-only.

    Raises
    ------
    KnowledgeError
        When it is no knowledge file, cannot be read, or has a newer schema.
    """
    # Even a reader of a WAL file would make its -wal and -shm files; where no writer has them open there is
    # nothing in them to see either, and "immutable" leaves them out.
    unused = not path.with_name(f"{path.name}-wal").exists()
    uri = f"{path.absolute().as_uri()}?mode=ro{'&immutable=1' if unused else ''}"
    with ExitStack() as undo, faults_in_words(path):
        connection = sqlite3.connect(uri, uri=True, timeout=LOCK_TIMEOUT_S, isolation_level=None)
        undo.callback(connection.close)
        if not _is_ours(connection, path):
            message = f"{path}: expected a knowledge file, got one without any tables"
            raise KnowledgeError(message)
        undo.pop_all()
    return connection


@contextmanager
def faults_in_words(path: Path) -> Iterator[None]:
    """Turn faults of SQLite into errors that name the file and say what to do.

    Parameters
    ----------
    path
        The knowledge file.

    Raises
    ------
    KnowledgeError
        In place of any `sqlite3.Error`.
    """
    try:
        yield
    except sqlite3.Error as error:
        # The low byte of an extended result code is the plain one: https://www.sqlite.org/rescode.html
        code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
        message = f"knowledge file {path}: {error}"
        if code in _ADVICE:
            message += f"; {_ADVICE[code]}"
        raise (_CorruptFileError if code in _CORRUPT else KnowledgeError)(message) from error


def _open(path: Path) -> sqlite3.Connection:
    with ExitStack() as undo, faults_in_words(path):
        connection = sqlite3.connect(
            path, timeout=LOCK_TIMEOUT_S, isolation_level=None, check_same_thread=False
        )
        undo.callback(connection.close)
        (verdict,) = connection.execute("PRAGMA quick_check(1)").fetchone()
        if verdict != "ok":
            message = f"knowledge file {path}: {verdict}"
            raise _CorruptFileError(message)
        known = _is_ours(connection, path)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
        if not known:
            connection.executescript(_script("schema.sql"))
        elif schema_version(connection) < SCHEMA_VERSION:
            connection.executescript(_script("memo.sql"))
        connection.execute("BEGIN IMMEDIATE")  # fails now, not at the first decision, on a read-only file
        connection.execute("COMMIT")
        undo.pop_all()
    return connection


def schema_version(connection: sqlite3.Connection) -> int:
    """Return the version of an open file's schema; one that is only read may be older than ours."""
    version: int
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    return version


def _script(name: str) -> str:
    return files("gesscale.knowledge").joinpath(name).read_text("utf-8")


def _is_ours(connection: sqlite3.Connection, path: Path) -> bool:
    """Return False for a new file; raise at one that is not ours to use."""
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    version = schema_version(connection)
    if tables == 0:
        return False
    if application != APPLICATION_ID:
        message = f"{path}: expected a knowledge file, got the database of another program; name another file"
        raise KnowledgeError(message)
    if version > SCHEMA_VERSION:
        message = (
            f"{path}: its schema is version {version}, this gesscale knows up to {SCHEMA_VERSION}; "
            "update gesscale, or name another file"
        )
        raise KnowledgeError(message)
    return True


def _set_aside(path: Path, now_s: float) -> Path:
    stamp = datetime.fromtimestamp(now_s, UTC).strftime("%Y%m%dT%H%M%SZ")
    names = (f"{path.name}.corrupt-{stamp}{f'-{again}' if again else ''}" for again in range(_MAX_ASIDE))
    aside = next((path.with_name(name) for name in names if not path.with_name(name).exists()), None)
    if aside is None:
        message = f"{path} is corrupt, and so were {_MAX_ASIDE} others in the same second; look at the disk"
        raise KnowledgeError(message)
    for suffix in ("", "-wal", "-shm"):
        part = path.with_name(path.name + suffix)
        if part.exists():
            part.rename(aside.with_name(aside.name + suffix))
    return aside
