"""The watch of one StreamAutoscaler, against a misbehaving API server."""

import json
import threading

import pytest
from refusals import logged_codes
from werkzeug import Response

from gesscale.spark.kubernetes_api import ApiServer
from gesscale.spark.orders import OrderReader, OrderWatch
from gesscale.wire import AUTOSCALERS_PATH

PATH = AUTOSCALERS_PATH.format(namespace="streams")


def order(identity, *nodes):
    term = int(identity.partition("-")[0])
    return {"id": identity, "term": term, "placement": list(nodes), "at": "2026-11-21T20:58:08Z"}


def resource(given, *, version="1", uid="u"):
    status = {} if given is None else {"order": given}
    return {"metadata": {"uid": uid, "resourceVersion": version, "name": "taxi"}, "status": status}


class TestOrderReader:
    def test_a_newer_order_wins_and_an_older_one_is_counted_once(self):
        reader = OrderReader()
        assert reader.read(resource(None)) is None
        assert reader.order is None
        assert reader.read(resource(order("7-9", "a"))) is None
        assert reader.read(resource(order("7-10", "b"))) is None  # counters are numbers
        assert reader.order.placement == ("b",)
        for late in ("6-99", "7-9"):
            problem = reader.read(resource(order(late, "c")))
            assert (problem.code, problem.fields) == ("order-outdated", {"order": late, "current": "7-10"})
            assert reader.read(resource(order(late, "c"))) == problem  # the next event repeats the order
        assert (reader.order.id, reader.ignored) == ("7-10", 2)

    def test_an_invalid_order_is_ignored(self):
        reader = OrderReader()
        reader.read(resource(order("1-1", "a")))
        assert reader.read(resource({"id": "1-2"})).code == "order-ignored"
        assert (reader.order.id, reader.ignored) == ("1-1", 1)


class Watched:
    """A running watch, and a way to wait for an order."""

    def __init__(self, httpserver):
        server = ApiServer(url=httpserver.url_for("").rstrip("/"), namespace="streams", timeout_s=2.0)
        self.reader, self.learned = OrderReader(), threading.Semaphore(0)
        self.watch = OrderWatch(
            server, namespace="streams", name="taxi", reader=self.reader, on_order=self.learned.release
        )

    def learns(self, identity):
        while self.learned.acquire(timeout=20):
            if self.reader.order.id == identity:
                return True
        return False


@pytest.fixture
def watched(httpserver):
    made = Watched(httpserver)
    yield made
    made.watch.stop(timeout_s=20)  # otherwise its last request would go to the server of the next test


def lines(*events):
    return Response("".join(json.dumps(event) + "\n" for event in events), content_type="application/json")


def test_the_watch_continues_from_the_version_that_was_read(httpserver, watched):
    httpserver.expect_oneshot_request(f"{PATH}/taxi").respond_with_json(resource(order("1-1", "a"), version="5"))
    wanted = {"watch": "true", "fieldSelector": "metadata.name=taxi", "resourceVersion": "5"}
    seen = []

    def respond(request):
        seen.append({name: request.args[name] for name in wanted})
        return lines(
            {"type": "BOOKMARK", "object": {"metadata": {"resourceVersion": "6"}}},
            {"type": "MODIFIED", "object": resource(order("1-2", "b"), version="7")},
        )

    httpserver.expect_request(PATH).respond_with_handler(respond)
    watched.watch.start()
    assert watched.learns("1-2")
    assert seen[0] == wanted
    assert watched.watch.problem is None


@pytest.mark.parametrize("status", [401, 403, 404, 409, 410, 429, 500])
def test_every_error_status_is_retried(httpserver, watched, status):
    httpserver.expect_ordered_request(f"{PATH}/taxi").respond_with_json({"message": "no"}, status=status)
    httpserver.expect_ordered_request(f"{PATH}/taxi").respond_with_json(resource(order("1-1", "a")))
    httpserver.expect_request(PATH).respond_with_handler(lambda _: lines())
    watched.watch.start()
    assert watched.learns("1-1")
    assert watched.watch.failures == (0 if status == 410 else 1)  # an expired version is no failure


def test_a_broken_watch_is_repeated(httpserver, watched):
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


def test_a_lasting_problem_is_logged_once(httpserver, watched, caplog):
    requests = threading.Semaphore(0)

    def refuse(_request):
        requests.release()
        return Response(json.dumps({"message": "no"}), status=403)

    httpserver.expect_request(f"{PATH}/taxi").respond_with_handler(refuse)
    watched.watch.start()
    for _ in range(3):
        assert requests.acquire(timeout=20)
    assert logged_codes(caplog.text) == ["orders-forbidden"]
    assert watched.reader.order is None
