"""Opens the knowledge file: checks schema and version, replaces corrupt files, and converts SQLite errors.

Journal: WAL, so that `explain` reads while the loop writes. Synchronous NORMAL: in WAL mode a killed process
loses nothing and a power cut at most the last steps, never the consistency; FULL would only add an fsync per
step, which wears an edge node's SD card more than the loss of a decision costs.
"""

import logging
import os
import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from pathlib import Path

from gesscale.common.logs import log_problem
from gesscale.errors import KnowledgeError

APPLICATION_ID = 0x67657363
SCHEMA_VERSION = 5
#: Size limit of a document; a decision with thousands of rejected nodes takes less than a quarter.
MAX_DOCUMENT_BYTES = 8 << 20
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

#: How long a writer waits for a lock; a step writes for milliseconds.
LOCK_TIMEOUT_S = 5.0

_MAX_ASIDE = 100
_OWNER_ONLY = 0o600
_MESSAGE_CHARACTERS = 200
_LOG = logging.getLogger(__name__)
# The SQL statements are constant, so an SQL error means a wrong table, column or value.
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


class CorruptFileError(KnowledgeError):
    """The file is not a valid SQLite file, has invalid data, or an older schema."""


class DocumentError(Exception):
    """A document in the file does not match its type."""


def open_for_writing(path: Path, now_s: float) -> sqlite3.Connection:
    """Open a knowledge file, or create one.

    Raises
    ------
    KnowledgeError
        If the file cannot be opened or written, belongs to another program, or has a newer schema.
    """
    try:
        return _open(path)
    except CorruptFileError as error:
        return replace_corrupt(path, error, now_s)


def replace_corrupt(path: Path, error: CorruptFileError, now_s: float) -> sqlite3.Connection:
    """Rename a corrupt file and create a new one.

    Raises
    ------
    KnowledgeError
        If it cannot be renamed, or the new one cannot be opened.
    """
    aside = _set_aside(path, now_s)
    cause = error.fields.get("cause", error.code)
    log_problem(_LOG, logging.WARNING, "knowledge-file-replaced", source=path, cause=cause, kept_as=aside.name)
    return _open(path)


def open_for_reading(path: Path) -> sqlite3.Connection:
    """Open a knowledge file read-only, without creating anything; a running loop may have it open.

    Raises
    ------
    KnowledgeError
        If it is not a knowledge file, cannot be read, or has a newer schema.
    """
    # A reader of a WAL database also creates its -wal and -shm files. Without a writer they hold no data, and
    # "immutable" avoids them.
    unused = not path.with_name(f"{path.name}-wal").exists()
    uri = f"{path.absolute().as_uri()}?mode=ro{'&immutable=1' if unused else ''}"
    with ExitStack() as undo, sqlite_errors(path):
        connection = sqlite3.connect(uri, uri=True, timeout=LOCK_TIMEOUT_S, isolation_level=None)
        undo.callback(connection.close)
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MAX_DOCUMENT_BYTES)
        if not _is_knowledge_file(connection, path):
            raise KnowledgeError("knowledge-file-empty", source=path)
        undo.pop_all()
    return connection


@contextmanager
def sqlite_errors(path: Path) -> Iterator[None]:
    """Convert errors of SQLite and of documents to errors with a code and the name of the file.

    Raises
    ------
    CorruptFileError
        For a `DocumentError`, and an `sqlite3.Error` of a damaged file.
    KnowledgeError
        For any other `sqlite3.Error`.
    """
    try:
        yield
    except DocumentError as error:
        raise CorruptFileError("knowledge-file-corrupt", source=path, cause=str(error)) from error
    except UnicodeDecodeError as error:  # in SQLite's message, which names a table by its bytes
        raise CorruptFileError("knowledge-file-corrupt", source=path, cause="a name is not UTF-8") from error
    except sqlite3.Error as error:
        # The low byte of an extended result code is the plain one: https://www.sqlite.org/rescode.html
        code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
        is_misuse = isinstance(error, sqlite3.ProgrammingError)  # such as a connection that was closed
        cause = f"{error}"[:_MESSAGE_CHARACTERS]
        if not is_misuse and code in _CORRUPT:
            raise CorruptFileError("knowledge-file-corrupt", source=path, cause=cause) from error
        advice = _ADVICE.get(code, "check the path")
        raise KnowledgeError("knowledge-file-failed", source=path, cause=cause, advice=advice) from error


def _open(path: Path) -> sqlite3.Connection:
    _create_or_check(path)
    with ExitStack() as undo, sqlite_errors(path):
        connection = sqlite3.connect(path, timeout=LOCK_TIMEOUT_S, isolation_level=None, check_same_thread=False)
        undo.callback(connection.close)
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MAX_DOCUMENT_BYTES)
        (verdict,) = connection.execute("PRAGMA quick_check(1)").fetchone()
        if verdict != "ok":
            raise CorruptFileError("knowledge-file-corrupt", source=path, cause=verdict[:_MESSAGE_CHARACTERS])
        known = _is_knowledge_file(connection, path)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
        if not known:
            connection.executescript(_SCHEMA)
        connection.execute("BEGIN IMMEDIATE")  # fails now, not at the first decision, on a read-only file
        connection.execute("COMMIT")
        undo.pop_all()
    return connection


def _create_or_check(path: Path) -> None:
    """Create a file that only its owner may read, as then are SQLite's further files; log if others may access it."""
    try:
        real = os.path.realpath(path)  # it may be a symbolic link
        os.close(os.open(real, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, _OWNER_ONLY))
    except FileExistsError:
        mode = path.stat().st_mode & 0o777
        if mode & ~_OWNER_ONLY and not path.is_dir():
            log_problem(_LOG, logging.WARNING, "knowledge-file-exposed", source=path, mode=f"{mode:03o}")
    except (OSError, ValueError):
        pass  # SQLite reports the cause


def _is_knowledge_file(connection: sqlite3.Connection, path: Path) -> bool:
    """Return False for a new file; raise for a file of another program or another schema."""
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if tables == 0:
        return False
    if application != APPLICATION_ID:
        raise KnowledgeError("knowledge-file-foreign", source=path)
    if version > SCHEMA_VERSION:
        raise KnowledgeError("knowledge-schema-newer", source=path, version=version, supported=SCHEMA_VERSION)
    if version < SCHEMA_VERSION:
        raise CorruptFileError("knowledge-schema-older", source=path, version=version, supported=SCHEMA_VERSION)
    return True


def _set_aside(path: Path, now_s: float) -> Path:
    path = Path(os.path.realpath(path))
    stamp = datetime.fromtimestamp(now_s, UTC).strftime("%Y%m%dT%H%M%SZ")
    names = (f"{path.name}.corrupt-{stamp}{f'-{again}' if again else ''}" for again in range(_MAX_ASIDE))
    aside = next((path.with_name(name) for name in names if not path.with_name(name).exists()), None)
    if aside is None:
        cause = f"{_MAX_ASIDE} corrupt files of the same second exist"
        raise KnowledgeError("knowledge-not-set-aside", source=path, cause=cause)
    try:
        for suffix in ("", "-wal", "-shm"):
            part = path.with_name(path.name + suffix)
            if part.exists():
                part.rename(aside.with_name(aside.name + suffix))
    except OSError as error:
        raise KnowledgeError("knowledge-not-set-aside", source=path, cause=error.strerror) from error
    return aside
