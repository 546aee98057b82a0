"""Knowledge that a new controller restores from the statuses."""

import pytest
from kube import EPOCH_S, order
from refusals import logged_codes

from gesscale.kubernetes.controller.workflow_controller import restored_state

MEMORY = {
    "readings": [{"replicas": 1, "ndMaxMs": 5.0, "rowsPerSecond": 500.0, "saturated": True, "atSeconds": EPOCH_S - 60}]
}
CHANGE = {"at": "2023-11-14T22:12:50Z", "from": 1, "to": 2, "reason": "Overloaded", "outcome": "Ordered"}


def restored(**status):
    return restored_state({"op": status}, EPOCH_S)


def test_readings_and_memo_are_restored():
    found = restored(memory={**MEMORY, "memo": "a memo"}, history=[CHANGE], order=order(1, "a", "b"))
    assert [each.rows_per_s for each in found.known.readings["op"]] == [500.0]
    assert found.known.memos == {"op": "a memo"}
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
def test_a_missing_memory_is_detected(status):
    assert restored(**status).lost == {"op"}


NONSENSE = [
    *({"replicas": value} for value in (0, -1, 10**400, "many", None, 1.5)),
    *({"rowsPerSecond": value} for value in (0, -5.0, 1e308, float("nan"), "fast")),
    *({"ndMaxMs": value} for value in (-1, 1e300, float("inf"))),
    *({"atSeconds": value} for value in (1e308, -1.0, 1e12, "now")),
    {"batchRows": 5e-324},
]


@pytest.mark.parametrize("change", NONSENSE, ids=lambda change: f"{next(iter(change))}")
def test_an_invalid_reading_is_ignored_with_a_warning(change, caplog):
    sound = MEMORY["readings"][0]
    found = restored(memory={**MEMORY, "readings": [{**sound, **change}, sound, 5]}, history=[CHANGE])
    assert [each.rows_per_s for each in found.known.readings["op"]] == [500.0]
    assert found.lost == {"op"}  # so it pauses before it scales
    (message,) = [record.getMessage() for record in caplog.records]
    assert logged_codes(message) == ["status-memory-invalid"]
    assert message.isprintable()
    assert len(message) < 1000


@pytest.mark.parametrize(
    ("part", "value"),
    [("readings", "none"), ("readings", {"a": 1}), ("memo", "x" * 70_000), ("memo", "\ud800"), ("memo", 5)],
)
def test_other_invalid_parts_are_ignored_alone(part, value, caplog):
    found = restored(memory={**MEMORY, "memo": "a memo", part: value}, order=order(1, "a", "b")).known
    kept = {"readings": bool(found.readings), "memo": bool(found.memos)}
    assert kept == {name: name != part for name in kept}
    assert logged_codes(caplog.text) == ["status-memory-invalid"]
