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


class TestLeases:
    """Orders under Leases A and B, and statuses that name the Lease of their writer."""

    def setup_method(self):
        self.now_s, self.version = 0.0, 0
        self.reader = OrderReader(steady_s=lambda: self.now_s)

    def read(self, identity, node, lease, *, reports=None):
        """Read a new version with an order under a Lease, whose controller reports unless another is named."""
        self.version += 1
        signed = {"lease": f"{lease}/{identity}"} if lease else {}
        document = resource({**order(identity, node), **signed}, version=str(self.version))
        document["status"]["lease"] = reports or lease
        problem = self.reader.read(document)
        return problem and problem.code

    def test_an_order_of_another_lease_is_refused_while_the_first_may_live(self):
        assert self.read("3-1", "a", "gesscale/A") is None
        assert self.read("9-1", "b", "default/B") == "order-of-other-lease"
        self.now_s = 119.0
        assert self.read("3-1", "a", "gesscale/A") is None  # A reports
        self.now_s = 238.0
        assert self.read("9-1", "b", "default/B") == "order-of-other-lease"
        assert self.reader.order.placement == ("a",)
        self.now_s = 239.0  # two minutes without a word of A
        assert self.read("9-1", "b", "default/B") is None
        assert self.reader.order.placement == ("b",)
        assert self.read("3-2", "a", "gesscale/A") == "order-of-other-lease"

    def test_terms_are_compared_within_a_lease_only(self):
        self.read("9-1", "a", "gesscale/A")
        self.now_s = 120.0
        assert self.read("0-1", "b", "gesscale/B") is None

    def test_reports_of_the_new_controller_do_not_prolong_the_old_one(self):
        self.read("3-1", "a", "gesscale/A")
        self.now_s = 60.0
        self.read("3-1", "a", "gesscale/A", reports="gesscale/B")  # B leads and has not ordered yet
        self.now_s = 120.0
        assert self.read("4-1", "b", "gesscale/B") is None

    def test_an_older_version_of_the_controller_is_refused(self):
        self.read("3-1", "a", "gesscale/A")
        self.now_s = 10_000.0
        assert self.read("9-1", "b", "") == "order-of-other-lease"
        # its merge patch leaves the member of the order before in place
        document = resource({**order("9-1", "b"), "lease": "gesscale/A/3-1"}, version="99")
        assert self.reader.read(document).code == "order-of-other-lease"
        assert self.reader.order.placement == ("a",)

    def test_a_driver_that_follows_none_takes_any(self):
        assert self.read("3-1", "a", "") is None
        assert self.read("4-1", "b", "gesscale/A") is None
        assert self.reader.order.lease == "gesscale/A"

    def test_a_recreated_resource_is_new(self):
        self.read("3-1", "a", "gesscale/A")
        document = resource({**order("0-1", "b"), "lease": "default/B/0-1"}, uid="other")
        assert self.reader.read(document) is None
        assert self.reader.order.placement == ("b",)


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
