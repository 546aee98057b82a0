"""Injected faults of a metrics page, and of an API server as the controller's client sees them."""

import json
import threading
from collections.abc import Iterator
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
from scripted_api import SETTLE_S, ApiServer, as_json, connection_to, scripted_api, stream

from gesscale.common.http_client import UNRESTRICTED_CLIENT, FetchError
from gesscale.kubernetes.api.errors import ApiError
from gesscale.kubernetes.api.resources import PODS
from testbed.chaos.proxies import FaultyProxy, ProxyFault


class Page(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        body = json.dumps({"path": self.path, "rows": 3}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def page() -> Iterator[FaultyProxy]:
    with HTTPServer(("127.0.0.1", 0), Page) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        with FaultyProxy(f"http://127.0.0.1:{server.server_address[1]}").serving() as made:
            yield made
        server.shutdown()
        thread.join()


@pytest.mark.parametrize(
    ("fault", "rows"), [(ProxyFault.LYING, -4), (ProxyFault.HANGING, None), (ProxyFault.CUT, None)]
)
def test_a_page_misbehaves_and_recovers(page: FaultyProxy, fault: ProxyFault, rows: int | None) -> None:
    def fetched(timeout_s: float) -> object:
        return json.loads(UNRESTRICTED_CLIENT.fetch(f"{page.url}/batches", timeout_s=timeout_s, max_bytes=1000))

    with page.injecting(fault):
        if rows is None:
            with pytest.raises(FetchError):
                fetched(0.5)
        else:
            assert fetched(60.0) == {"path": "/batches", "rows": rows}
    assert fetched(60.0) == {"path": "/batches", "rows": 3}


@pytest.fixture
def api() -> Iterator[ApiServer]:
    with scripted_api() as script:
        yield script


@pytest.fixture
def proxy(api: ApiServer) -> Iterator[FaultyProxy]:
    made = FaultyProxy(api.url, lambda host, port: HTTPConnection(host, port, timeout=SETTLE_S))
    with made.serving():
        yield made


@pytest.mark.parametrize(
    ("trouble", "status", "reads"),
    [
        (ProxyFault.CONFLICT, 409, False),
        (ProxyFault.GONE, 410, False),
        (ProxyFault.TOO_MANY, 429, True),
        (ProxyFault.ERROR, 500, True),
    ],
)
def test_injected_answers_have_the_form_of_an_api_server(
    api: ApiServer, proxy: FaultyProxy, trouble: ProxyFault, status: int, reads: bool
) -> None:
    api.answers(as_json({"items": [], "metadata": {"resourceVersion": "7"}}))
    api.answers(as_json({"metadata": {"name": "a"}}), to="PATCH")
    asked = connection_to(proxy.url)

    def meets() -> None:
        if trouble is ProxyFault.GONE:
            asked.watch(PODS, resource_version="7", lasts_s=5.0)
        else:
            asked.patch(PODS, "a", {}, namespace="streams")

    with proxy.injecting(trouble):
        with pytest.raises(ApiError) as met:
            meets()
        assert met.value.status == status
        if reads:
            with pytest.raises(ApiError):
                list(asked.pages(PODS))
        else:
            assert list(asked.pages(PODS))
    assert asked.patch(PODS, "a", {}, namespace="streams") == {"metadata": {"name": "a"}}
    assert api.requests[-1].headers["authorization"] == "Bearer secret"  # the client's own


def test_an_open_watch_ends_with_410(api: ApiServer, proxy: FaultyProxy) -> None:
    first = {"type": "ADDED", "object": {"metadata": {"name": "a", "resourceVersion": "8"}}}
    api.answers(stream(first, then=lambda _: api.over.wait(SETTLE_S)), to="watch")
    lines = connection_to(proxy.url).watch(PODS, resource_version="7", lasts_s=30.0)
    each = iter(lines)
    assert b'"ADDED"' in next(each)
    with proxy.injecting(ProxyFault.GONE):
        line = next(each)
    assert b'"ERROR"' in line
    assert b"410" in line
    lines.close()
