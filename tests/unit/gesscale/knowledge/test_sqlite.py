"""The knowledge file: kill, corruption, other schemas and programs, concurrent readers."""

import os
import signal
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from model_summaries import eq1_summary
from refusals import refused

from gesscale.errors import KnowledgeError
from gesscale.knowledge.sqlite import SqliteHistory, SqliteKnowledge
from gesscale.model.decision import Analysis, Decision, Outcome, OutcomeStatus, Plan, Reason, Verdict
from gesscale.ports import Knowledge
from perfmodel import Reading

NOW_S = 1_000_000_000.0  # 2001-09-09 01:46:40 UTC
ASIDE = "knowledge.sqlite.corrupt-20010909T014640Z"


def decision(at_s: float) -> Decision:
    evidence = (Reading(replicas=1, nd_max_ms=0, rows_per_s=1000, at_s=at_s),)
    return Decision(
        at_s=at_s,
        operator="nearest",
        policy="gesscale",
        analysis=Analysis(
            operator="nearest",
            verdict=Verdict.MORE,
            reason=Reason.OVERLOADED,
            evidence=evidence,
            model=eq1_summary(),
            memo="said",
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


def execute(path: Path, script: str) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.executescript(script)


def spoil(kind: str, document: str) -> str:
    return f"UPDATE knowledge SET document = {document} WHERE kind = '{kind}'"  # noqa: S608 - made here


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "knowledge.sqlite"


def test_knowledge_outlives_the_process(path: Path) -> None:
    path.touch()  # an empty file is a new one
    begin(path)
    with SqliteKnowledge(path, now_s=NOW_S) as store:
        known = store.recall(NOW_S)
    assert [each.at_s for each in known.orders["nearest"]] == [2, 1, 0]
    with SqliteHistory(path) as history:
        assert history.recall(NOW_S) == known
        assert history.recall(1.0).readings["nearest"] == known.readings["nearest"][1:]
        assert [item["at_s"] for item in history.decisions()] == [2, 1, 0]
        assert history.models()[0]["law"] == "eq1"


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


TESTS = Path(__file__).parents[3]


def test_a_killed_writer_leaves_a_whole_prefix(path: Path) -> None:
    writer = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(path), str(Path(__file__).parent), str(TESTS)],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert writer.stdout is not None
    confirmed = [int(writer.stdout.readline()) for _ in range(20)]
    writer.send_signal(signal.SIGKILL)
    confirmed += [int(line) for line in writer.stdout.read().split("\n")[:-1]]
    writer.stdout.close()
    assert writer.wait() == -signal.SIGKILL
    with SqliteKnowledge(path, now_s=NOW_S) as store:
        kept = [item["at_s"] for item in store.decisions(limit=10**6)]
        known = store.recall(10**6)
    # Everything confirmed to be kept is there, at most one more, and no transaction is there in part.
    assert kept == list(range(len(kept)))[::-1]
    assert len(confirmed) <= len(kept) <= len(confirmed) + 1
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
def test_a_corrupt_file_is_set_aside_and_never_overwritten(
    path: Path, caplog: pytest.LogCaptureFixture, damage: Callable[[bytes], bytes]
) -> None:
    for name in (ASIDE, f"{ASIDE}-1"):
        begin(path, 20)
        damaged = damage(path.read_bytes())
        path.write_bytes(damaged)
        assert instants(path) == []
        assert path.with_name(name).read_bytes() == damaged
        assert name in caplog.text


BROKEN = (
    spoil("reading", "json_set(document, '$.rows_per_s', -1.0)"),
    spoil("reading", "'{}'"),
    spoil("order", "json_set(document, '$.placement', 'edge1')"),
    spoil("order", "json_set(document, '$.downtime_s', 'long')"),
    spoil("memo", "'no JSON'"),
    spoil("memo", "CAST(X'22c32822' AS TEXT)"),
    spoil("memo", "printf('\"%s\"', hex(zeroblob(5000000)))"),
    spoil("model", "json_set(document, '$.laws', 5)"),
    spoil("decision", "json_set(document, '$.analysis.mst', 'low')"),
    spoil("decision", "json_remove(document, '$.plan')"),
    spoil("decision", "replace(hex(zeroblob(5000)), '0', '[')"),
    "DROP TABLE knowledge; CREATE TABLE another (a)",
    "ALTER TABLE knowledge RENAME COLUMN document TO text",
    "PRAGMA user_version = 4",
)


def read_all(path: Path) -> None:
    with SqliteHistory(path) as history:
        history.recall(NOW_S)
        history.models()
        history.decisions()


@pytest.mark.parametrize("script", BROKEN)
def test_an_invalid_document_or_an_older_schema_replaces_the_file(
    path: Path, caplog: pytest.LogCaptureFixture, script: str
) -> None:
    begin(path)
    execute(path, script)
    before = path.read_bytes()
    with pytest.raises(KnowledgeError) as caught:
        read_all(path)
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 600
    assert path.read_bytes() == before
    with SqliteKnowledge(path, now_s=NOW_S) as store:
        assert store.recall(NOW_S) == Knowledge()
        store.remember(decision(4.0))
    assert path.with_name(ASIDE).read_bytes() == before
    assert ASIDE in caplog.text
    assert instants(path) == [4.0]


@pytest.mark.parametrize("script", ["DROP TABLE knowledge", spoil("model", "'{}'")])
def test_what_breaks_while_the_loop_runs_is_known_all_the_same(path: Path, script: str) -> None:
    with SqliteKnowledge(path, now_s=NOW_S) as store:
        store.remember(decision(4.0))
        before = store.recall(NOW_S)
        execute(path, script)
        assert store.recall(NOW_S) == before
        store.remember(decision(5.0))
        store.settle("nearest", before.orders["nearest"][0].ended(NOW_S, 5.0, arrived=True))
        known = store.recall(NOW_S)
    assert [each.at_s for each in known.readings["nearest"]] == [5.0, 4.0]
    assert known.orders["nearest"][1].downtime_s == 5.0
    assert path.with_name(ASIDE).exists()
    with SqliteKnowledge(path, now_s=NOW_S) as store:
        assert store.recall(NOW_S) == known


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(lambda path: path.mkdir(), id="directory"),
        pytest.param(lambda path: execute(path, "CREATE TABLE theirs (id)"), id="of another program"),
        pytest.param(lambda path: (begin(path), execute(path, "PRAGMA user_version = 99")), id="newer"),
    ],
)
def test_what_is_not_ours_to_use_is_refused_and_left_alone(path: Path, make: Callable[[Path], None]) -> None:
    make(path)
    before = path.is_file() and path.read_bytes()
    for opening in (lambda: SqliteKnowledge(path, now_s=NOW_S), lambda: SqliteHistory(path)):
        with pytest.raises(KnowledgeError, match=path.name):
            opening()
    assert (path.is_file() and path.read_bytes()) == before


def test_a_second_writer_in_the_middle_of_a_step_is_named(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begin(path)
    monkeypatch.setattr("gesscale.knowledge.file.LOCK_TIMEOUT_S", 0.05)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with refused("knowledge-file-failed", KnowledgeError):
            SqliteKnowledge(path, now_s=NOW_S)


def test_a_reader_sees_what_a_writer_has_kept_and_creates_nothing(path: Path) -> None:
    with SqliteKnowledge(path, now_s=NOW_S) as store:
        store.remember(decision(1))
        with SqliteHistory(path) as history:
            store.remember(replace(decision(2), operator="clean"))
            assert [item["operator"] for item in history.decisions()] == ["clean", "nearest"]
    names = {item.name for item in path.parent.iterdir()}
    with SqliteHistory(path) as history:
        assert len(history.decisions("clean")) == 1
    assert {item.name for item in path.parent.iterdir()} == names


# Who may read it


@pytest.fixture
def open_to_all(tmp_path: Path) -> Iterator[Path]:
    """A directory that everybody may write, under a mask that forbids nothing."""
    folder = tmp_path / "shared"
    folder.mkdir()
    folder.chmod(0o777)
    mask = os.umask(0)
    yield folder
    os.umask(mask)


def modes(folder: Path) -> dict[str, int]:
    return {item.name: stat.S_IMODE(item.stat().st_mode) for item in folder.iterdir()}


def test_a_new_file_and_those_beside_it_are_their_owners_alone(open_to_all: Path) -> None:
    path = open_to_all / "k.sqlite"
    with SqliteKnowledge(path, now_s=NOW_S) as store:
        store.remember(decision(1.0))
        assert modes(open_to_all) == dict.fromkeys(("k.sqlite", "k.sqlite-wal", "k.sqlite-shm"), 0o600)
    path.write_bytes(b"garbage" * 100)
    SqliteKnowledge(path, now_s=NOW_S).close()
    assert modes(open_to_all)["k.sqlite"] == 0o600


@pytest.mark.parametrize("exists", [True, False])
def test_a_link_of_the_user_stays_one(tmp_path: Path, exists: bool) -> None:
    target, link = tmp_path / "disk" / "k.sqlite", tmp_path / "k.sqlite"
    target.parent.mkdir()
    if exists:
        target.write_bytes(b"garbage" * 100)
    link.symlink_to(target)
    begin(link, 1)
    assert link.is_symlink()
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    assert len(list(target.parent.glob("*.corrupt-*"))) == exists
    with SqliteHistory(link) as history:
        assert len(history.decisions()) == 1
