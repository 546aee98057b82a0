import json
from pathlib import Path

import pytest
from refusals import refused

from gesscale.errors import InputError
from gesscale.spark.records import RING_BATCHES, ExecutorSnapshot, QueryHistory, QuerySettings

STATEFUL = Path(__file__).parents[3] / "data" / "progress" / "stateful.json"
TWO = ExecutorSnapshot(at_s=0.0, hosts=("10.77.0.2", "10.77.0.3"))
THREE = ExecutorSnapshot(at_s=5.0, hosts=("10.77.0.2", "10.77.0.3", "10.77.0.4"))


def settings(**changes):
    return QuerySettings(**{"app": "taxi", "operator": "nearest", "trigger_s": 2.0, **changes})


def report(batch_id=0, rows=100, start="None", end='{"rows": 100}', latest='{"rows": 350}', ran=True, ms=1500):
    durations = {"triggerExecution": ms, **({"addBatch": 900} if ran else {})}
    source = {"startOffset": start, "endOffset": end, "latestOffset": latest}
    return {
        "batchId": batch_id, "numInputRows": rows, "timestamp": "2026-11-20T10:00:00.000Z",
        "durationMs": durations, "sources": [source],
    }  # fmt: skip


def add(history, progress, given=None, planned_with=TWO, now=TWO, **work):
    return history.add(progress, given or settings(), planned_with=planned_with, now=now, **work)


def test_offered_and_backlog_come_from_the_latest_offset():
    batch = add(QueryHistory(query="q"), report())
    # the first batch took 100 rows up to offset 100, so the query started at 0: 350 offered, backlog 350 - 100
    assert (batch.offered_rows_total, batch.backlog_rows, batch.processed_rows_total) == (350.0, 250.0, 100)
    assert (batch.seconds, batch.ended_at_s - batch.started_at_s) == (1.5, 1.5)


def test_a_topic_is_known_by_its_end_offsets_and_partitions():
    progress = report(rows=30, start='{"rides": {"0": 400, "1": 0}}', end='{"rides": {"0": 430, "1": 0}}',
                      latest='{"rides": {"0": 500, "1": 7}}')  # fmt: skip
    progress["sources"][0]["description"] = "KafkaV2[Subscribe[rides]]"
    batch = add(QueryHistory(query="q"), progress, tasks=2)
    assert (batch.end_offset_rows_total, batch.offered_rows_total) == (507.0, 107.0)  # the query began at offset 400
    assert (batch.source_partitions, batch.tasks) == (2, 2)


@pytest.mark.parametrize(
    ("sink", "observed", "rows"),
    [
        ({"numOutputRows": 70}, {"gesscale": {"output_rows": 5}}, 70),
        ({"numOutputRows": 0}, {}, 0),
        ({"numOutputRows": -1}, {"gesscale": {"output_rows": 5}, "other": {"n": 1}}, 5),
        ({"numOutputRows": -1}, {"gesscale": {"output_rows": 0}}, 0),
        ({"numOutputRows": -1}, {"other": {"output_rows": 5}}, None),
        ({"numOutputRows": None}, {"gesscale": {"output_rows": None}}, None),
        (None, None, None),
    ],
)
def test_output_rows_come_from_the_sink_or_else_the_query(sink, observed, rows):
    progress = report() | {"sink": sink, "observedMetrics": observed}
    assert add(QueryHistory(query="q"), progress).output_rows == rows


def test_numbers_that_the_query_observes_are_kept():
    rows = {
        "orders": {"oldest_s": 4.5, "count": 3, "name": "x", "none": None},
        "gesscale": {"output_rows": 5, "mine": 1},
    }
    batch = add(QueryHistory(query="q"), report() | {"observedMetrics": rows})
    assert batch.observed == {"orders.oldest_s": 4.5, "orders.count": 3.0, "gesscale.mine": 1.0}
    many = {"m": {f"c{index}": index for index in range(100)}}
    assert len(add(QueryHistory(query="q"), report() | {"observedMetrics": many}).observed) == 32
    assert (
        add(QueryHistory(query="q"), report() | {"observedMetrics": {"gesscale": {"output_rows": 5}}}).observed is None
    )


def test_the_state_is_the_sum_of_the_operators_that_keep_one():
    batch = add(QueryHistory(query="q"), json.loads(STATEFUL.read_text("utf-8")))
    # an aggregation of 28 rows and a deduplication of 120; 9,064 and 28,064 bytes
    assert (batch.state_rows, batch.state_bytes) == (148, 37128)


@pytest.mark.parametrize(
    ("operators", "state"),
    [
        ([], (None, None)),
        (None, (None, None)),
        ([{"numRowsTotal": 0, "memoryUsedBytes": 0}], (0, 0)),
        ([{"numRowsTotal": 5, "memoryUsedBytes": 9}, {"numRowsTotal": 2}], (7, None)),
        ([{"numRowsTotal": 5, "memoryUsedBytes": 9}, {"numRowsTotal": None, "memoryUsedBytes": 1}], (None, 10)),
    ],
)
def test_a_partly_unreported_state_is_unknown(operators, state):
    batch = add(QueryHistory(query="q"), report() | {"stateOperators": operators})
    assert (batch.state_rows, batch.state_bytes) == state


def test_the_cap_is_that_of_the_replicas_it_was_planned_with():
    batch = add(QueryHistory(query="q"), report(), settings(cap_rows_per_replica=1000), TWO, THREE)
    assert (batch.cap_rows, batch.replicas) == (2000, 3)
    assert batch.hosts_at_start == TWO.hosts
    assert batch.hosts == THREE.hosts


def test_only_the_newest_batches_are_kept():
    history = QueryHistory(query="q")
    for number in range(RING_BATCHES + 3):
        add(history, report(number))
    assert [history.batches[0].batch_id, history.batches[-1].batch_id] == [3, RING_BATCHES + 2]


@pytest.mark.parametrize(
    ("wrong", "code"),
    [
        ({"operator": ""}, "operator-name-empty"),
        *(({"cap_rows": value}, "number-not-positive") for value in (0, -5)),
        *(({"trigger_s": value}, "number-not-positive") for value in (float("nan"), 0.0)),
        ({"python_cpu_s_per_row": -0.1}, "number-not-positive"),
        ({"cap_rows": 10, "cap_rows_per_replica": 10}, "batch-caps-conflict"),
    ],
)
def test_invalid_settings_are_rejected(wrong, code):
    with refused(code, InputError, source="gesscale.spark.attach"):
        settings(**wrong)


@pytest.mark.parametrize(
    ("trigger_s", "reported_s", "now_s", "since_s"),
    [
        (2.0, 1.5, 14.0, None),  # an idle report may still come: due at 2 s, and at most every 10 s
        (2.0, 1.5, 15.0, 2.0),
        (2.0, 100.0, 112.0, None),  # idle at 100 s
        (2.0, 100.0, 114.0, 100.0),
        (600.0, 1.5, 600.0, None),  # waits for its trigger
        (600.0, 1.5, 613.0, 600.0),
        (None, 1.5, 13.0, 1.5),
    ],
)
def test_a_batch_runs_if_neither_its_end_nor_idling_is_reported(trigger_s, reported_s, now_s, since_s):
    history = QueryHistory(query="q")
    began_s = add(history, report(), settings(trigger_s=trigger_s)).started_at_s  # it ends 1.5 s later
    history.last_progress_at_s = began_s + reported_s
    assert history.running_since_s(began_s + now_s) == (None if since_s is None else began_s + since_s)
    history.active = False
    assert history.running_since_s(began_s + now_s) is None


def test_a_first_batch_runs_from_the_start_of_the_query():
    history = QueryHistory(query="q")
    assert history.running_since_s(100.0) is None
    history.last_progress_at_s = 50.0
    assert (history.running_since_s(60.0), history.running_since_s(62.0)) == (None, 50.0)
