"""What the commands do with a knowledge file: read, kept, broken, another's."""

import sqlite3

import pytest
from edge import ACTING, only_decision


def test_advice_reads_knowledge_and_writes_none(gesscale, site):
    site.serve_overload()
    gesscale("recommend", "-c", site.config)
    assert not site.knowledge.exists()
    gesscale("once", "-c", site.config)
    before = site.knowledge.read_bytes()
    code, _, _ = gesscale("recommend", "-c", site.config)
    assert (code, site.knowledge.read_bytes()) == (0, before)


def test_a_knowledge_file_that_is_garbage_is_set_aside_and_said(gesscale, site, caplog):
    site.knowledge.write_bytes(b"garbage" * 1000)
    site.serve_overload()
    code, _, _ = gesscale("once", "-c", site.config)
    (side_files,) = site.folder.glob("knowledge.sqlite.corrupt-*")
    assert code == 0
    assert side_files.read_bytes() == b"garbage" * 1000
    assert side_files.name in caplog.text


def _spoil(path, kind):
    with sqlite3.connect(path) as broken:
        broken.execute("UPDATE knowledge SET document = '[]' WHERE kind = ?", (kind,))
    broken.close()


@pytest.mark.parametrize("kind", ["order", "decision"])
def test_a_knowledge_file_with_a_broken_document_is_told_by_explain_and_set_aside_by_once(
    gesscale, site, caplog, kind
):
    site.serve_overload()
    assert gesscale("once", "-c", site.config, *ACTING)[0] == 0
    _spoil(site.knowledge, kind)
    before = _touch(site.knowledge)
    if kind == "decision":
        code, out, err = gesscale("explain", "-c", site.config)
        assert (code, out, err.count("\n")) == (1, "", 1)
        assert f"error: knowledge file {site.knowledge}: " in err
        assert _touch(site.knowledge) == before
    code, out, _ = gesscale("once", "-c", site.config, "--output", "json")
    (side_files,) = site.folder.glob("knowledge.sqlite.corrupt-*")
    assert code == 0
    assert only_decision(out)["operator"] == "op"
    assert side_files.name in caplog.text
    assert gesscale("explain", "-c", site.config)[0] == 0


def test_a_knowledge_file_that_breaks_while_the_loop_runs_costs_no_step_and_no_replica(
    gesscale, site, caplog
):
    asked = []

    def before():
        asked.append(1)
        if len(asked) == 2:  # the first step has added a replica, which is still to come
            with sqlite3.connect(site.knowledge) as broken:
                broken.execute("DROP TABLE knowledge")
            broken.close()

    site.serve_overload(before)
    # Batches take 2.5 s: a window as short as the period would hold none.
    quick = ("--set", "monitor.period=1s", "--set", "monitor.window=60s")
    code, _, err = gesscale("run", "-c", site.config, "--steps", 3, *quick, *ACTING)
    assert code == 0
    assert err.splitlines()[-1].endswith("stopped after 3 steps")
    # Who has forgotten the change that is under way would add another, or take one away.
    assert site.cluster.orders == [("op", ("hub", "mid", "near"))]
    assert len(list(site.folder.glob("knowledge.sqlite.corrupt-*"))) == 1
    assert "a new file is begun" in caplog.text


def _make_directory(path):
    path.mkdir()


def _make_database_of_another(path):
    with sqlite3.connect(path) as other:
        other.execute("CREATE TABLE theirs (a)")
    other.close()


def _make_newer(path):
    with sqlite3.connect(path) as newer:
        newer.execute("PRAGMA application_id = 0x67657363")
        newer.execute("PRAGMA user_version = 99")
        newer.execute("CREATE TABLE ours (a)")
    newer.close()


def _touch(path):
    """Return what writing would change; merely reading may change the time of access."""
    state = path.stat()
    return state.st_ino, state.st_mode, state.st_size, state.st_mtime_ns


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (_make_directory, "must not be a directory"),
        (_make_database_of_another, "got the database of another program"),
        (_make_newer, "its schema is version 99"),
    ],
)
def test_a_knowledge_file_that_is_not_ours_to_use_exits_1_and_is_left_alone(gesscale, site, make, said):
    make(site.knowledge)
    before = _touch(site.knowledge)
    code, out, err = gesscale("once", "-c", site.config)
    assert (code, out) == (1, "")
    assert said in err
    assert _touch(site.knowledge) == before
