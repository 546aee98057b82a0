"""Served records become batches; what is not a record is said."""

import json

import pytest

from gesscale.errors import MetricsUnavailableError
from gesscale.monitor.records import parse_document, to_batches
from gesscale.observation import Batch

RECORD = {
    "batch_id": 4,
    "ended_at_s": 1000.0,
    "rows": 120,
    "seconds": 1.5,
    "trigger_s": 2.0,
    "cap_rows": 200,
    "offered_rows_total": 900,
    "processed_rows_total": 700,
    "backlog_rows": 200,
    "replicas": 2,
    "hosts": ["10.77.0.3", "10.77.0.2"],
}
HEAD = {"apiVersion": "gesscale.dev/v1", "app": "a", "operator": "op", "query": "q", "now_s": 1001.0}


def test_a_record_becomes_a_batch_on_named_nodes() -> None:
    batches, complaints = to_batches([RECORD], {"10.77.0.2": "near"}, ahead_s=10.0)
    assert batches == [
        Batch(
            batch_id=4,
            ended_at_s=990.0,
            rows=120,
            seconds=1.5,
            nodes=("10.77.0.3", "near"),
            trigger_s=2.0,
            cap_rows=200,
            offered_rows_total=900.0,
            backlog_rows=200.0,
        )
    ]
    assert complaints == []


def test_null_and_nan_say_that_a_source_does_not_tell() -> None:
    batches, _ = to_batches([{**RECORD, "offered_rows_total": None, "backlog_rows": float("nan")}], {})
    assert (batches[0].offered_rows_total, batches[0].backlog_rows) == (None, None)


@pytest.mark.parametrize(
    ("wrong", "complaint"),
    [
        ({"rows": -1}, "rows: Input should be greater than or equal to 0, got -1"),
        ({"rows": float("nan")}, "rows"),
        ({"seconds": float("inf")}, "seconds"),
        ({"ended_at_s": "noon"}, "ended_at_s"),
        ({"hosts": None}, "hosts"),
    ],
)
def test_a_record_that_is_none_is_left_out_and_said(wrong: dict[str, object], complaint: str) -> None:
    batches, complaints = to_batches([{**RECORD, **wrong}, RECORD, "text"], {})
    assert [batch.batch_id for batch in batches] == [4]
    assert complaints[0].startswith("record 0 is dropped: " + complaint)
    assert complaints[1].startswith("record 2 is dropped: ")


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"<!DOCTYPE html><html>", "21 bytes that begin '<!DOCTYPE html><html>'"),
        (json.dumps({**HEAD, "batches": [RECORD]}).encode()[:-5], "Invalid JSON"),
        (b"", "0 bytes"),
        (b'{"batches": []}', "apiVersion"),
        (json.dumps({**HEAD, "apiVersion": "gesscale.dev/v9", "batches": []}).encode(), "gesscale.dev/v9"),
        (json.dumps({**HEAD, "operator": "other", "batches": []}).encode(), "the one of 'other' answered"),
    ],
)
def test_an_answer_that_is_no_document_says_what_came(body: bytes, said: str) -> None:
    with pytest.raises(MetricsUnavailableError) as raised:
        parse_document(body, "op")
    assert said in str(raised.value)
