"""Events on a StreamAutoscaler: repetitions are counted, failures are not raised."""

import pytest
from refusals import logged_codes
from scripted_api import as_json, refusal

from gesscale.kubernetes.api.events import EventDraft, Events, EventType, Incident

TAXI = {"metadata": {"namespace": "streams", "name": "taxi", "uid": "u-1"}, "spec": {}}
AT_S = 1_795_291_200.25  # 2026-11-21T20:00:00.25Z


class Reporter(Events):
    def __init__(self, connection):
        self.clock_s = AT_S
        super().__init__(connection, "gesscale-controller-abc", now_s=lambda: self.clock_s)

    def after(self, seconds, note="replicas 4 -> 6", kind=EventType.NORMAL):
        self.clock_s += seconds
        self.publish(TAXI, EventDraft(kind, Incident.SUCCESSFUL_RESCALE, note))


@pytest.fixture
def reporter(server, connection):
    server.answers(as_json({}))
    return Reporter(connection)


def sent(server):
    return [(each.method, each.body) for each in server.requests]


def test_an_event_has_reason_message_and_object(server, reporter):
    reporter.after(0, kind=EventType.WARNING)
    ((method, body),) = sent(server)
    assert method == "POST"
    assert server.requests[0].path == "/api/v1/namespaces/streams/events"
    name = body["metadata"].pop("name")
    assert name.startswith("taxi.")
    assert body == {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"namespace": "streams"},
        "firstTimestamp": "2026-11-21T20:00:00Z",
        "lastTimestamp": "2026-11-21T20:00:00Z",
        "count": 1,
        "source": {"component": "gesscale.dev/controller", "host": "gesscale-controller-abc"},
        "reportingComponent": "gesscale.dev/controller",
        "reportingInstance": "gesscale-controller-abc",
        "reason": "SuccessfulRescale",
        "type": "Warning",
        "message": "replicas 4 -> 6",
        "involvedObject": {
            "apiVersion": "gesscale.dev/v1alpha1",
            "kind": "StreamAutoscaler",
            "namespace": "streams",
            "name": "taxi",
            "uid": "u-1",
        },
    }


def test_a_repetition_increments_the_count_at_intervals(server, reporter):
    reporter.after(0)
    reporter.after(60)
    reporter.after(60)
    assert len(server.requests) == 1
    reporter.after(180)  # 300 s after the last write
    assert len(server.requests) == 2
    first, second = server.requests
    assert (second.method, second.path) == ("PATCH", f"{first.path}/{first.body['metadata']['name']}")
    assert second.body == {"count": 4, "lastTimestamp": "2026-11-21T20:05:00Z"}


def test_an_expired_event_is_created_again(server, reporter):
    reporter.after(0)
    server.answers(refusal(404, "NotFound", "gone"), to="PATCH")
    reporter.after(301)
    assert [method for method, _ in sent(server)] == ["POST", "PATCH", "POST"]


def test_a_failure_is_logged_once_and_never_raised(server, reporter, caplog):
    server.answers(refusal(403, "Forbidden", "no"))
    reporter.after(0)
    reporter.after(1)  # the first was not written, so this is no repetition
    (message,) = caplog.messages
    assert logged_codes(message) == ["event-not-written"]
    server.answers(as_json({}))
    reporter.after(1)
    server.answers(refusal(500, "InternalError", "no"), to="PATCH")
    reporter.after(301)
    assert len(caplog.messages) == 2
