"""Requests to the API server: content, counters, and the code of each error."""

import pytest
from refusals import logged_codes, refused
from scripted_api import SETTLE_S, as_json, as_text, connection_to, refusal

from gesscale.errors import ClusterError
from gesscale.kubernetes.api.errors import ApiError
from gesscale.kubernetes.api.resources import CONFIG_MAPS, NODES, PODS, STREAM_AUTOSCALERS

POD = {"metadata": {"name": "driver", "namespace": "streams", "resourceVersion": "7"}}


def test_a_request_has_user_agent_and_token(server, connection):
    server.answers(as_json(POD))
    assert connection.get(PODS, "driver", namespace="streams") == POD
    (request,) = server.requests
    assert (request.method, request.path) == ("GET", "/api/v1/namespaces/streams/pods/driver")
    assert request.headers["user-agent"] == "gesscale/test"
    assert request.headers["authorization"] == "Bearer secret"
    assert connection.url == server.url


def test_a_status_patch_has_its_version_and_can_be_a_dry_run(server, connection):
    server.answers(as_json(POD))
    body = {"metadata": {"resourceVersion": "7"}, "status": {"replicas": 2}}
    connection.patch(STREAM_AUTOSCALERS, "taxi", body, namespace="streams", subresource="status", dry_run=True)
    (request,) = server.requests
    assert request.method == "PATCH"
    assert request.path == "/apis/gesscale.dev/v1alpha1/namespaces/streams/streamautoscalers/taxi/status"
    assert request.query == {"dryRun": "All"}
    assert request.headers["content-type"] == "application/merge-patch+json"
    assert request.body == body


def test_lists_come_in_pages(server, connection):
    first = {"metadata": {"resourceVersion": "9", "continue": "more"}, "items": [1, 2]}
    last = {"metadata": {"resourceVersion": "9"}, "items": [3]}
    server.answers(as_json(first), as_json(last))
    pages = list(connection.pages(PODS, label_selector="spark-role=driver", page_size=2))
    assert [page["items"] for page in pages] == [[1, 2], [3]]
    assert [each.query for each in server.requests] == [
        {"limit": "2", "labelSelector": "spark-role=driver"},
        {"limit": "2", "labelSelector": "spark-role=driver", "continue": "more"},
    ]


@pytest.mark.parametrize(
    ("status", "reason", "traits", "code"),
    [
        (400, "BadRequest", set(), "kubernetes-request-invalid"),
        (401, "Unauthorized", set(), "kubernetes-unauthorized"),
        (403, "Forbidden", set(), "kubernetes-forbidden"),
        (404, "NotFound", {"not_found"}, "kubernetes-not-found"),
        (409, "Conflict", {"conflict", "transient"}, "kubernetes-conflict"),
        (410, "Expired", {"expired", "transient"}, "kubernetes-version-expired"),
        (422, "Invalid", set(), "kubernetes-request-invalid"),
        (429, "TooManyRequests", {"transient"}, "kubernetes-throttled"),
        (500, "InternalError", {"transient"}, "kubernetes-request-failed"),
        (503, "ServiceUnavailable", {"transient"}, "kubernetes-request-failed"),
    ],
)
def test_each_status_has_a_code_and_the_request(server, connection, status, reason, traits, code):
    server.answers(refusal(status, reason, "because"))
    request = "patch streamautoscalers/status taxi in namespace streams"
    with refused(code, ClusterError, status=status, cause="because", request=request) as caught:
        connection.patch(STREAM_AUTOSCALERS, "taxi", {}, namespace="streams", subresource="status")
    error = caught.value
    assert (error.status, error.reason, error.status_word) == (status, reason, str(status))
    names = ("not_found", "conflict", "expired", "transient")
    assert {name for name in names if getattr(error, name)} == traits


def test_a_kind_that_the_server_does_not_have_has_its_own_code(server, connection):
    server.answers(refusal(404, "NotFound", "the server could not find the requested resource"))
    with refused("kubernetes-kind-unknown", request="list streamautoscalers"):
        list(connection.pages(STREAM_AUTOSCALERS))


def lacking(verb, resource):
    """Return a refusal by RBAC."""
    user = "system:serviceaccount:gesscale:gesscale-controller"
    message = f'{resource} is forbidden: User "{user}" cannot {verb} resource "{resource}" in API group ""'
    return refusal(403, "Forbidden", message)


def test_a_missing_right_is_reported_until_it_is_granted(server, connection, caplog):
    server.answers(
        lacking("list", "pods"),
        lacking("get", "pods"),
        lacking("get", "pods"),
        refusal(500, "InternalError", "x"),
        as_json(POD),
    )
    with pytest.raises(ApiError):
        list(connection.pages(PODS))
    for _ in range(3):
        with pytest.raises(ApiError):
            connection.get(PODS, "driver", namespace="streams")
    listing, getting = connection.missing_rights
    assert {each.code for each in (listing, getting)} == {"kubernetes-forbidden"}
    assert [each.fields["right"] for each in (listing, getting)] == ["list pods", "get pods in namespace streams"]
    assert logged_codes(caplog.text) == ["kubernetes-forbidden"] * 2  # once each
    connection.get(PODS, "driver", namespace="streams")
    assert connection.missing_rights == (listing,)


@pytest.mark.parametrize(
    "message",
    [
        "events is forbidden: unable to create new content in namespace streams because it is being terminated",
        'pods "x" is forbidden: exceeded quota: few, requested: pods=1, used: pods=1, limited: pods=1',
        "admission webhook denied the request",
    ],
)
def test_a_refusal_by_quota_or_admission_is_no_missing_right(server, connection, message):
    server.answers(refusal(403, "Forbidden", message))
    with pytest.raises(ApiError):
        connection.create(PODS, POD, namespace="streams")
    assert connection.missing_rights == ()


def test_a_config_map_without_a_grant_is_no_missing_right(server, connection):
    server.answers(lacking("get", "configmaps"))
    with pytest.raises(ApiError):
        connection.get(CONFIG_MAPS, "map", namespace="streams")
    assert connection.missing_rights == ()


@pytest.mark.parametrize(
    ("header", "patience_s"), [("7", 7.0), ("100000", 120.0), ("-3", None), ("soon", None), ("٣", None), (None, None)]
)
def test_retry_after_is_read(server, connection, header, patience_s):
    headers = {} if header is None else {"Retry-After": header.encode().decode("latin-1")}
    server.answers(refusal(429, "TooManyRequests", "busy", headers))
    with pytest.raises(ApiError) as caught:
        connection.get(NODES, "pi1")
    assert caught.value.retry_after_s == patience_s


@pytest.mark.parametrize("text", ["", "<html>", "[1]", '{"a": '])
def test_an_answer_that_is_no_object_is_an_error(server, connection, text):
    server.answers(as_text(text))
    with refused("kubernetes-answer-invalid") as caught:
        connection.get(NODES, "pi1")
    assert caught.value.reason == "BrokenAnswer"


def test_a_redirect_is_not_followed_with_our_token(server, connection):
    server.answers(as_text("", 302, {"Location": f"{server.url}/elsewhere"}))
    with refused("kubernetes-request-failed", status=302):
        connection.get(NODES, "pi1")
    assert len(server.requests) == 1


def test_a_request_to_a_server_that_hangs_times_out(server):
    server.answers(lambda _handler: server.over.wait(SETTLE_S))
    connection = connection_to(server.url, timeout_s=0.3)
    with refused("kubernetes-timeout", request="get nodes pi1") as caught:
        connection.get(NODES, "pi1")
    assert (caught.value.reason, caught.value.transient) == ("Timeout", True)
    assert connection.requests == {("get", "nodes", "Timeout"): 1}
    connection.close()


def test_a_slow_answer_times_out(server):
    def drip(handler):
        handler.send_response(200)
        handler.send_header("Content-Length", "1000000")
        handler.end_headers()
        while not server.over.wait(0.02):
            handler.wfile.write(b" ")

    server.answers(drip)
    connection = connection_to(server.url, timeout_s=0.3)
    with pytest.raises(ApiError) as caught:
        connection.get(NODES, "pi1")
    assert caught.value.reason == "Timeout"
    connection.close()


def test_a_watch_yields_lines_from_any_chunks(server, connection):
    def pieces(handler):
        handler.send_response(200)
        handler.send_header("Transfer-Encoding", "chunked")
        handler.end_headers()
        for part in (b'{"a": 1}\n{"b"', b": 2}", b"\n\n", b"0" * 70_000 + b"\n"):
            handler.wfile.write(b"%x\r\n%s\r\n" % (len(part), part))
            handler.wfile.flush()
        handler.wfile.write(b"0\r\n\r\n")

    server.answers(pieces, to="watch")
    lines = list(connection.watch(PODS, resource_version="7", lasts_s=61.4))
    assert lines == [b'{"a": 1}', b'{"b": 2}', b"0" * 70_000]
    assert server.requests[0].query == {
        "watch": "true",
        "allowWatchBookmarks": "true",
        "resourceVersion": "7",
        "timeoutSeconds": "61",
    }
