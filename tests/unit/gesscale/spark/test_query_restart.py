import threading

import pytest
from refusals import logged_codes

from gesscale.spark.executors import ExecutorWatch
from gesscale.spark.operator_state import OperatorState
from gesscale.spark.query_restart import RestartableQuery
from gesscale.spark.records import QuerySettings


class Query:
    """A query between batches that fails when a test wants it."""

    def __init__(self, number, replicas):
        self.runId, self.replicas = f"run{number}", replicas
        self.isActive, self.failure = True, None
        self.status = {"isTriggerActive": False}

    def stop(self):
        self.isActive = False

    def exception(self):
        return self.failure


class Bench:
    def __init__(self):
        self.queries, self.stopping = [], threading.Event()
        watch = ExecutorWatch(list, lambda: 100.0)
        self.state = OperatorState(QuerySettings(app="a", operator="o"), watch, lambda: 100.0)
        self.restartable = RestartableQuery("session", self.start, self.state)
        self.raised = None
        self.thread = threading.Thread(target=self.run)

    def start(self, session, replicas):
        assert session == "session"
        self.queries.append(Query(len(self.queries), replicas))
        return self.queries[-1]

    def run(self):
        try:
            self.restartable.run(1, self.stopping)
        except Exception as error:  # noqa: BLE001 - the tests check what it raises
            self.raised = error

    def begin(self):
        self.thread.start()
        while self.restartable.query is None:
            assert self.thread.is_alive()

    def batch(self, run, began_at, seconds):
        self.state.progress(run, "q", {
            "batchId": 0, "numInputRows": 1, "timestamp": f"1970-01-01T00:00:{began_at}.000Z", "sources": [],
            "durationMs": {"triggerExecution": seconds * 1000, "addBatch": 1},
        })  # fmt: skip

    def ends(self):
        self.thread.join(timeout=120)
        return not self.thread.is_alive()


def test_a_restart_exchanges_the_executors_while_no_query_runs():
    bench = Bench()
    bench.begin()
    bench.batch("run0", 10, 2)
    running = []

    def exchange():
        running.append(bench.queries[0].isActive)
        return 3

    bench.restartable.restart("7-3", exchange)
    assert running == [False]
    assert [(query.replicas, query.isActive) for query in bench.queries] == [(1, False), (3, True)]
    assert bench.restartable.document() == [
        {
            "order": "7-3", "replicas": 3,
            "stopped_run": "run0", "started_run": "run1",
            "last_batch_ended_at_s": 12.0, "first_batch_ended_at_s": None, "downtime_s": None,
        }
    ]  # fmt: skip
    bench.batch("run1", 15, 4)
    bench.batch("run1", 20, 1)
    # from the end of the last one (10 + 2) to the end of the first one (15 + 4)
    assert bench.restartable.document()[0]["downtime_s"] == 7.0
    assert bench.thread.is_alive()
    bench.stopping.set()
    assert bench.ends()
    assert bench.raised is None
    assert bench.queries[1].isActive is False


def test_run_raises_the_error_that_ended_the_query():
    bench = Bench()
    bench.begin()
    bench.queries[0].failure = ValueError("bad row")
    bench.queries[0].stop()
    assert bench.ends()
    assert str(bench.raised) == "bad row"


def test_an_error_of_an_interrupted_batch_is_logged_not_raised(caplog):
    bench = Bench()
    bench.begin()
    bench.queries[0].failure = ValueError("cut short")
    bench.stopping.set()
    assert bench.ends()
    assert bench.raised is None
    assert logged_codes(caplog.text) == ["query-stop-failed"]


def test_a_failed_restart_ends_the_run():
    bench = Bench()
    bench.begin()
    with pytest.raises(ZeroDivisionError):
        bench.restartable.restart("7-3", lambda: 1 // 0)
    assert bench.ends()
    assert isinstance(bench.raised, ZeroDivisionError)
