import math

import pytest
from prometheus_client.parser import text_string_to_metric_families

from gesscale.common.metrics_text import exposition
from gesscale.spark.executors import ExecutorWatch
from gesscale.spark.metrics import operator_metrics
from gesscale.spark.operator_state import OperatorState
from gesscale.spark.reconcile import LiveExecutor
from gesscale.spark.records import QuerySettings
from gesscale.spark.triggers import parse_trigger


class Bench:
    """A state with a clock and executors that a test sets."""

    def __init__(self, **settings):
        self.now_s = 100.0
        self.hosts = ["a", "b"]
        self.done = {}
        self.asked = []
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

    def done_in(self, run, batch_id):
        self.asked.append((run, batch_id))
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


def test_gauges_tell_the_last_batch():
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


def test_executors_that_cannot_be_asked_are_counted_said_once_and_survived(caplog):
    bench = Bench()
    bench.hosts = None
    bench.batch(batch_id=0)
    bench.batch(batch_id=1)
    assert bench.state.errors == 2
    assert [record.message for record in caplog.records].count(caplog.records[0].message) == 1
    assert "replicas are unknown" in caplog.records[0].message
    assert math.isnan(bench.gauge("replicas"))
    assert bench.state.document(after=-1)["batches"][1]["replicas"] is None


def test_the_trigger_of_the_query_is_said_and_holds(caplog):
    bench = Bench(trigger_s=5.0)
    bench.state.begin("r1", "q1", parse_trigger("ProcessingTimeTrigger(2000)"))
    bench.batch()
    assert "the query's trigger is 2 s" in caplog.text
    assert bench.gauge("trigger_interval_seconds") == 2
    assert bench.gauge("batch_fixed_slots") == 0
    bench.state.begin("r2", "q2", parse_trigger("RealTimeTrigger(300000)"))
    bench.batch(run="r2", query="q2")
    assert "query q2: Real-Time Mode" in caplog.text
    assert math.isnan(bench.gauge("trigger_interval_seconds", query="q2"))
    assert bench.gauge("batch_fixed_slots", query="q2") == 1


@pytest.mark.parametrize(("partitions", "is_said"), [(3, True), (4, False)])
def test_fewer_partitions_of_state_than_replicas_are_said(caplog, partitions, is_said):
    bench = Bench(max_replicas=4)
    bench.batch(stateOperators=[{"numShufflePartitions": 8}, {"numShufflePartitions": partitions}])
    assert bench.gauge("batch_state_partitions") == partitions
    assert (f"its state has {partitions} partitions, and max_replicas is 4" in caplog.text) is is_said


@pytest.mark.parametrize(("wait_s", "keeps_state", "is_said"), [(3.0, 1, 1), (3.0, 0, 0), (0.0, 1, 0), (None, 1, 0)])
def test_a_wait_that_keeps_state_from_an_added_replica_is_said(caplog, wait_s, keeps_state, is_said):
    bench = Bench(locality_wait_s=wait_s)
    bench.batch(stateOperators=[{"numShufflePartitions": 8}] * keeps_state)
    bench.batch(batch_id=1, stateOperators=[{"numShufflePartitions": 8}] * keeps_state)
    assert caplog.text.count("spark.locality.wait is 3 s") == is_said  # once, not for each batch


def test_the_newest_active_query_is_served_and_old_ones_are_forgotten():
    bench = Bench()
    for number in range(10):
        bench.batch(run=f"r{number}", query=f"q{number}")
    assert bench.state.document(after=-1)["query"] == "q9"
    bench.state.end("r9")
    assert bench.state.document(after=-1)["query"] == "q8"
    assert len(bench.state.histories()) == 8


def test_borders_between_batches_are_told_and_the_ends_of_a_run_are_known():
    bench, ends = Bench(), []
    bench.state.notify_of_batch_ends(lambda: ends.append(bench.now_s))
    assert bench.state.batch_ends_s("r1") is None
    bench.batch()
    bench.state.progress("r1", "q1", {"batchId": 1, "timestamp": "1970-01-01T00:01:40.000Z", "durationMs": {}})
    assert ends == [100.0]  # a trigger without a batch is no border
    assert bench.state.batch_ends_s("r1") == (99.5, 99.5)  # began at 99 s, took 0.5 s


def test_jobs_that_cannot_be_asked_are_said_once_and_not_asked_again(caplog):
    bench = Bench()
    bench.done = None
    for number in range(3):
        bench.batch(batch_id=number)
    assert bench.asked == [("r1", 0)]
    assert bench.state.errors == 1
    assert "what single replicas do is unknown (RuntimeError: no JVM)" in caplog.text
    assert len(bench.state.document(after=-1)["batches"]) == 3
