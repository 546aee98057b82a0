import math

import pytest
from prometheus_client.parser import text_string_to_metric_families
from refusals import logged_codes

from gesscale.common.metrics_text import exposition
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
        page = exposition(operator_metrics(state.settings, state.histories(), state.executors(), state.errors))
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
    bench = Bench()
    bench.hosts = None
    bench.batch(batch_id=0)
    bench.batch(batch_id=1)
    assert bench.state.errors == 2
    assert [record.message for record in caplog.records].count(caplog.records[0].message) == 1
    assert logged_codes(caplog.text) == ["executors-unreadable"]
    assert math.isnan(bench.gauge("replicas"))
    assert bench.state.document(after=-1)["batches"][1]["replicas"] is None


def test_the_trigger_of_the_query_is_used(caplog):
    bench = Bench(trigger_s=5.0)
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


def test_the_newest_active_query_is_served_and_old_ones_are_forgotten():
    bench = Bench()
    for number in range(10):
        bench.batch(run=f"r{number}", query=f"q{number}")
    assert bench.state.document(after=-1)["query"] == "q9"
    bench.state.end("r9")
    assert bench.state.document(after=-1)["query"] == "q8"
    assert len(bench.state.histories()) == 8


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
