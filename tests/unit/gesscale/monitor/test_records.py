"""Parsing served records into batches, and reporting invalid ones."""

import json

import pytest
from refusals import refused

from gesscale.batch_record import HostWork
from gesscale.errors import MetricsUnavailableError
from gesscale.model.observation import Batch
from gesscale.monitor.records import parse_document, to_batches

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
    batches, problems, work = to_batches([RECORD], {"10.77.0.2": "near"}, ahead_s=10.0)
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
    assert problems == []
    assert work == {}, "an old record"


def test_a_record_has_output_rows_and_work_of_each_replica() -> None:
    by_host = {
        "10.77.0.3": {"rows": 20, "busy_s": 0.3, "cpu_s": 0.2},
        "10.77.0.2": {"rows": 60, "busy_s": 0.6, "later": 1},
    }
    parsed = to_batches(
        [{**RECORD, "output_rows": 7.0, "by_host": by_host}, {**RECORD, "batch_id": 5, "ended_at_s": 1002.0}],
        {"10.77.0.2": "near"},
        ahead_s=10.0,
    )
    assert [batch.output_rows for batch in parsed.batches] == [7, None]
    assert parsed.work == {
        990.0: {"near": HostWork(rows=60.0, busy_s=0.6), "10.77.0.3": HostWork(rows=20.0, busy_s=0.3, cpu_s=0.2)}
    }


def test_figures_of_the_hosts_of_a_node_add_up_if_all_report_them() -> None:
    def on_one_node(**second: float) -> HostWork:
        by_host = {"a": {"rows": 1, "busy_s": 0.3, "cpu_s": 0.2}, "b": {"rows": 2, "busy_s": 0.5, **second}}
        (work,) = to_batches([{**RECORD, "by_host": by_host}], {"a": "n", "b": "n"}).work.values()
        return work["n"]

    assert on_one_node(cpu_s=0.4) == HostWork(rows=3.0, busy_s=0.8, cpu_s=pytest.approx(0.6))
    assert on_one_node() == HostWork(rows=3.0, busy_s=0.8)


@pytest.mark.parametrize(
    "wrong",
    [None, [], {"a": {"rows": -1, "busy_s": 1}}, {"a": {"rows": 1}}, {"a": {"rows": 1, "busy_s": float("nan")}}],
)
def test_invalid_work_of_replicas_is_ignored(wrong: object) -> None:
    parsed = to_batches([{**RECORD, "by_host": wrong}], {})
    assert (len(parsed.batches), parsed.problems, parsed.work) == (1, [], {})


@pytest.mark.parametrize("wrong", [[1], {"a": "much"}, {"a": None}, "x", 3])
def test_invalid_observed_metrics_are_ignored(wrong: object) -> None:
    parsed = to_batches([{**RECORD, "observed": wrong}, {**RECORD, "observed": {"a.b": 1}}], {})
    assert [batch.observed for batch in parsed.batches] == [None, {"a.b": 1.0}]
    assert parsed.problems == []


@pytest.mark.parametrize(
    ("wrong", "key"),
    [
        ({"rows": -1}, "rows"),
        ({"rows": float("nan")}, "rows"),
        ({"seconds": float("inf")}, "seconds"),
        ({"ended_at_s": "noon"}, "ended_at_s"),
        ({"hosts": None}, "hosts"),
    ],
)
def test_invalid_records_are_skipped_and_reported(wrong: dict[str, object], key: str) -> None:
    batches, problems, _ = to_batches([{**RECORD, **wrong}, RECORD, "text"], {})
    assert [batch.batch_id for batch in batches] == [4]
    assert {problem.code for problem in problems} == {"batch-record-invalid"}
    assert [problem.fields["record"] for problem in problems] == [0, 2]
    assert problems[0].fields["key"] == key


@pytest.mark.parametrize(
    ("body", "code", "fields"),
    [
        (b"<!DOCTYPE html><html>", "batches-response-invalid", {"bytes": 21, "key": ""}),
        (json.dumps({**HEAD, "batches": [RECORD]}).encode()[:-5], "batches-response-invalid", {"key": ""}),
        (b"", "batches-response-invalid", {"bytes": 0}),
        (b'{"batches": []}', "batches-response-invalid", {"key": "apiVersion"}),
        (
            json.dumps({**HEAD, "apiVersion": "gesscale.dev/v9", "batches": []}).encode(),
            "batches-response-invalid",
            {"key": "apiVersion"},
        ),
        (json.dumps({**HEAD, "operator": "other", "batches": []}).encode(), "batches-operator-differs", {}),
        (b"[" * 200_001, "batches-response-oversized", {"max_values": 200_000}),
        (json.dumps({**HEAD, "batches": [None] * 1025}).encode(), "batches-response-invalid", {"key": "batches"}),
    ],
)
def test_invalid_responses_are_rejected(body: bytes, code: str, fields: dict[str, object]) -> None:
    with refused(code, MetricsUnavailableError, operator="op", **fields):
        parse_document(body, "op")


HIDDEN = "words-of-another-page"


@pytest.mark.parametrize(
    "body",
    [
        HIDDEN.encode(),
        json.dumps(HIDDEN).encode(),
        json.dumps({HIDDEN: HIDDEN}).encode(),
        json.dumps({**HEAD, "apiVersion": HIDDEN, "batches": []}).encode(),
        json.dumps({**HEAD, "operator": HIDDEN, "batches": []}).encode(),
        json.dumps({**HEAD, "now_s": HIDDEN, "batches": []}).encode(),
        json.dumps({**HEAD, "batches": HIDDEN}).encode(),
    ],
)
def test_errors_never_repeat_the_response(body: bytes) -> None:
    with pytest.raises(MetricsUnavailableError) as raised:
        parse_document(body, "op")
    assert HIDDEN not in str(raised.value)
    assert HIDDEN not in repr(raised.value.fields)
