import logging
import signal
import sqlite3
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from threading import Thread

import pytest

from gesscale.errors import InputError, KnowledgeError
from gesscale.knowledge.history import SqliteHistory
from gesscale.knowledge.keeping import KnowledgeLimits
from gesscale.knowledge.sqlite import SqliteKnowledge
from gesscale.model.decision import Analysis, Decision, Outcome, OutcomeStatus, Plan, Reason, Verdict
from perfmodel import Reading

NOW_S = 1_000_000_000.0  # 2001-09-09 01:46:40 UTC
NOBODY = 65534


def decision(at_s: float) -> Decision:
    return Decision(
        at_s=at_s,
        operator="nearest",
        policy="gesscale",
        analysis=Analysis(
            operator="nearest",
            verdict=Verdict.MORE,
            reason=Reason.OVERLOADED,
            evidence=(Reading(replicas=1, nd_max_ms=0, rows_per_s=1000, at_s=at_s),),
        ),
        plan=Plan(operator="nearest", reason=Reason.OVERLOADED, before=(), placement=("edge1",)),
        outcome=Outcome(status=OutcomeStatus.APPLIED, added=("edge1",)),
    )


def begin(path: Path, decisions: int = 3) -> None:
    with SqliteKnowledge(path, now_s=NOW_S) as store:
        for at_s in range(decisions):
            store.remember(decision(at_s))


def instants(path: Path) -> list[float]:
    with SqliteKnowledge(path, now_s=NOW_S) as store:
        return [item["at_s"] for item in store.decisions()]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "knowledge.sqlite"


def test_knowledge_outlives_the_process(path: Path) -> None:
    begin(path)
    assert instants(path) == [2, 1, 0]


def test_the_columns_that_queries_need_are_there(path: Path) -> None:
    begin(path, 1)
    with sqlite3.connect(path) as connection:
        rows = connection.execute("SELECT operator, at_s, policy, reason, acted FROM decision").fetchall()
    connection.close()
    assert rows == [("nearest", 0.0, "gesscale", "Overloaded", 1)]


WRITER = """
import sys
from pathlib import Path
sys.path[:0] = sys.argv[2:]
from test_sqlite import SqliteKnowledge, decision
store = SqliteKnowledge(Path(sys.argv[1]), now_s=0)
for at_s in range(100_000):
    store.remember(decision(at_s))
    print(at_s, flush=True)
"""


@pytest.mark.parametrize("lines", [1, 20, 50])
def test_a_killed_writer_leaves_a_whole_prefix(path: Path, lines: int) -> None:
    writer = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(path), str(Path(__file__).parent)],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert writer.stdout is not None
    said = [int(writer.stdout.readline()) for _ in range(lines)]
    writer.send_signal(signal.SIGKILL)
    said += [int(line) for line in writer.stdout.read().split("\n")[:-1]]
    writer.stdout.close()
    assert writer.wait() == -signal.SIGKILL
    with SqliteKnowledge(path, now_s=NOW_S) as store:
        kept = [item["at_s"] for item in store.decisions(limit=10**6)]
        known = store.recall(10**6)
        # Everything said to be kept is there, at most one more, and no transaction is there in part.
        assert kept == list(range(len(kept)))[::-1]
        assert len(said) <= len(kept) <= len(said) + 1
        assert [item.at_s for item in known.readings["nearest"]] == kept[:200]
        assert [item.at_s for item in known.orders["nearest"]] == kept[:200]


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(lambda _: b"no database at all, but long enough for a header" * 9, id="another file"),
        pytest.param(lambda sound: b"\0" * len(sound), id="zeros"),
        pytest.param(lambda sound: sound[: len(sound) // 2], id="cut in half"),
        pytest.param(lambda sound: sound[:5000] + b"\xff" * 8000 + sound[13000:], id="overwritten pages"),
    ],
)
def test_a_corrupt_file_is_set_aside_with_a_message(
    path: Path, caplog: pytest.LogCaptureFixture, damage: Callable[[bytes], bytes]
) -> None:
    begin(path, 20)
    damaged = damage(path.read_bytes())
    path.write_bytes(damaged)
    with caplog.at_level(logging.WARNING):
        assert instants(path) == []
    side_files = path.with_name("knowledge.sqlite.corrupt-20010909T014640Z")
    assert side_files.read_bytes() == damaged
    assert f"kept as {side_files.name}" in caplog.text
    begin(path)
    assert instants(path) == [2, 1, 0]


def test_a_second_corrupt_file_does_not_overwrite_the_first(path: Path) -> None:
    for content in (b"first", b"second"):
        path.write_bytes(content * 100)
        begin(path)
    asides = sorted(item for item in path.parent.iterdir() if "corrupt" in item.name)
    assert [item.read_bytes()[:5] for item in asides] == [b"first", b"secon"]


def test_an_empty_file_is_a_new_one(path: Path) -> None:
    path.touch()
    begin(path)
    assert instants(path) == [2, 1, 0]


OLDER = """
ALTER TABLE placement_order RENAME TO reconfiguration;
ALTER TABLE reconfiguration DROP COLUMN before;
ALTER TABLE reconfiguration DROP COLUMN reason;
ALTER TABLE reconfiguration DROP COLUMN settled_at_s;
ALTER TABLE reconfiguration DROP COLUMN given_up;
ALTER TABLE reconfiguration DROP COLUMN first_tasks_s;
DROP INDEX placement_order_by_operator;
CREATE INDEX reconfiguration_by_operator ON reconfiguration (operator);
PRAGMA user_version = 2;
"""
OLDEST = f"{OLDER} DROP TABLE memo; PRAGMA user_version = 1;"


@pytest.mark.parametrize("older", [OLDER, OLDEST])
def test_a_file_of_an_older_version_is_read_as_it_is_and_brought_up_to_date_by_the_loop(
    path: Path, older: str
) -> None:
    begin(path)
    with sqlite3.connect(path) as connection:
        connection.executescript(older)
    connection.close()
    content = path.read_bytes()
    with SqliteHistory(path) as history:
        known = history.recall(NOW_S)
    assert known.memos == {}
    order = known.orders["nearest"][0]
    assert (order.at_s, order.reason, order.before, order.settled_at_s) == (2.0, "", None, None)
    assert path.read_bytes() == content
    assert instants(path) == [2, 1, 0]
    with SqliteKnowledge(path, now_s=NOW_S) as store:
        said = decision(3)
        store.remember(replace(said, analysis=replace(said.analysis, memo="kept")))
    with SqliteHistory(path) as history:
        known = history.recall(NOW_S)
    assert known.memos == {"nearest": "kept"}
    assert known.orders["nearest"][1] == order
    assert instants(path) == [3, 2, 1, 0]


def test_a_newer_schema_is_refused_and_left_alone(path: Path) -> None:
    begin(path)
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA user_version = 99")
    connection.close()
    content = path.read_bytes()
    for opening in (lambda: SqliteKnowledge(path, now_s=NOW_S), lambda: SqliteHistory(path)):
        with pytest.raises(KnowledgeError, match="schema is version 99, this gesscale knows up to 3"):
            opening()
    assert path.read_bytes() == content


def test_the_database_of_another_program_is_refused_and_left_alone(path: Path) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE theirs (id INTEGER)")
    connection.close()
    content = path.read_bytes()
    with pytest.raises(KnowledgeError, match="the database of another program"):
        SqliteKnowledge(path, now_s=NOW_S)
    assert path.read_bytes() == content


def test_a_directory_in_its_place_is_an_error_that_says_so(path: Path) -> None:
    path.mkdir()
    with pytest.raises(KnowledgeError, match=r"knowledge\.sqlite: .*must not be a directory"):
        SqliteKnowledge(path, now_s=NOW_S)


def test_a_reader_of_a_directory_says_so(path: Path) -> None:
    path.mkdir()
    with pytest.raises(KnowledgeError, match=r"knowledge\.sqlite: .*a file, not of a directory"):
        SqliteHistory(path)


def test_a_missing_directory_is_an_error_that_says_so(path: Path) -> None:
    with pytest.raises(KnowledgeError, match="its directory must exist"):
        SqliteKnowledge(path / "deeper" / "k.sqlite", now_s=NOW_S)


def test_a_second_writer_in_the_middle_of_a_step_is_named(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin(path)
    monkeypatch.setattr("gesscale.knowledge.file.LOCK_TIMEOUT_S", 0.05)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(KnowledgeError, match="another process is writing to it"):
        SqliteKnowledge(path, now_s=NOW_S)
    other.close()


OPENER = """
import os, sys
from pathlib import Path
from gesscale.errors import KnowledgeError
from gesscale.knowledge.history import SqliteHistory
from gesscale.knowledge.sqlite import SqliteKnowledge
if os.getuid() == 0:  # root may write anything
    os.setgid(65534)
    os.setuid(65534)
path = Path(sys.argv[1])
with SqliteHistory(path) as history:
    print(len(history.decisions()))
try:
    SqliteKnowledge(path, now_s=0)
except KnowledgeError as error:
    print(error)
"""


@pytest.fixture
def open_directory() -> Iterator[Path]:
    """A directory that users other than root can reach, unlike tmp_path."""
    with tempfile.TemporaryDirectory(prefix="gesscale-test-") as name:
        Path(name).chmod(0o755)
        yield Path(name)
        Path(name).chmod(0o755)


def test_a_read_only_file_is_an_error_for_the_loop_but_can_be_explained(open_directory: Path) -> None:
    path = open_directory / "k.sqlite"
    begin(path)
    path.chmod(stat.S_IRUSR | stat.S_IRGRP | stat.S_IROTH)
    open_directory.chmod(0o555)
    content, names = path.read_bytes(), set(open_directory.iterdir())
    done = subprocess.run(
        [sys.executable, "-c", OPENER, str(path)], capture_output=True, text=True, check=True
    )
    decisions, message = done.stdout.splitlines()
    assert decisions == "3"
    assert message.startswith(f"knowledge file {path}: ")
    assert "writable" in message
    assert path.read_bytes() == content
    assert set(open_directory.iterdir()) == names


def test_history_is_readable_while_the_loop_writes(path: Path) -> None:
    with SqliteKnowledge(path, now_s=NOW_S) as store, SqliteHistory(path) as history:
        store.remember(decision(1))
        assert [item["at_s"] for item in history.decisions()] == [1]
        assert history.recall(5) == store.recall(5)


def test_reading_history_leaves_the_directory_as_it_is(path: Path) -> None:
    begin(path)
    before = {item.name: item.read_bytes() for item in path.parent.iterdir()}
    with SqliteHistory(path) as history:
        assert len(history.decisions()) == 3
    assert {item.name: item.read_bytes() for item in path.parent.iterdir()} == before


def test_history_of_a_missing_file_creates_none(path: Path) -> None:
    with pytest.raises(KnowledgeError, match="unable to open"):
        SqliteHistory(path)
    assert list(path.parent.iterdir()) == []


def test_history_of_a_corrupt_file_leaves_it_in_place(path: Path) -> None:
    path.write_bytes(b"not a database" * 100)
    with pytest.raises(KnowledgeError, match="it is corrupt"):
        SqliteHistory(path)
    assert [item.name for item in path.parent.iterdir()] == [path.name]


def test_threads_may_share_a_store(path: Path) -> None:
    with SqliteKnowledge(path, now_s=NOW_S) as store:

        def write(first: int) -> None:
            for at_s in range(first, first + 20):
                store.remember(decision(at_s))

        threads = [Thread(target=write, args=(first,)) for first in (0, 100, 200)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        # Three threads of twenty decisions each.
        assert len(store.decisions(limit=100)) == 60


def test_a_limit_below_one_row_is_refused() -> None:
    with pytest.raises(InputError, match="models_per_operator: expected at least 1 row, got 0"):
        KnowledgeLimits(models_per_operator=0)
