"""What a new controller takes over from the statuses."""

import pytest
from kube import EPOCH_S, order

from gesscale.knowledge.memory import MemoryKnowledge
from gesscale.knowledge.sqlite import SqliteKnowledge
from gesscale.kubernetes.resuming import open_store, read_legacy

MEMORY = {
    "readings": [
        {"replicas": 1, "ndMaxMs": 5.0, "rowsPerSecond": 500.0, "saturated": True, "atSeconds": EPOCH_S - 60}
    ],
    "reconfiguration": {"atSeconds": EPOCH_S - 30, "placement": ["a", "b"]},
}
CHANGE = {"at": "2023-11-14T22:12:50Z", "from": 1, "to": 2, "reason": "Overloaded", "outcome": "Ordered"}


def legacy(**status):
    return read_legacy({"op": status}, EPOCH_S)


def test_readings_and_the_change_under_way_are_taken_over():
    found = legacy(memory={**MEMORY, "memo": "what it said"}, history=[CHANGE], order=order(1, "a", "b"))
    assert [each.rows_per_s for each in found.known.readings["op"]] == [500.0]
    assert found.known.pending("op").placement == ("a", "b")
    assert found.known.memos == {"op": "what it said"}
    assert found.lost == frozenset()


@pytest.mark.parametrize(
    "status",
    [
        {"history": [CHANGE]},
        {"order": order(1, "a", "b")},
        {"memory": {}, "history": [CHANGE]},
        {"memory": {"readings": "none"}, "order": order(1, "a", "b")},
        {"memory": None, "history": [CHANGE]},
    ],
)
def test_a_memory_that_must_have_been_there_is_missed(status):
    assert legacy(**status).lost == {"op"}


@pytest.mark.parametrize(
    "status", [{}, {"replicas": 1}, {"memory": {}}, {"memory": {}, "order": order(1, "a")}]
)
def test_a_new_operator_has_lost_nothing(status):
    assert legacy(**status).lost == frozenset()


def test_what_is_dated_later_than_now_counts_as_of_now():
    ahead = {
        "readings": [{**MEMORY["readings"][0], "atSeconds": EPOCH_S + 3600}],
        "reconfiguration": {"atSeconds": EPOCH_S + 3600, "placement": ["a"]},
    }
    known = legacy(memory=ahead).known
    assert known.readings["op"][0].at_s == EPOCH_S
    assert known.pending("op").at_s == EPOCH_S


def test_files_of_other_leaders_are_deleted_and_those_of_other_workflows_are_not(tmp_path):
    for name in (
        "streams_taxi_1_old.sqlite",
        "streams_taxi_1_old.sqlite-wal",
        "streams_taxi.clean_1_x.sqlite",
    ):
        (tmp_path / name).touch()
    store = open_store(tmp_path / "streams_taxi_2_new.sqlite", "streams_taxi_*.sqlite*", EPOCH_S)
    assert isinstance(store, SqliteKnowledge)
    kept = {file.name for file in tmp_path.iterdir() if not file.name.endswith(("-wal", "-shm"))}
    store.close()
    assert kept == {"streams_taxi_2_new.sqlite", "streams_taxi.clean_1_x.sqlite"}


def test_without_a_place_for_a_file_it_goes_on_in_memory(tmp_path, caplog):
    (tmp_path / "in-the-way").touch()
    store = open_store(tmp_path / "in-the-way" / "file.sqlite", "*", EPOCH_S)
    assert isinstance(store, MemoryKnowledge)
    assert "no history is kept, the statuses keep what matters" in caplog.text
