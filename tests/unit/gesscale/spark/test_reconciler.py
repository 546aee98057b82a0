"""Steering against a Spark and a Kubernetes that are values: what is asked of them, in which order."""

import dataclasses

import pytest

from gesscale.spark.executors import ExecutorWatch
from gesscale.spark.reconcile import LiveExecutor
from gesscale.spark.reconciler import Reconciler
from gesscale.wire import OrderDocument, Strategy


class Bench:
    """A Spark that obeys at once where a test lets it."""

    is_stopped = False

    def __init__(self, *nodes, restart=None, obeyed=""):
        self.now_s = 1000.0
        self.members = [
            LiveExecutor(id=str(number), host="h", node=node, order="1-0", has_worked=True)
            for number, node in enumerate(nodes, start=1)
        ]
        self.order = None
        self.asked = []
        self.waiting = []
        self.between = True
        self.reconciler = Reconciler(
            orders=lambda: self.order,
            spark=self,
            list_pods=self.list_pods,
            delete_pod=lambda name: self.asked.append(("withdraw", name)),
            use_placement=lambda placement: self.asked.append(("template", placement.order, placement.nodes)),
            watch=ExecutorWatch(lambda: self.members, lambda: self.now_s),
            clock_s=lambda: self.now_s,
            restart=restart,
            obeyed=obeyed,
        )

    def list_pods(self):
        if self.waiting is None:
            raise RuntimeError
        return self.waiting

    def request_total(self, executors):
        self.asked.append(("total", executors))

    def decommission(self, executors):
        self.asked.append(("go", *executors))

    def is_between_batches(self):
        return self.between

    def say(self, identity, *nodes, strategy="Live"):
        self.order = OrderDocument(identity, nodes, Strategy(strategy))

    def step(self, after_s=1.0):
        self.asked.clear()
        self.now_s += after_s
        self.next_s = self.reconciler.step()
        return list(self.asked)

    def join(self, node, order):
        self.members.append(
            LiveExecutor(id=str(len(self.members) + 1), host="h", node=node, order=order, has_worked=True)
        )

    def leave(self, node):
        self.members = [each for each in self.members if each.node != node]


def test_scaling_up_writes_the_template_before_it_asks():
    bench = Bench("a")
    bench.say("1-1", "a", "b")
    assert bench.step() == [("template", "1-1", ("a", "b")), ("total", 2)]
    assert bench.reconciler.document() == {
        "order": "1-1", "placement": ["a", "b"], "settled": False, "missing": ["b"], "leaving": [],
    }  # fmt: skip
    bench.join("b", "1-1")
    assert bench.step() == [("total", 2)]
    assert bench.reconciler.document()["settled"] is True


def test_scaling_down_lowers_the_total_before_the_executor_goes():
    bench = Bench("a", "b")
    bench.say("1-1", "a")
    assert bench.step() == [("template", "1-1", ("a",)), ("total", 1), ("total", 1), ("go", "2")]
    assert bench.reconciler.document()["settled"] is False
    assert bench.step() == [("total", 1)]  # asked once
    bench.leave("b")
    bench.step()
    assert bench.reconciler.document()["settled"] is True


def test_executors_go_at_a_border_or_when_none_comes_for_a_minute():
    bench = Bench("a", "b")
    bench.between = False
    bench.say("1-1", "a")
    bench.step()
    assert ("go", "2") not in bench.step()
    bench.reconciler.batch_ended()
    assert ("go", "2") in bench.step()

    bench = Bench("a", "b")
    bench.between = False
    bench.say("1-1", "a")
    bench.step()
    assert ("go", "2") not in bench.step(after_s=59)
    assert ("go", "2") in bench.step(after_s=2)


def test_an_api_server_that_fails_harms_neither_adding_nor_removing(caplog):
    bench = Bench("a", "b")
    bench.waiting = None
    bench.say("1-1", "a", "c")
    assert ("total", 3) in bench.step()
    bench.join("c", "1-1")
    assert ("go", "2") in bench.step()
    assert bench.reconciler.failures >= 1
    assert caplog.text.count("RuntimeError") == 1


def test_a_restart_is_refused_once_where_the_job_cannot(caplog):
    bench = Bench("a")
    bench.say("1-1", "a", "b", strategy="Restart")
    assert bench.step() == []
    assert bench.step() == []
    assert caplog.text.count("are refused") == 1
    # by this very order the first executors were made: nothing is to be restarted
    bench = Bench("a", obeyed="1-1")
    bench.say("1-1", "a", strategy="Restart")
    assert bench.step() == [("template", "1-1", ("a",)), ("total", 1)]


@dataclasses.dataclass
class Restartable:
    replicas: int
    bench: Bench | None = None
    calls: list = dataclasses.field(default_factory=list)

    def restart(self, order, exchange):
        self.bench.asked.append(("stop", order))
        self.replicas = exchange()
        self.bench.asked.append(("start", self.replicas))


def restartable(*nodes):
    query = Restartable(replicas=len(nodes))
    query.bench = Bench(*nodes, restart=query)
    return query.bench


def test_a_restart_waits_for_the_new_ones_and_lets_the_old_ones_go_while_the_query_is_stopped():
    bench = restartable("a", "b")
    bench.say("1-1", "a", "c", "d", strategy="Restart")
    assert bench.step() == [("template", "1-1", ("a", "c", "d")), ("total", 4)]
    bench.join("c", "1-1")
    assert bench.step() == [("total", 4)]
    bench.join("d", "1-1")
    # b goes between stop and start; a, c and d stay
    assert bench.step() == [("total", 3), ("stop", "1-1"), ("total", 3), ("go", "2"), ("start", 3)]
    bench.leave("b")
    assert bench.step() == [("total", 3)]  # once


def test_a_restart_makes_do_with_who_came_within_two_minutes():
    bench = restartable("a")
    bench.say("1-1", "a", "b", "full", strategy="Restart")
    bench.step()
    bench.join("b", "1-1")
    assert ("stop", "1-1") not in bench.step(after_s=119)
    assert bench.step(after_s=2)[-2:] == [("stop", "1-1"), ("start", 2)]


@pytest.mark.parametrize("worked", [True, False])
def test_it_looks_often_until_all_have_worked(worked):
    bench = Bench("a")
    bench.members = [dataclasses.replace(each, has_worked=worked) for each in bench.members]
    bench.say("1-1", "a")
    bench.step()
    assert (bench.next_s < 1) is not worked
