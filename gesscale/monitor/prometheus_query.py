"""A query to a Prometheus server: the one place that knows its client, whose requests our own HTTP client bounds."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from pydantic import BaseModel, ConfigDict, TypeAdapter, model_validator
from requests import PreparedRequest, Response, Session
from requests.adapters import BaseAdapter

from gesscale.common.http_client import UNRESTRICTED_CLIENT, FetchError, HttpClient
from gesscale.errors import MetricsUnavailableError


class Series(BaseModel):
    """One element of an answer, instants and values; the one of a vector stands alone. They arrive as strings."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    metric: dict[str, str]
    values: tuple[tuple[float, float], ...]

    @model_validator(mode="before")
    @classmethod
    def _take_vector(cls, element: Any) -> Any:
        if isinstance(element, dict) and "value" in element:
            return {**element, "values": [element["value"]]}
        return element


_ANSWER = TypeAdapter(tuple[Series, ...])


def ask(
    url: str,
    query: str,
    what: str,
    *,
    now_s: float,
    timeout_s: float,
    max_bytes: int,
    max_parts: int,
    client: HttpClient = UNRESTRICTED_CLIENT,
) -> tuple[Series, ...]:
    """Put a query to a Prometheus server.

    Parameters
    ----------
    now_s
        The instant of the query, seconds since the epoch.

    Raises
    ------
    MetricsUnavailableError
        Without an answer of that form, or with a larger one.
    """
    from prometheus_api_client.prometheus_connect import PrometheusConnect

    failed = f"asked the Prometheus server {url} for {what}, but got no samples"
    session = Session()
    session.trust_env = False  # neither proxies nor passwords of the environment
    bounded = _BoundedAdapter(partial(client.fetch, timeout_s=timeout_s, max_bytes=max_bytes), max_parts)
    try:
        with PrometheusConnect(url.rstrip("/"), session=session) as server:
            session.mount(server.url, bounded)  # instead of the adapter without bounds that the client has mounted
            return _ANSWER.validate_python(server.custom_query(query, params={"time": now_s}))
    except FetchError as error:
        raise MetricsUnavailableError(f"{failed}: {error}") from error
    except (OSError, ValueError, LookupError, TypeError, RecursionError) as error:
        # Not in the error's own words: they repeat the answer.
        raise MetricsUnavailableError(
            f"{failed}: its answer is no vector or matrix of numbers; is Prometheus there?"
        ) from error


class _BoundedAdapter(BaseAdapter):
    """Sends the requests of a session of ``requests`` through our own HTTP client."""

    def __init__(self, fetch: Callable[[str], bytes], max_parts: int) -> None:
        super().__init__()
        self._fetch, self._max_parts = fetch, max_parts

    def send(
        self,
        request: PreparedRequest,
        stream: bool = False,  # noqa: ARG002 - the rest is what the base class is called with
        timeout: Any = None,  # noqa: ARG002
        verify: bool | str = True,  # noqa: ARG002
        cert: Any = None,  # noqa: ARG002
        proxies: Mapping[str, str] | None = None,  # noqa: ARG002
    ) -> Response:
        response = Response()
        response.request, response.url = request, request.url or ""
        body = self._fetch(response.url)
        if body.count(b"{") + body.count(b"[") > self._max_parts:
            raise FetchError(f"it answered more than {self._max_parts} JSON objects and lists")
        response._content = body
        response.status_code, response.encoding = 200, "utf-8"
        return response

    def close(self) -> None:
        """Do nothing: no connection is kept."""
