"""The watch of one StreamAutoscaler against an API server that misbehaves on purpose."""

import json
import threading

import pytest
from werkzeug import Response

from gesscale.spark.kubernetes_api import ApiServer
from gesscale.spark.orders import OrderReader, OrderWatch

PATH = "/apis/gesscale.dev/v1alpha1/namespaces/streams/streamautoscalers"


def order(identity, *nodes):
    term = int(identity.partition("-")[0])
    return {"id": identity, "term": term, "placement": list(nodes), "at": "2026-11-21T20:58:08Z"}


def resource(given, *, version="1", uid="u"):
    status = {} if given is None else {"order": given}
    return {"metadata": {"uid": uid, "resourceVersion": version, "name": "taxi"}, "status": status}


class TestOrderBook:
    def test_a_newer_order_holds_and_an_older_one_is_ignored_and_said_once(self):
        book = OrderReader()
        assert book.read(resource(None)) == ""
        assert book.order is None
        assert book.read(resource(order("7-9", "a"))) == ""
        assert book.read(resource(order("7-10", "b"))) == ""  # counters are numbers
        assert book.order.placement == ("b",)
        for late in ("6-99", "7-9"):
            assert "is older than 7-10" in book.read(resource(order(late, "c")))
            assert book.read(resource(order(late, "c"))) == ""
        assert (book.order.id, book.ignored) == ("7-10", 2)

    def test_a_broken_order_leaves_the_last_one_in_force(self):
        book = OrderReader()
        book.read(resource(order("1-1", "a")))
        assert "no order" in book.read(resource({"id": "1-2"}))
        assert (book.order.id, book.ignored) == ("1-1", 1)


class Watched:
    """A watch under way, and a way to wait for what it learns."""

    def __init__(self, httpserver):
        server = ApiServer(url=httpserver.url_for("").rstrip("/"), namespace="streams", timeout_s=2.0)
        self.book, self.learned = OrderReader(), threading.Semaphore(0)
        self.watch = OrderWatch(
            server, namespace="streams", name="taxi", reader=self.book, on_order=self.learned.release
        )

    def learns(self, identity):
        while self.learned.acquire(timeout=20):
            if self.book.order.id == identity:
                return True
        return False


@pytest.fixture
def watched(httpserver):
    made = Watched(httpserver)
    yield made
    made.watch.stop(within_s=20)  # else its last request would go to the next test's server


def lines(*events):
    return Response("".join(json.dumps(event) + "\n" for event in events), content_type="application/json")


def test_orders_are_followed_from_what_was_read_on(httpserver, watched):
    httpserver.expect_oneshot_request(f"{PATH}/taxi").respond_with_json(resource(order("1-1", "a"), version="5"))
    wanted = {"watch": "true", "fieldSelector": "metadata.name=taxi", "resourceVersion": "5"}
    seen = []

    def answer(request):
        seen.append({name: request.args[name] for name in wanted})
        return lines(
            {"type": "BOOKMARK", "object": {"metadata": {"resourceVersion": "6"}}},
            {"type": "MODIFIED", "object": resource(order("1-2", "b"), version="7")},
        )

    httpserver.expect_request(PATH).respond_with_handler(answer)
    watched.watch.start()
    assert watched.learns("1-2")
    assert seen[0] == wanted
    assert watched.watch.problem == ""


@pytest.mark.parametrize("status", [401, 403, 404, 409, 410, 429, 500])
def test_every_refusal_is_survived(httpserver, watched, status):
    httpserver.expect_ordered_request(f"{PATH}/taxi").respond_with_json({"message": "no"}, status=status)
    httpserver.expect_ordered_request(f"{PATH}/taxi").respond_with_json(resource(order("1-1", "a")))
    httpserver.expect_request(PATH).respond_with_handler(lambda _: lines())
    watched.watch.start()
    assert watched.learns("1-1")
    assert watched.watch.failures == (0 if status == 410 else 1)  # too old a version is nothing wrong


def test_a_watch_that_breaks_off_or_tells_nonsense_is_survived(httpserver, watched):
    httpserver.expect_ordered_request(f"{PATH}/taxi").respond_with_json(resource(order("1-1", "a")))
    httpserver.expect_ordered_request(PATH).respond_with_data("no json\n")
    httpserver.expect_ordered_request(f"{PATH}/taxi").respond_with_json(resource(order("1-2", "a")))
    httpserver.expect_ordered_request(PATH).respond_with_handler(
        lambda _: lines({"type": "ERROR", "object": {"code": 410}})
    )
    httpserver.expect_ordered_request(f"{PATH}/taxi").respond_with_json(resource(order("1-3", "a")))
    watched.watch.start()
    assert watched.learns("1-3")
    assert watched.watch.failures >= 1


def test_a_lasting_problem_is_said_once(httpserver, watched, caplog):
    asked = threading.Semaphore(0)

    def refuse(_request):
        asked.release()
        return Response(json.dumps({"message": "no"}), status=403)

    httpserver.expect_request(f"{PATH}/taxi").respond_with_handler(refuse)
    watched.watch.start()
    for _ in range(3):
        assert asked.acquire(timeout=20)
    assert caplog.text.count("orders cannot be read") == 1
    assert watched.book.order is None
