"""The status: rounded figures, exact memory, valid documents."""

import json

from model_summaries import both_laws
from structural import faults

from gesscale.kubernetes.resource.crd import definition
from gesscale.kubernetes.resource.memory import (
    MAX_MEMO_CHARS,
    MAX_READINGS,
    MemoryStatus,
    knowledge_of,
    most_informative,
)
from gesscale.kubernetes.resource.order import MAX_HISTORY, OrderStatus
from gesscale.kubernetes.resource.status import (
    Condition,
    DecisionStatus,
    EstimateStatus,
    LoadStatus,
    ModelStatus,
    StreamAutoscalerStatus,
)
from gesscale.ports import Knowledge
from perfmodel import Reading

STATUS = definition()["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["status"]
MODEL = both_laws()
NOW = 1_800_000_000.0  # 2027-01-15T08:00:00Z


def taken(replicas, at_s, *, nd_max_ms=10.0):
    return Reading(replicas=replicas, nd_max_ms=nd_max_ms, rows_per_s=100.0 * replicas, at_s=at_s)


def test_a_status_document_is_valid_and_has_no_null():
    status = StreamAutoscalerStatus(
        observed_generation=3,
        replicas=2,
        placement=("edge1", "edge2"),
        mst=EstimateStatus(low=600.4, mid=640.123, high=700),
        load=LoadStatus(input_rows_per_s=812.34),
        model=ModelStatus.model_validate(MODEL, from_attributes=True),
        last_decision=DecisionStatus(at_s=NOW, verdict="More", reason="Overloaded", outcome="Ordered"),
        history=(OrderStatus(id="1-1", term=1, placement=("edge1",), at_s=NOW, reason="Overloaded"),),
        conditions=(Condition(type="Ready", status="True", reason="Overloaded", last_transition_time_s=NOW),),
    )
    document = status.document()
    assert "null" not in json.dumps(document)
    assert not list(faults(STATUS, document))
    assert document["mst"] == {"low": 600.0, "mid": 640.0, "high": 700.0, "reason": ""}
    assert document["load"] == {"inputRowsPerSecond": 812.0}
    assert document["model"] == {"law": "batch-time", "fitted": True, "heldOutErrorPercent": 4.0}
    assert document["history"][0]["id"] == "1-1"
    assert document["history"][0]["at"] == "2027-01-15T08:00:00Z"
    assert StreamAutoscalerStatus.model_validate(document).document() == document


def test_a_long_memo_is_not_stored():
    known = Knowledge(memos={"near": "x" * (MAX_MEMO_CHARS + 1), "far": "x" * MAX_MEMO_CHARS})
    assert MemoryStatus.of(known, "near").memo is None
    assert MemoryStatus.of(known, "far").memo == known.memos["far"]


def test_readings_of_many_placements_are_kept():
    # 30 of two replicas, newer than one of three and one of four.
    busy = [taken(2, NOW - 100 - index) for index in range(30)]
    few = [taken(3, NOW - 500), taken(4, NOW - 600)]
    kept = most_informative([*busy, *few])
    assert len(kept) == MAX_READINGS
    assert kept == (*busy[:18], *few)


def test_an_unknown_operator_has_an_empty_memory():
    assert MemoryStatus.of(Knowledge(), "near").document() == {"readings": []}
    assert knowledge_of({"near": MemoryStatus()}) == Knowledge()


def test_the_fullest_status_stays_small():
    readings = tuple(taken(1 + index, NOW + index / 7, nd_max_ms=index / 3) for index in range(MAX_READINGS))
    known = Knowledge(readings={"near": readings})
    order = OrderStatus(id="1-1", term=1, placement=("edge1", "edge2"), at_s=NOW, before=1, reason="Overloaded").ended(
        NOW, 1.23, arrived=True
    )
    status = StreamAutoscalerStatus(order=order, history=(order,) * MAX_HISTORY, memory=MemoryStatus.of(known, "near"))
    assert len(json.dumps(status.document())) < 8192
