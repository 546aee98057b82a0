"""Cells that hold what cannot be: the file is set aside, whenever that is found, and what the loop knows is kept."""

import json
import logging
import os
import sqlite3
import stat
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from gesscale.errors import KnowledgeError
from gesscale.knowledge.history import SqliteHistory
from gesscale.knowledge.sqlite import SqliteKnowledge
from gesscale.model.decision import (
    Analysis,
    Decision,
    MapStatus,
    Outcome,
    OutcomeStatus,
    Plan,
    Reason,
    Rejection,
    Verdict,
)
from gesscale.model.observation import OperatorReading
from gesscale.model.order import Order
from gesscale.ports import Knowledge
from perfmodel import Estimate, GesscaleLaw, Reading

NOW_S = 1_000_000_000.0  # 2001-09-09 01:46:40 UTC
MODEL = GesscaleLaw().fit([Reading(replicas=1, nd_max_ms=0, rows_per_s=1900)])
SEEN = OperatorReading(
    operator="nearest",
    at_s=3.0,
    placement=("edge1",),
    throughput_rows_per_s=float("nan"),  # what is not known becomes null
    saturated_share=1.0,
    busy_share=1.0,
)


def full_decision(at_s: float) -> Decision:
    """Return a decision with all that one may hold."""
    return Decision(
        at_s=at_s,
        operator="nearest",
        policy="gesscale",
        analysis=Analysis(
            operator="nearest",
            verdict=Verdict.MORE,
            reason=Reason.OVERLOADED,
            evidence=(
                Reading(replicas=1, nd_max_ms=0, rows_per_s=1000, batch_rows=9000, tasks=4, at_s=at_s),
            ),
            model=MODEL,
            memo="what it said",
            reading=SEEN,
            mst=Estimate(low=1, mid=2, high=3),
        ),
        plan=Plan(
            operator="nearest",
            reason=Reason.OVERLOADED,
            before=(),
            placement=("edge1",),
            rejections=(Rejection(node="edge7", reason=Reason.FARTHER, detail="far"),),
        ),
        outcome=Outcome(status=OutcomeStatus.APPLIED, added=("edge1",), seconds=6.2),
        latency_map=MapStatus(age_s=5.0),
    )


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "knowledge.sqlite"
    with SqliteKnowledge(path, now_s=NOW_S) as store:
        for at_s in (1.0, 2.0, 3.0):
            store.remember(full_decision(at_s))
    return path


def damage(path: Path, *statements: str) -> None:
    """Write what a broken disk might: SQLite itself keeps a table to the kinds of its columns, so these go first."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.executescript(
        "PRAGMA writable_schema = ON; "
        "UPDATE sqlite_schema SET sql = replace(replace(replace(sql, ') STRICT', ')'), 'NOT NULL', ''), 'PRIMARY KEY', "
        "'PRIMARY KEY') WHERE type = 'table'; PRAGMA writable_schema = OFF;"
    )
    connection.close()
    connection = sqlite3.connect(path, isolation_level=None)
    for statement in statements:
        connection.execute(statement)
    connection.close()


def document(table: str, **changes: object) -> str:
    """Return the statement that changes members of the newest document of a table."""
    parts = ", ".join(
        f"'$.{name.replace('__', '.')}', json('{json.dumps(value)}')" for name, value in changes.items()
    )
    return f"UPDATE {table} SET document = json_set(document, {parts}) WHERE rowid = 1"  # noqa: S608 - our own words


def cell(table: str, column: str, value: str) -> str:
    return f"UPDATE {table} SET {column} = {value} WHERE rowid = (SELECT min(rowid) FROM {table})"  # noqa: S608 - our own words


IMPOSSIBLE_TIMES = ("'now'", "1e308", "9e999", "-1.0", "NULL", "4.2e9", "X'00'")
DAMAGES = (
    *(
        cell(table, "at_s", value)
        for table in ("reading", "placement_order", "memo")
        for value in IMPOSSIBLE_TIMES
    ),
    *(cell(table, "at_s", "'now'") for table in ("model", "decision")),
    *(cell(table, "operator", "NULL") for table in ("reading", "placement_order", "model", "decision")),
    cell("reading", "operator", "''"),
    cell("reading", "operator", "CAST(X'ff' AS TEXT)"),
    *(
        cell("reading", "replicas", value)
        for value in ("0", "-1", "'two'", "1.5", "9223372036854775807", "NULL")
    ),
    *(cell("reading", "nd_max_ms", value) for value in ("-1.0", "'far'", "9e999", "1e300", "NULL")),
    *(cell("reading", "rows_per_s", value) for value in ("0.0", "-5.0", "1e308", "5e-324", "'fast'")),
    *(cell("reading", "saturated", value) for value in ("2", "-1", "'yes'", "NULL", "0.5")),
    *(cell("reading", "batch_rows", value) for value in ("0.0", "'full'", "9e999")),
    *(cell("reading", "tasks", value) for value in ("0", "'some'", "2.5")),
    *(cell("reading", "weight", value) for value in ("0.0", "'heavy'", "1e31")),
    *(
        cell("placement_order", "placement", value)
        for value in (
            "'edge1'",
            "'{}'",
            "'[1]'",
            "'[\"\"]'",
            "'null'",
            "'[\"a\"'",
            "''",
            "NULL",
            "5",
        )
    ),
    cell("placement_order", "placement", "replace(hex(zeroblob(5000)), '0', '[')"),
    *(cell("placement_order", "downtime_s", value) for value in ("-1.0", "1e300", "9e999", "'long'")),
    cell("memo", "text", "X'00ff'"),
    cell("memo", "text", "CAST(X'c328' AS TEXT)"),
    cell("memo", "text", "NULL"),
    cell("memo", "text", "hex(zeroblob(5000000))"),
    *(
        cell("model", "document", value)
        for value in ("''", "'null'", "'[]'", "'{}'", "'{\"law\": NaN}'", "NULL", "7")
    ),
    document("model", law=5),
    document("model", parameters={"alpha": "much"}),
    document("model", parameters=[]),
    document("model", fitted="alpha"),
    document("model", readings_used=-1),
    document("model", calibrated="yes"),
    document("model", warnings=[1]),
    *(cell("decision", "document", value) for value in ("''", "'null'", "'[]'", "'{}'", ["'{'", " NULL"][0])),
    cell("decision", "document", "replace(hex(zeroblob(5000)), '0', '[')"),
    cell("decision", "acted", "7"),
    document("decision", at_s="now"),
    document("decision", at_s=1e300),
    document("decision", sentence=None),
    document("decision", analysis=None),
    document("decision", analysis__mst={"low": 1}),
    document("decision", analysis__mst__low="little"),
    document("decision", analysis__headroom_pct="much"),
    document("decision", analysis__reading={"placement": "edge1"}),
    document("decision", analysis__reading__backlog_rows="many"),
    document("decision", analysis__model__parameters={"alpha": []}),
    document("decision", plan__placement="edge1"),
    document("decision", plan__rejections=[{"node": "edge7"}]),
    document("decision", plan__nd_max_ms="far"),
    document("decision", outcome__seconds="long"),
    document("decision", outcome__status=None),
    document("decision", latency_map={"age_s": 1, "colour": "red"}),
    "UPDATE decision SET document = json_remove(document, '$.plan.mst') WHERE rowid = 1",
    "DROP TABLE reading",
    "ALTER TABLE reading DROP COLUMN weight",
    "ALTER TABLE decision RENAME COLUMN document TO text",
    "CREATE TRIGGER greedy AFTER INSERT ON decision BEGIN DELETE FROM reading; END",
    "CREATE VIEW strange AS SELECT 1",
)


@pytest.mark.parametrize("statement", DAMAGES)
def test_a_file_with_such_a_cell_is_set_aside_with_a_message_and_replaced(
    path: Path, statement: str, caplog: pytest.LogCaptureFixture
) -> None:
    damage(path, statement)
    before = path.read_bytes()
    with caplog.at_level(logging.WARNING), SqliteKnowledge(path, now_s=NOW_S) as store:
        assert store.recall(NOW_S) == Knowledge()
        store.remember(full_decision(4.0))
        assert [item["at_s"] for item in store.decisions()] == [4.0]
    side_files = path.with_name("knowledge.sqlite.corrupt-20010909T014640Z")
    assert side_files.read_bytes() == before
    (message,) = [record.getMessage() for record in caplog.records]
    assert message.startswith(f"knowledge file {path}: ")
    assert message.endswith(f"it is kept as {side_files.name} and a new file is begun")
    assert message.isprintable()
    assert len(message) < 600
    with SqliteKnowledge(path, now_s=NOW_S) as store:  # the new one is sound
        assert [item["at_s"] for item in store.decisions()] == [4.0]


def read_all(path: Path) -> None:
    with SqliteHistory(path) as history:
        history.recall(NOW_S)
        history.decisions()
        history.models()


@pytest.mark.parametrize(
    "statement", [each for each in DAMAGES if "CREATE" not in each and "acted" not in each]
)
def test_who_only_reads_says_it_in_one_line_and_changes_nothing(path: Path, statement: str) -> None:
    damage(path, statement)
    before = {item.name: item.read_bytes() for item in path.parent.iterdir()}
    with pytest.raises(KnowledgeError) as caught:
        read_all(path)
    assert str(caught.value).startswith(f"knowledge file {path}: ")
    assert str(caught.value).isprintable()
    assert "it is corrupt, or no knowledge file (the loop sets such a file aside)" in str(caught.value)
    assert {item.name: item.read_bytes() for item in path.parent.iterdir()} == before


@pytest.mark.parametrize(
    "statement",
    [
        each
        for each in DAMAGES
        if each.split()[1] in {"reading", "placement_order", "memo", "TABLE"} and "decision" not in each
    ],
)
def test_what_breaks_while_the_loop_runs_is_known_all_the_same(
    path: Path, statement: str, caplog: pytest.LogCaptureFixture
) -> None:
    with SqliteKnowledge(path, now_s=NOW_S) as store:
        store.remember(full_decision(4.0))
        before = store.recall(NOW_S)
        assert before.pending("nearest") is not None  # a change is under way
        damage(path, statement)
        with caplog.at_level(logging.WARNING):
            assert store.recall(NOW_S + 60) == before
        store.settle("nearest", before.orders["nearest"][0].ended(NOW_S, 5.0, arrived=True))
        store.remember(full_decision(5.0))
        known = store.recall(NOW_S + 60)
    assert [each.at_s for each in known.readings["nearest"]] == [5.0, 4.0, 3.0, 2.0, 1.0]
    assert known.orders["nearest"][1].downtime_s == 5.0
    assert known.memos == {"nearest": "what it said"}
    assert len([record for record in caplog.records if "a new file is begun" in record.getMessage()]) == 1
    with SqliteKnowledge(path, now_s=NOW_S) as store:
        assert store.recall(NOW_S + 60) == known
        assert [item["at_s"] for item in store.decisions()] == [5.0]


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE model SET document = '{}'",
        "DROP TABLE model",
        "DROP TABLE decision",
        "DROP TABLE placement_order",
    ],
)
def test_what_breaks_before_a_decision_is_kept_does_not_lose_it(path: Path, statement: str) -> None:
    with SqliteKnowledge(path, now_s=NOW_S) as store:
        before = store.recall(NOW_S)
        damage(path, statement)
        if "decision" in statement or "placement_order" in statement:
            store.recall(NOW_S)  # a step recalls before it remembers
        if "decision" not in statement:
            store.remember(full_decision(4.0))
            assert [item["at_s"] for item in store.decisions()] == [4.0]
            assert store.recall(NOW_S).readings["nearest"][1:] == before.readings["nearest"]


def test_an_order_that_was_given_a_moment_ago_is_not_forgotten(path: Path) -> None:
    # Else the loop would take the replica that is about to come for one that is missing, or scale again.
    with SqliteKnowledge(path, now_s=NOW_S) as store:
        store.remember(replace(full_decision(10.0), operator="clean"))
        change = Order(at_s=10.0, placement=("edge1",), before=0, reason=Reason.OVERLOADED)
        damage(path, "UPDATE reading SET rows_per_s = 'fast'")
        assert store.recall(NOW_S).pending("clean") == change


def test_a_file_that_cannot_be_replaced_is_done_without_until_something_is_to_be_kept(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with SqliteKnowledge(path, now_s=NOW_S) as store:
        before = store.recall(NOW_S)
        monkeypatch.setattr("gesscale.knowledge.file._MAX_ASIDE", 0)  # as on a disk that takes no new name
        damage(path, "UPDATE reading SET rows_per_s = 'fast'")
        assert store.recall(NOW_S) == before
        with pytest.raises(KnowledgeError):
            store.remember(full_decision(4.0))


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
    with SqliteKnowledge(open_to_all / "k.sqlite", now_s=NOW_S) as store:
        store.remember(full_decision(1.0))
        assert modes(open_to_all) == dict.fromkeys(("k.sqlite", "k.sqlite-wal", "k.sqlite-shm"), 0o600)


def test_so_is_the_one_that_takes_the_place_of_a_corrupt_one(open_to_all: Path) -> None:
    path = open_to_all / "k.sqlite"
    path.write_bytes(b"garbage" * 100)
    SqliteKnowledge(path, now_s=NOW_S).close()
    assert modes(open_to_all)["k.sqlite"] == 0o600


def test_the_mode_of_a_file_that_is_there_is_said_and_left_alone(
    open_to_all: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = open_to_all / "k.sqlite"
    SqliteKnowledge(path, now_s=NOW_S).close()
    assert caplog.text == ""
    path.chmod(0o644)
    with caplog.at_level(logging.WARNING):
        SqliteKnowledge(path, now_s=NOW_S).close()
    assert f"knowledge file {path}: others may use it (mode 644); run: chmod 600 on it" in caplog.text
    assert modes(open_to_all)["k.sqlite"] == 0o644


@pytest.mark.parametrize("exists", [True, False])
def test_a_link_of_the_user_stays_one(tmp_path: Path, exists: bool) -> None:
    target, link = tmp_path / "disk" / "k.sqlite", tmp_path / "k.sqlite"
    target.parent.mkdir()
    if exists:
        target.write_bytes(b"garbage" * 100)
    link.symlink_to(target)
    with SqliteKnowledge(link, now_s=NOW_S) as store:
        store.remember(full_decision(1.0))
    assert link.is_symlink()
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    assert len(list(target.parent.glob("*.corrupt-*"))) == exists
    with SqliteHistory(link) as history:
        assert len(history.decisions()) == 1
