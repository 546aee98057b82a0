import json
import math

import pytest
from prometheus_client.parser import text_string_to_metric_families
from refusals import logged_codes

from gesscale.common.metrics_text import exposition
from gesscale.monitor.records import parse_document, query_problem
from gesscale.spark.executors import ExecutorWatch
from gesscale.spark.metrics import operator_metrics
from gesscale.spark.operator_state import OperatorState
from gesscale.spark.reconcile_actions import LiveExecutor
from gesscale.spark.records import QuerySettings
from gesscale.spark.triggers import parse_trigger


class Bench:
    """A state with a clock and executors that a test sets."""

    def __init__(self, **settings):
        self.now_s = 100.0
        self.hosts = ["a", "b"]
        self.done = {}
        self.requests = []
        self.state = OperatorState(
            QuerySettings(app="taxi", operator="nearest", **settings),
            ExecutorWatch(self._ask, lambda: self.now_s),
            lambda: self.now_s,
            self,
        )

    def _ask(self):
        if self.hosts is None:
            raise RuntimeError("no JVM")
        return [LiveExecutor(id=str(number), host=host) for number, host in enumerate(self.hosts)]

    def work_of_batch(self, run, batch_id):
        self.requests.append((run, batch_id))
        if self.done is None:
            raise RuntimeError("no JVM")
        return self.done.get(batch_id)

    def batch(self, run="r1", query="q1", batch_id=0, latest='{"rows": 350}', **report):
        source = {"startOffset": "None", "endOffset": '{"rows": 100}', "latestOffset": latest}
        self.state.progress(run, query, {
            "batchId": batch_id, "numInputRows": 100, "timestamp": "1970-01-01T00:01:39.000Z",
            "durationMs": {"triggerExecution": 500, "addBatch": 400, "latestOffset": 3}, "sources": [source],
            **report,
        })  # fmt: skip

    def gauge(self, name, query="q1", **labels):
        labels = {"app": "taxi", "operator": "nearest", "query": query, **labels}
        state = self.state
        counts = state.errors, state.warnings.by_code()
        page = exposition(operator_metrics(state.settings, state.own_queries(), state.executors(), *counts))
        families = text_string_to_metric_families(page.decode())
        samples = [sample for family in families for sample in family.samples]
        wanted = (f"gesscale_operator_{name}", labels)
        return next((each.value for each in samples if (each.name, each.labels) == wanted), None)


def test_gauges_show_the_last_batch():
    bench = Bench(cap_rows=100, trigger_s=2.0)
    bench.batch(batch_id=7)
    assert bench.gauge("batch_id") == 7
    assert bench.gauge("offered_rows_total") == 350
    assert bench.gauge("processed_rows_total") == 100
    assert bench.gauge("backlog_rows") == 250
    assert bench.gauge("batch_cap_rows") == 100
    assert bench.gauge("batch_end_timestamp_seconds") == 99.5  # began at 99 s, took 0.5 s
    assert bench.gauge("replicas") == 2
    assert bench.gauge("last_progress_timestamp_seconds") == 100
    assert math.isnan(bench.gauge("batch_state_rows")), "a query without state"


def test_vanished_hosts_and_queries_leave_no_series():
    bench = Bench()
    bench.batch()
    assert bench.gauge("replica_info", host="b") == 1
    bench.hosts, bench.now_s = ["a"], 101.0
    assert bench.gauge("replica_info", host="b") is None
    assert bench.gauge("replica_info", host="a") == 1
    bench.state.end("r1")
    assert bench.gauge("batch_id") is None
    assert bench.state.document(after=-1)["active"] is False
    assert len(bench.state.document(after=-1)["batches"]) == 1


def test_unreadable_executors_are_counted_and_logged_once(caplog):
    bench = Bench(cap_rows=200)
    bench.hosts = None
    bench.batch(batch_id=0)
    bench.batch(batch_id=1)
    assert bench.state.errors == 2
    assert [record.message for record in caplog.records].count(caplog.records[0].message) == 1
    assert logged_codes(caplog.text) == ["executors-unreadable"]
    assert math.isnan(bench.gauge("replicas"))
    assert bench.state.document(after=-1)["batches"][1]["replicas"] is None


def test_the_trigger_of_the_query_is_used(caplog):
    bench = Bench(trigger_s=5.0, cap_rows=200)
    bench.state.begin("r1", "q1", parse_trigger("ProcessingTimeTrigger(2000)"))
    bench.batch()
    assert logged_codes(caplog.text) == ["trigger-interval-differs"]
    assert "given_s=5 query_s=2" in caplog.text
    assert bench.gauge("trigger_interval_seconds") == 2
    assert bench.gauge("batch_fixed_slots") == 0
    bench.state.begin("r2", "q2", parse_trigger("RealTimeTrigger(300000)"))
    bench.batch(run="r2", query="q2")
    assert "trigger-real-time" in logged_codes(caplog.text)
    assert "query=q2" in caplog.text
    assert math.isnan(bench.gauge("trigger_interval_seconds", query="q2"))
    assert bench.gauge("batch_fixed_slots", query="q2") == 1


@pytest.mark.parametrize(("partitions", "is_logged"), [(3, True), (4, False)])
def test_fewer_state_partitions_than_replicas_are_reported(caplog, partitions, is_logged):
    bench = Bench(max_replicas=4)
    bench.batch(stateOperators=[{"numShufflePartitions": 8}, {"numShufflePartitions": partitions}])
    assert bench.gauge("batch_state_partitions") == partitions
    assert ("state-partitions-few" in logged_codes(caplog.text)) is is_logged


@pytest.mark.parametrize(("wait_s", "has_state", "logged"), [(3.0, 1, 1), (3.0, 0, 0), (0.0, 1, 0), (None, 1, 0)])
def test_a_locality_wait_with_state_is_reported(caplog, wait_s, has_state, logged):
    bench = Bench(locality_wait_s=wait_s)
    bench.batch(stateOperators=[{"numShufflePartitions": 8}] * has_state)
    bench.batch(batch_id=1, stateOperators=[{"numShufflePartitions": 8}] * has_state)
    assert logged_codes(caplog.text).count("state-locality-wait") == logged  # once, not for each batch


def test_active_queries_are_kept_and_old_ended_ones_are_forgotten():
    bench = Bench()
    for number in range(12):
        bench.batch(run=f"r{number}", query=f"q{number}")
        if number > 1:
            bench.state.end(f"r{number}")
    bench.batch(run="r12", query="q12")
    assert [each.query for each in bench.state.histories()] == ["q0", "q1", *(f"q{number}" for number in range(4, 13))]


def judged(bench, operator="nearest", **request):
    """Return the query of the page, and the code of the reason why the scaler must not judge it."""
    page = bench.state.document(after=-1, **request)
    problem = query_problem(parse_document(json.dumps(page).encode(), operator))
    return page["query"], problem.code if problem else None


def test_a_second_query_stops_the_judgement_until_it_has_ended(caplog):
    bench = Bench()
    assert judged(bench) == (None, None)
    bench.state.begin("r1", "heavy")
    bench.batch(run="r1", query="heavy")
    assert judged(bench) == ("heavy", None)
    bench.state.begin("r2", "light")
    assert judged(bench) == (None, "queries-several")
    assert bench.state.document(after=-1)["batches"] == []
    assert "queries-several" in logged_codes(caplog.text)
    assert judged(bench, query="heavy") == ("heavy", None)
    assert judged(bench, query="light") == ("light", None)
    bench.state.end("r2")
    assert judged(bench) == ("heavy", None)
    assert len(bench.state.document(after=-1)["batches"]) == 1


def test_a_named_query_is_judged_among_others(caplog):
    bench = Bench(query="heavy", cap_rows=100)
    bench.batch(run="r2", query="light")
    assert judged(bench) == ("heavy", "query-not-found")
    bench.state.begin("r1", "heavy", parse_trigger("ProcessingTimeTrigger(2000)"))
    bench.batch(run="r1", query="heavy")
    bench.state.begin("r3", "third", parse_trigger("ProcessingTimeTrigger(0)"))
    assert judged(bench) == ("heavy", None)
    assert logged_codes(caplog.text) == []  # nothing about the triggers of others
    caps = [bench.state.document(after=-1, query=name)["batches"][0]["cap_rows"] for name in ("heavy", "light")]
    assert caps == [100, None]
    assert (bench.gauge("batch_id", query="heavy"), bench.gauge("batch_id", query="light")) == (0, None)
    assert bench.state.document(after=-1)["queries"] == [
        {"query": "light", "active": True}, {"query": "heavy", "active": True}, {"query": "third", "active": True},
    ]  # fmt: skip


@pytest.mark.parametrize("name", [None, "q"])
def test_an_ended_query_is_not_judged_and_a_restarted_one_is(name):
    bench = Bench(query=name)
    bench.batch(run="r1", query="q")
    bench.state.end("r1")
    assert judged(bench) == ("q", "query-ended")
    bench.state.begin("r2", "q")
    assert judged(bench) == ("q", None)
    bench.state.end("r2")  # before its first batch
    assert judged(bench) == ("q", "query-ended")


def test_two_queries_of_one_name_in_two_sessions_are_not_judged():
    bench = Bench(query="q")
    bench.batch(run="r1", query="q")
    bench.batch(run="r2", query="q")
    assert judged(bench) == ("q", "queries-several")


def test_warnings_are_counted_on_both_pages():
    bench = Bench()
    for _ in range(12):
        bench.state.warn("batch-cap-missing")
    assert bench.state.document(after=-1)["warnings"] == {"batch-cap-missing": 12}
    page = exposition(operator_metrics(bench.state.settings, [], None, 0, bench.state.warnings.by_code())).decode()
    assert 'gesscale_operator_warnings_total{app="taxi",operator="nearest",code="batch-cap-missing"} 12.0' in page


def test_the_interval_of_an_unreadable_trigger_is_that_of_the_starts():
    bench = Bench()
    for number in range(20):
        bench.batch(batch_id=number, timestamp=f"1970-01-01T00:01:{10 + 2 * number:02}.004Z")
    # The first start follows no batch, the next eight show the interval: known from the tenth batch on.
    intervals = [each["trigger_s"] for each in bench.state.document(after=-1)["batches"]]
    assert intervals == [None] * 9 + [2.0] * 11


def test_the_end_of_a_batch_is_notified():
    bench, ends = Bench(), []
    bench.state.on_batch_end(lambda: ends.append(bench.now_s))
    assert bench.state.batch_ends_s("r1") is None
    bench.batch()
    bench.state.progress("r1", "q1", {"batchId": 1, "timestamp": "1970-01-01T00:01:40.000Z", "durationMs": {}})
    assert ends == [100.0]  # a trigger without a batch is no batch boundary
    assert bench.state.batch_ends_s("r1") == (99.5, 99.5)  # began at 99 s, took 0.5 s


def test_unreadable_jobs_are_logged_once_and_not_read_again(caplog):
    bench = Bench()
    bench.done = None
    for number in range(3):
        bench.batch(batch_id=number)
    assert bench.requests == [("r1", 0)]
    assert bench.state.errors == 1
    assert "spark-jobs-unreadable" in logged_codes(caplog.text)
    assert len(bench.state.document(after=-1)["batches"]) == 3


@pytest.mark.parametrize(
    ("source", "cap_rows", "warned"),
    [
        ({"description": "KafkaV2[Subscribe[rides]]", "endOffset": '{"rides": {"0": 9}}'}, None, True),
        ({"description": "KafkaV2[Subscribe[rides]]", "endOffset": '{"rides": {"0": 9}}'}, 500, False),
        ({"description": "anything", "endOffset": "7"}, None, True),
        ({"description": "RateStreamV2[rowsPerSecond=9, rampUpTimeSeconds=0]", "endOffset": "7"}, None, False),
        ({"description": "RatePerMicroBatchStream[rowsPerBatch=10]", "endOffset": "7"}, None, False),
    ],
)
def test_a_missing_cap_is_warned_of_once_where_the_source_can_have_one(source, cap_rows, warned):
    bench = Bench(cap_rows=cap_rows)
    for number in range(3):
        bench.batch(batch_id=number, sources=[source])
    assert bench.state.warnings.by_code().get("batch-cap-missing", 0) == (1 if warned else 0)
