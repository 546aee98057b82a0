"""The requests of the reconciler to a fake Spark and a fake Kubernetes, in their order."""

import dataclasses

import pytest
from refusals import logged_codes

from gesscale.spark.executors import ExecutorWatch
from gesscale.spark.reconcile_actions import ExecutorPod, LiveExecutor
from gesscale.spark.reconciler import Reconciler
from gesscale.wire import OrderDocument, Strategy


class Bench:
    """A fake Spark that applies requests at once if a test lets it."""

    is_stopped = False

    def __init__(self, *nodes, restart=None, applied_order=""):
        self.now_s = 1000.0
        self.members = [
            LiveExecutor(id=str(number), host="h", node=node, order="1-0", has_worked=True)
            for number, node in enumerate(nodes, start=1)
        ]
        self.order = None
        self.requests = []
        self.waiting = []
        self.refusal, self.asked = "", 0
        self.between = True
        self.reconciler = Reconciler(
            orders=lambda: self.order,
            spark=self,
            list_pods=self.list_pods,
            delete_pod=lambda name, at_once: self.requests.append(("force" if at_once else "delete", name)),
            executor_refusal=self.executor_refusal,
            use_placement=lambda placement: self.requests.append(("template", placement.order, placement.nodes)),
            watch=ExecutorWatch(lambda: self.members, lambda: self.now_s),
            clock_s=lambda: self.now_s,
            restart=restart,
            applied_order=applied_order,
        )

    def list_pods(self):
        if self.waiting is None:
            raise RuntimeError
        return self.waiting

    def executor_refusal(self):
        self.asked += 1
        return self.refusal

    def request_total(self, executors):
        self.requests.append(("total", executors))

    def decommission(self, executors):
        self.requests.append(("go", *executors))

    def kill(self, executors):
        self.requests.append(("kill", *executors))

    def is_between_batches(self):
        return self.between

    def set_order(self, identity, *nodes, strategy="Live", lost=()):
        self.order = OrderDocument(identity, nodes, Strategy(strategy), lost=lost)

    def step(self, after_s=1.0):
        self.requests.clear()
        self.now_s += after_s
        self.next_s = self.reconciler.step()
        return list(self.requests)

    def join(self, node, order):
        self.members.append(
            LiveExecutor(id=str(len(self.members) + 1), host="h", node=node, order=order, has_worked=True)
        )

    def leave(self, node):
        self.members = [each for each in self.members if each.node != node]


def test_scaling_up_writes_the_template_before_the_request():
    bench = Bench("a")
    bench.set_order("1-1", "a", "b")
    assert bench.step() == [("template", "1-1", ("a", "b")), ("total", 2)]
    assert bench.reconciler.document() == {
        "order": "1-1", "placement": ["a", "b"], "settled": False, "missing": ["b"], "leaving": [],
    }  # fmt: skip
    bench.join("b", "1-1")
    assert bench.step() == [("total", 2)]
    assert bench.reconciler.document()["settled"] is True


def test_scaling_down_lowers_the_total_before_the_executor_leaves():
    bench = Bench("a", "b")
    bench.set_order("1-1", "a")
    assert bench.step() == [("template", "1-1", ("a",)), ("total", 1), ("total", 1), ("go", "2")]
    assert bench.reconciler.document()["settled"] is False
    assert bench.step() == [("total", 1)]  # requested once
    bench.leave("b")
    bench.step()
    assert bench.reconciler.document()["settled"] is True


def test_executors_leave_at_a_batch_boundary_or_after_a_minute():
    bench = Bench("a", "b")
    bench.between = False
    bench.set_order("1-1", "a")
    bench.step()
    assert ("go", "2") not in bench.step()
    bench.reconciler.batch_ended()
    assert ("go", "2") in bench.step()

    bench = Bench("a", "b")
    bench.between = False
    bench.set_order("1-1", "a")
    bench.step()
    assert ("go", "2") not in bench.step(after_s=59)
    assert ("go", "2") in bench.step(after_s=2)


def test_the_executor_of_a_lost_node_is_replaced_and_killed_at_once():
    bench = Bench("a", "b")
    bench.between = False
    bench.waiting = [ExecutorPod(name="p2", executor="2", node="b", order="1-0", is_pending=False)]
    bench.set_order("1-1", "a", "c", lost=("b",))
    assert bench.step() == [("template", "1-1", ("a", "c")), ("total", 3), ("kill", "2"), ("force", "p2")]
    assert ("kill", "2") not in bench.step()
    bench.join("c", "1-1")
    bench.leave("b")
    bench.waiting = []
    assert bench.step() == [("total", 2)]
    assert bench.reconciler.document()["settled"] is True


def test_an_ordered_node_is_lost_and_comes_back_without_a_new_order():
    bench = Bench("a", "b")
    bench.set_order("1-1", "a", "b")
    bench.step()
    bench.set_order("1-1", "a", "b", lost=("b",))
    assert bench.step() == [("template", "1-1", ("a", "b")), ("total", 1), ("kill", "2")]
    bench.leave("b")
    assert bench.step() == [("total", 1)]
    bench.set_order("1-1", "a", "b")
    assert ("total", 2) in bench.step()


def test_a_failing_api_server_stops_neither_adding_nor_removing(caplog):
    bench = Bench("a", "b")
    bench.waiting = None
    bench.set_order("1-1", "a", "c")
    assert ("total", 3) in bench.step()
    bench.join("c", "1-1")
    assert ("go", "2") in bench.step()
    assert bench.reconciler.failures >= 1
    assert logged_codes(caplog.text) == ["executor-pods-unreadable"]


def test_a_restart_is_rejected_once_if_the_job_cannot(caplog):
    bench = Bench("a")
    bench.set_order("1-1", "a", "b", strategy="Restart")
    assert bench.step() == []
    assert bench.step() == []
    assert logged_codes(caplog.text) == ["restart-unsupported"]
    # the first executors were created for this order: no restart
    bench = Bench("a", applied_order="1-1")
    bench.set_order("1-1", "a", strategy="Restart")
    assert bench.step() == [("template", "1-1", ("a",)), ("total", 1)]


@dataclasses.dataclass
class Restartable:
    replicas: int
    bench: Bench | None = None
    calls: list = dataclasses.field(default_factory=list)

    def restart(self, order, exchange_executors):
        self.bench.requests.append(("stop", order))
        self.replicas = exchange_executors()
        self.bench.requests.append(("start", self.replicas))


def restartable(*nodes):
    query = Restartable(replicas=len(nodes))
    query.bench = Bench(*nodes, restart=query)
    return query.bench


def test_a_restart_waits_for_the_new_executors():
    bench = restartable("a", "b")
    bench.set_order("1-1", "a", "c", "d", strategy="Restart")
    assert bench.step() == [("template", "1-1", ("a", "c", "d")), ("total", 4)]
    bench.join("c", "1-1")
    assert bench.step() == [("total", 4)]
    bench.join("d", "1-1")
    # b goes between stop and start; a, c and d stay
    assert bench.step() == [("total", 3), ("stop", "1-1"), ("total", 3), ("go", "2"), ("start", 3)]
    bench.leave("b")
    assert bench.step() == [("total", 3)]  # once


def test_a_restart_uses_the_executors_present_after_two_minutes():
    bench = restartable("a")
    bench.set_order("1-1", "a", "b", "full", strategy="Restart")
    bench.step()
    bench.join("b", "1-1")
    assert ("stop", "1-1") not in bench.step(after_s=119)
    assert bench.step(after_s=2)[-2:] == [("stop", "1-1"), ("start", 2)]


@pytest.mark.parametrize("worked", [True, False])
def test_steps_are_frequent_until_all_executors_have_worked(worked):
    bench = Bench("a")
    bench.members = [dataclasses.replace(each, has_worked=worked) for each in bench.members]
    bench.set_order("1-1", "a")
    bench.step()
    assert (bench.next_s < 1) is not worked


def test_a_refusal_is_asked_for_while_spark_creates_no_pod(caplog):
    bench = Bench("a")
    bench.waiting = [pod("1", node="a")]
    bench.set_order("1-1", "a", "b")
    bench.refusal = "exceeded quota"
    bench.step()
    assert bench.asked == 0  # Spark may take ten seconds to create the pod
    bench.step(after_s=11)
    assert (bench.asked, bench.reconciler.refusal) == (1, "exceeded quota")
    assert "executor-refused" in logged_codes(caplog.text)
    bench.set_order("1-2", "a")  # the scaler gives the executor up; the quota is still asked for
    bench.step(after_s=61)
    assert bench.asked == 2
    bench.refusal = ""
    bench.step(after_s=61)
    assert (bench.asked, bench.reconciler.refusal) == (3, "")
    bench.step(after_s=61)
    assert bench.asked == 3


def test_pods_that_spark_creates_end_a_refusal():
    bench = Bench("a")
    bench.waiting = [pod("1", node="a")]
    bench.set_order("1-1", "a", "b")
    bench.refusal = "exceeded quota"
    bench.step()
    bench.step(after_s=11)
    assert bench.reconciler.refusal
    bench.waiting.append(pod("2", node="b"))
    bench.step(after_s=11)
    assert (bench.asked, bench.reconciler.refusal) == (1, "")


def test_nothing_is_asked_while_the_pods_of_an_order_start():
    bench = Bench("a")
    bench.waiting = [pod("1", node="a"), pod("2", node="b")]
    bench.set_order("1-1", "a", "b")
    for _ in range(5):
        bench.step(after_s=10)
    assert bench.asked == 0


def pod(executor, *, node):
    return ExecutorPod(name=f"p{executor}", executor=executor, node=node, order="1-1", is_pending=executor != "1")
