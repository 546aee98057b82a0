"""Cache of one kind: its view during errors, and the backoff."""

import threading

import pytest
from refusals import logged_codes
from scripted_api import SETTLE_S, as_json, as_text, refusal, stream

from gesscale.kubernetes.api.resources import PODS
from gesscale.kubernetes.api.watch_cache import Cache, Timing


def pod(name, version="1", **labels):
    metadata = {"name": name, "namespace": "streams", "resourceVersion": version, "labels": labels}
    return {"metadata": metadata, "spec": {"containers": ["much", "that", "is", "dropped"]}}


def listed(*pods, version="10"):
    return as_json({"metadata": {"resourceVersion": version}, "items": list(pods)})


def event(kind, item):
    return {"type": kind, "object": item}


def bookmark(version):
    return event("BOOKMARK", {"metadata": {"resourceVersion": version}})


def expired():
    return event("ERROR", {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old"})


def labels_of(item):
    return dict(item["metadata"]["labels"])


class Steps:
    """A clock that advances with the waits only, a limit of waits, and the views at each wait."""

    def __init__(self, cache_of, waits):
        self.now_s, self.waits, self.cache = 1000.0, [], None
        timing = Timing(now_s=lambda: self.now_s, sleep=self._sleep, random=lambda: 0.0, first_wait_s=1.0)
        self._left = waits
        self.views, self.shown = [], []
        self.cache = cache_of(timing, lambda: self.shown.append(self.cache.snapshot()))

    def _sleep(self, seconds):
        self.waits.append(seconds)
        self.views.append(self.cache.snapshot())
        self.now_s += seconds
        return len(self.waits) >= self._left


@pytest.fixture
def through(connection):
    """Run a cache until this number of waits; every wait follows an error."""

    def run(waits, keep=labels_of):
        steps = Steps(lambda timing, shown: Cache(connection, PODS, keep, timing=timing, on_change=shown), waits)
        steps.cache.run()
        return steps

    return run


def watches(server):
    return [each.query["resourceVersion"] for each in server.requests_of("watch")]


def test_a_list_and_its_changes_make_the_view(server, through):
    server.answers(listed(pod("a", x="1"), pod("b", x="2")))
    server.answers(
        stream(
            event("ADDED", pod("c", "11", x="3")),
            event("MODIFIED", pod("a", "12", x="9")),
            event("DELETED", pod("b", "13")),
            bookmark("20"),
        ),
        refusal(500, "InternalError", "boom"),
        to="watch",
    )
    steps = through(1)
    assert steps.views[0].objects == {"streams/a": {"x": "9"}, "streams/c": {"x": "3"}}
    assert watches(server) == ["10", "20"]  # continues from the bookmark without a new list
    assert len(server.requests_of("list")) == 1


@pytest.mark.parametrize(
    ("answer", "waits", "code"),
    [
        (refusal(401, "Unauthorized", "no"), [0.5, 1.0, 2.0], "kubernetes-unauthorized"),
        (refusal(403, "Forbidden", "no"), [0.5, 1.0, 2.0], "kubernetes-forbidden"),
        # Retry-After plus the jittered wait, so that clients do not retry at once
        (refusal(429, "TooManyRequests", "no", {"Retry-After": "7"}), [7.5, 8.0, 9.0], "kubernetes-throttled"),
        (refusal(500, "InternalError", "no"), [0.5, 1.0, 2.0], "kubernetes-request-failed"),
        (as_text("<html>", 503), [0.5, 1.0, 2.0], "kubernetes-request-failed"),
        (stream(raw=b'{"type":'), [0.5, 1.0, 2.0], "kubernetes-answer-invalid"),
        (stream(raw=b"nonsense\n"), [0.5, 1.0, 2.0], "kubernetes-answer-invalid"),
        (stream(raw=b'{"type": "ADDED"}\n'), [0.5, 1.0, 2.0], "kubernetes-answer-invalid"),
        (stream(raw=b'{"type": "ERROR", "object": 7}\n'), [0.5, 1.0, 2.0], "kubernetes-answer-invalid"),
        (stream(cut=True), [0.5, 1.0, 2.0], "kubernetes-connection-lost"),
        (stream(), [0.5, 1.0, 2.0], "watch-closed-early"),
        (stream(expired()), [0.5, 1.0, 2.0], "kubernetes-version-expired"),
    ],
)
def test_an_error_keeps_the_objects_and_backs_off(server, through, answer, waits, code):
    server.answers(listed(pod("a", x="1")))
    server.answers(answer, to="watch")
    steps = through(3)
    assert steps.waits == waits  # with a draw of 0, half of 1, 2 and 4 s
    last = steps.views[-1]
    assert last.objects == {"streams/a": {"x": "1"}}
    assert last.listed
    assert not last.fresh
    assert last.problem.code == code


def test_staleness_counts_from_the_last_contact(server, through):
    server.answers(listed(pod("a")))
    server.answers(refusal(403, "Forbidden", "no"), to="watch")
    steps = through(3)
    # listed at 1000 s; the watches after it are refused, at 1000, 1000.5 and 1001.5 s
    assert [view.stale_since_s for view in steps.views] == [1000.0, 1000.0, 1000.0]


def test_a_recovered_server_resets_view_and_backoff(server, through):
    server.answers(listed(pod("a")))
    boom = refusal(500, "InternalError", "boom")
    server.answers(boom, boom, stream(bookmark("11")), boom, to="watch")
    steps = through(4)
    assert steps.waits == [0.5, 1.0, 0.5, 1.0]
    # listed at 1000 s and stale since; the good watch is opened at 1001.5 s, when the server responds again
    assert [view.stale_since_s for view in steps.views] == [1000.0, 1000.0, 1001.5, 1001.5]
    # one after the list and one as the third watch is opened; a bookmark is no change
    assert [view.fresh for view in steps.shown] == [True, False, False, True, False, False]
    assert watches(server) == ["10", "10", "10", "11", "11"]


def test_an_expired_version_is_listed_again(server, through):
    server.answers(listed(pod("a"), pod("b")), listed(pod("b", x="new"), version="50"))
    server.answers(stream(bookmark("11"), expired()), refusal(500, "InternalError", "boom"), to="watch")
    steps = through(2)
    assert set(steps.views[0].objects) == {"streams/a", "streams/b"}  # kept, and stale
    assert steps.views[1].objects == {"streams/b": {"x": "new"}}
    assert watches(server) == ["10", "50"]


def test_an_expired_version_after_an_outage_is_listed_again_at_once(server, through):
    server.answers(listed(pod("a")))
    boom = refusal(500, "InternalError", "boom")
    server.answers(boom, boom, boom, stream(expired()), boom, to="watch")
    # without a reset the fourth wait would be 4 s; the failure after the list begins at the second one
    assert through(5).waits == [0.5, 1.0, 2.0, 0.5, 1.0]


def test_an_unreadable_object_keeps_its_state_and_hides_no_other(server, through, caplog):
    def keep(item):
        if item["metadata"]["labels"].get("x") == "bad":
            raise ValueError("expected a number,\n got 'bad'")
        return labels_of(item)

    server.answers(listed(pod("a", x="1"), pod("b", x="bad")))
    server.answers(
        stream(event("MODIFIED", pod("a", "11", x="bad")), event("ADDED", pod("c", "12", x="3"))),
        refusal(500, "InternalError", "boom"),
        to="watch",
    )
    steps = through(1, keep=keep)
    view = steps.views[0]
    assert view.objects == {"streams/a": {"x": "1"}, "streams/c": {"x": "3"}}
    assert logged_codes(caplog.text) == ["object-unreadable"] * 2


def test_the_thread_lists_watches_and_stops_at_once(server, connection):
    server.answers(listed(pod("a")))
    server.answers(stream(event("ADDED", pod("b", "11")), then=lambda _handler: server.over.wait(SETTLE_S)), to="watch")
    seen_b = threading.Event()

    def look():
        if "streams/b" in cache.snapshot().objects:
            seen_b.set()

    cache = Cache(connection, PODS, labels_of, on_change=look)
    cache.start()
    assert seen_b.wait(SETTLE_S)
    assert cache.snapshot().fresh
    cache.stop(timeout_s=SETTLE_S)
    assert not any(each.name == "watch-pods" for each in threading.enumerate())
    assert set(cache.snapshot().objects) == {"streams/a", "streams/b"}


def test_a_silent_watch_is_reopened_without_an_error(server, connection):
    class Impatient:
        def __init__(self):
            self.opened = 0

        def pages(self, resource, **where):
            return connection.pages(resource, **where)

        def watch(self, resource, **where):
            self.opened += 1
            if self.opened == 3:
                cache._stopping.set()  # the end of this test
            return connection.watch(resource, silence_s=0.5, **where)

    server.answers(listed(pod("a")))
    server.answers(stream(bookmark("11"), then=lambda _handler: server.over.wait(5)), to="watch")
    cache = Cache(Impatient(), PODS, labels_of)
    cache.run()
    assert cache.snapshot().fresh
