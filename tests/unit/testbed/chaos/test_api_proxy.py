"""An API server in trouble, between the controller's own client and a server that is well."""

from collections.abc import Iterator
from http.client import HTTPConnection

import pytest
from scripted_api import SETTLE_S, ApiServer, as_json, connection_to, scripted_api, stream

from gesscale.kubernetes.api.faults import ApiError
from gesscale.kubernetes.api.resources import PODS
from testbed.chaos.api_proxy import FaultyApi, Trouble, faulty_api


@pytest.fixture
def api() -> Iterator[ApiServer]:
    with scripted_api() as script:
        yield script


@pytest.fixture
def proxy(api: ApiServer) -> Iterator[FaultyApi]:
    with faulty_api(api.url, lambda host, port: HTTPConnection(host, port, timeout=SETTLE_S)) as made:
        yield made


def test_without_trouble_it_passes_everything_on(api: ApiServer, proxy: FaultyApi) -> None:
    api.says(as_json({"items": [], "metadata": {"resourceVersion": "7"}}))
    asked = connection_to(proxy.url)
    assert next(iter(asked.pages(PODS)))["metadata"]["resourceVersion"] == "7"
    (got,) = api.asked
    assert got.headers["authorization"] == "Bearer secret"  # the client's own
    assert proxy.met == 0


@pytest.mark.parametrize(
    ("trouble", "status", "reads"),
    [
        (Trouble.CONFLICT, 409, False),
        (Trouble.GONE, 410, False),
        (Trouble.TOO_MANY, 429, True),
        (Trouble.ERROR, 500, True),
    ],
)
def test_each_trouble_is_answered_as_an_api_server_does(
    api: ApiServer, proxy: FaultyApi, trouble: Trouble, status: int, reads: bool
) -> None:
    api.says(as_json({"items": [], "metadata": {"resourceVersion": "7"}}))
    api.says(as_json({"metadata": {"name": "a"}}), to="PATCH")
    asked = connection_to(proxy.url)
    with proxy.in_trouble(trouble):
        if trouble is Trouble.GONE:
            with pytest.raises(ApiError) as met:
                asked.watch(PODS, resource_version="7", lasts_s=5.0)
        else:
            with pytest.raises(ApiError) as met:
                asked.patch(PODS, "a", {}, namespace="streams")
        assert met.value.status == status
        if reads:
            with pytest.raises(ApiError):
                list(asked.pages(PODS))
        else:
            assert list(asked.pages(PODS))
    assert proxy.met >= 1
    assert asked.patch(PODS, "a", {}, namespace="streams") == {"metadata": {"name": "a"}}


def test_a_watch_that_is_open_ends_when_its_version_is_too_old(api: ApiServer, proxy: FaultyApi) -> None:
    first = {"type": "ADDED", "object": {"metadata": {"name": "a", "resourceVersion": "8"}}}
    api.says(stream(first, then=lambda _: api.over.wait(SETTLE_S)), to="watch")
    lines = connection_to(proxy.url).watch(PODS, resource_version="7", lasts_s=30.0)
    each = iter(lines)
    assert b'"ADDED"' in next(each)
    with proxy.in_trouble(Trouble.GONE):
        line = next(each)
    assert b'"ERROR"' in line
    assert b"410" in line
    lines.close()
