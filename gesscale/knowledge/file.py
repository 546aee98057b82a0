"""Opening the knowledge file: schema and version, corruption, faults in words.

Journal: WAL, so that `explain` reads while the loop writes. Synchronous NORMAL: in WAL mode a killed process
loses nothing and a power cut at most the last steps, never the consistency; FULL would only add an fsync per
step, which an edge node's SD card feels more than the loss of one decision.
"""

import logging
import os
import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from pathlib import Path

from gesscale.errors import KnowledgeError

APPLICATION_ID = 0x67657363
SCHEMA_VERSION = 4
#: Of one document; a decision with thousands of rejected nodes takes less than a quarter.
MOST_DOCUMENT_BYTES = 8 << 20
_SCHEMA = f"""
BEGIN IMMEDIATE;
CREATE TABLE knowledge (
    id INTEGER PRIMARY KEY, kind TEXT NOT NULL, operator TEXT NOT NULL, at_s REAL NOT NULL, document TEXT NOT NULL
) STRICT;
CREATE INDEX knowledge_by_operator ON knowledge (kind, operator);
PRAGMA application_id = {APPLICATION_ID};
PRAGMA user_version = {SCHEMA_VERSION};
COMMIT;
"""

#: How long a writer waits for another one; a step writes for milliseconds.
LOCK_TIMEOUT_S = 5.0

_MAX_ASIDE = 100
_OWNER_ONLY = 0o600
_MESSAGE_CHARACTERS = 200
_LOG = logging.getLogger(__name__)
# Our statements never change: where one is wrong, a table, a column or the kind of a value is.
_CORRUPT = {
    sqlite3.SQLITE_CORRUPT,
    sqlite3.SQLITE_NOTADB,
    sqlite3.SQLITE_ERROR,
    sqlite3.SQLITE_MISMATCH,
    sqlite3.SQLITE_TOOBIG,
}
_ADVICE = {
    sqlite3.SQLITE_READONLY: "make the file and its directory writable, or name another (knowledge.file)",
    sqlite3.SQLITE_CANTOPEN: "its directory must exist and be writable, and the path must not be a directory",
    sqlite3.SQLITE_BUSY: "another process is writing to it; end that one, or give each its own file",
    sqlite3.SQLITE_FULL: "free some space on the disk",
    sqlite3.SQLITE_IOERR: "the path must be that of a file, not of a directory, on a disk that works",
}
_CORRUPT_ADVICE = "it is corrupt, or no knowledge file (the loop sets such a file aside)"


class CorruptFileError(KnowledgeError):
    """The file is no sound SQLite file, holds what cannot be, or has an older schema."""


class DocumentError(Exception):
    """A document in the file is not what the model says."""


def open_for_writing(path: Path, now_s: float) -> sqlite3.Connection:
    """Open a knowledge file, or begin one.

    Raises
    ------
    KnowledgeError
        When the file cannot be opened or written, belongs to another program, or has a newer schema.
    """
    try:
        return _open(path)
    except CorruptFileError as fault:
        return begin_again(path, fault, now_s)


def begin_again(path: Path, fault: CorruptFileError, now_s: float) -> sqlite3.Connection:
    """Set a corrupt file aside and begin a new one.

    Raises
    ------
    KnowledgeError
        Where it cannot be renamed, or the new one not be opened.
    """
    aside = _set_aside(path, now_s)
    _LOG.warning("%s; it is kept as %s and a new file is begun", fault, aside.name)
    return _open(path)


def open_for_reading(path: Path) -> sqlite3.Connection:
    """Open a knowledge file without creating or changing anything; a running loop may have it open.

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
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MOST_DOCUMENT_BYTES)
        if not _is_ours(connection, path):
            raise KnowledgeError(f"{path}: expected a knowledge file, got one without any tables")
        undo.pop_all()
    return connection


@contextmanager
def faults_in_words(path: Path) -> Iterator[None]:
    """Turn faults of SQLite and of documents into errors that name the file and say what to do.

    Raises
    ------
    CorruptFileError
        In place of a `DocumentError`, and of an `sqlite3.Error` that tells of a broken file.
    KnowledgeError
        In place of any other `sqlite3.Error`.
    """
    try:
        yield
    except DocumentError as error:
        raise CorruptFileError(f"knowledge file {path}: {error}; {_CORRUPT_ADVICE}") from error
    except UnicodeDecodeError as error:  # in SQLite's message, which names a table by its bytes
        raise CorruptFileError(f"knowledge file {path}: a name in it is not UTF-8; {_CORRUPT_ADVICE}") from error
    except sqlite3.Error as error:
        # The low byte of an extended result code is the plain one: https://www.sqlite.org/rescode.html
        code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
        ours = isinstance(error, sqlite3.ProgrammingError)  # such as a file that was closed meanwhile
        is_corrupt = not ours and code in _CORRUPT
        advice = _CORRUPT_ADVICE if is_corrupt else _ADVICE.get(code, "")
        text = f"{error}"[:_MESSAGE_CHARACTERS]
        raise (CorruptFileError if is_corrupt else KnowledgeError)(
            f"knowledge file {path}: {text}{'; ' if advice else ''}{advice}"
        ) from error


def _open(path: Path) -> sqlite3.Connection:
    _begin_or_look_at(path)
    with ExitStack() as undo, faults_in_words(path):
        connection = sqlite3.connect(path, timeout=LOCK_TIMEOUT_S, isolation_level=None, check_same_thread=False)
        undo.callback(connection.close)
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MOST_DOCUMENT_BYTES)
        (verdict,) = connection.execute("PRAGMA quick_check(1)").fetchone()
        if verdict != "ok":
            raise CorruptFileError(f"knowledge file {path}: {verdict[:_MESSAGE_CHARACTERS]}")
        known = _is_ours(connection, path)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
        if not known:
            connection.executescript(_SCHEMA)
        connection.execute("BEGIN IMMEDIATE")  # fails now, not at the first decision, on a read-only file
        connection.execute("COMMIT")
        undo.pop_all()
    return connection


def _begin_or_look_at(path: Path) -> None:
    """Begin a file that only its owner may read, and so SQLite's further files; log it where others may."""
    try:
        real = os.path.realpath(path)  # the user may have made a link of it
        os.close(os.open(real, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, _OWNER_ONLY))
    except FileExistsError:
        mode = path.stat().st_mode & 0o777
        if mode & ~_OWNER_ONLY and not path.is_dir():
            _LOG.warning("knowledge file %s: others may use it (mode %03o); run: chmod 600 on it", path, mode)
    except (OSError, ValueError):
        pass  # SQLite says why


def _is_ours(connection: sqlite3.Connection, path: Path) -> bool:
    """Return False for a new file; raise at one that is not ours to use."""
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if tables == 0:
        return False
    if application != APPLICATION_ID:
        raise KnowledgeError(
            f"{path}: expected a knowledge file, got the database of another program; name another file"
        )
    if version > SCHEMA_VERSION:
        raise KnowledgeError(
            f"{path}: its schema is version {version}, this gesscale knows up to {SCHEMA_VERSION}; "
            "update gesscale, or name another file"
        )
    if version < SCHEMA_VERSION:
        raise CorruptFileError(
            f"knowledge file {path}: its schema is version {version}, this gesscale reads {SCHEMA_VERSION} "
            "(the loop sets such a file aside)"
        )
    return True


def _set_aside(path: Path, now_s: float) -> Path:
    path = Path(os.path.realpath(path))
    stamp = datetime.fromtimestamp(now_s, UTC).strftime("%Y%m%dT%H%M%SZ")
    names = (f"{path.name}.corrupt-{stamp}{f'-{again}' if again else ''}" for again in range(_MAX_ASIDE))
    aside = next((path.with_name(name) for name in names if not path.with_name(name).exists()), None)
    if aside is None:
        raise KnowledgeError(f"{path} is corrupt, and so were {_MAX_ASIDE} others in the same second; look at the disk")
    try:
        for suffix in ("", "-wal", "-shm"):
            part = path.with_name(path.name + suffix)
            if part.exists():
                part.rename(aside.with_name(aside.name + suffix))
    except OSError as error:
        raise KnowledgeError(
            f"{path} is corrupt, and cannot be set aside: {error.strerror}; rename it, or name another"
        ) from error
    return aside
