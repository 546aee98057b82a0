"""Misbehaving Prometheus servers: each response is limited in time and size, and no error repeats it."""

import gzip
import time
from collections.abc import Iterator

import pytest
from pytest_httpserver import HTTPServer
from refusals import refused
from werkzeug import Request, Response

from gesscale.errors import MetricsUnavailableError
from gesscale.monitor.prometheus_query import PrometheusSeries, query_prometheus

HIDDEN = "words-of-another-page"


def query(httpserver: HTTPServer, *, timeout_s: float = 60.0) -> tuple[PrometheusSeries, ...]:
    url = httpserver.url_for("/").rstrip("/")
    return query_prometheus(
        url, "up", "samples", now_s=1000.0, timeout_s=timeout_s, max_bytes=100_000, max_elements=60_000
    )


def test_a_gzip_bomb_is_not_decompressed(httpserver: HTTPServer) -> None:
    # 100 MB of blanks become 100 kB, which the limit lets through: only the encoding shows it.
    bomb = gzip.compress(b" " * 90_000_000)
    assert len(bomb) < 100_000
    httpserver.expect_request("/api/v1/query").respond_with_data(bomb, headers={"Content-Encoding": "gzip"})
    with refused("prometheus-unreachable", MetricsUnavailableError, cause_code="fetch-response-compressed"):
        query(httpserver)


def test_an_endless_response_times_out(httpserver: HTTPServer) -> None:
    def drip(_request: Request) -> Response:
        def parts() -> Iterator[bytes]:
            for _ in range(200):  # 10 s at most; the client is gone long before
                time.sleep(0.05)
                yield b" "

        return Response(parts(), content_type="application/json")

    httpserver.expect_request("/api/v1/query").respond_with_handler(drip)
    with refused("prometheus-unreachable", MetricsUnavailableError, cause_code="fetch-timeout"):
        query(httpserver, timeout_s=0.5)


def test_a_response_of_too_many_parts_is_rejected(httpserver: HTTPServer) -> None:
    body = "[" + "{}" * 30_000 + "[" * 30_000  # 60,001 opening brackets in 90,001 bytes
    httpserver.expect_request("/api/v1/query").respond_with_data(body)
    with refused("prometheus-response-oversized", MetricsUnavailableError, max_elements=60_000):
        query(httpserver)


def test_a_redirect_is_not_followed(httpserver: HTTPServer) -> None:
    httpserver.expect_request("/api/v1/query").respond_with_data(
        status=302, headers={"Location": httpserver.url_for("/elsewhere")}
    )
    with refused("prometheus-unreachable", MetricsUnavailableError, cause_code="fetch-redirect-refused"):
        query(httpserver)
    assert [request.path for request, _ in httpserver.log] == ["/api/v1/query"]


@pytest.mark.parametrize(
    "body",
    [
        HIDDEN,
        f'"{HIDDEN}"',
        f'{{"data": "{HIDDEN}"}}',
        f'{{"{HIDDEN}": 1}}',
        f'{{"data": {{"result": ["{HIDDEN}"]}}}}',
        f'{{"data": {{"result": [{{"metric": {{}}, "value": [1, "{HIDDEN}"]}}]}}}}',
        "[" * 50_000,
    ],
)
@pytest.mark.parametrize("status", [200, 400])
def test_errors_never_repeat_the_response(httpserver: HTTPServer, body: str, status: int) -> None:
    httpserver.expect_request("/api/v1/query").respond_with_data(body, status=status)
    with pytest.raises(MetricsUnavailableError) as raised:
        query(httpserver)
    assert HIDDEN not in str(raised.value)
