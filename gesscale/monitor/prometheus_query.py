"""Queries a Prometheus server through our HTTP client, which limits the size and the time of a response."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from pydantic import BaseModel, ConfigDict, TypeAdapter, model_validator
from requests import PreparedRequest, Response, Session
from requests.adapters import BaseAdapter

from gesscale.common.http_client import UNRESTRICTED_CLIENT, FetchError, HttpClient
from gesscale.errors import MetricsUnavailableError


class PrometheusSeries(BaseModel):
    """One series of a response: times and values. A vector element has one value; values arrive as strings."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    metric: dict[str, str]
    values: tuple[tuple[float, float], ...]

    @model_validator(mode="before")
    @classmethod
    def _vector_as_matrix(cls, element: Any) -> Any:
        if isinstance(element, dict) and "value" in element:
            return {**element, "values": [element["value"]]}
        return element


_RESPONSE = TypeAdapter(tuple[PrometheusSeries, ...])


def query_prometheus(
    url: str,
    query: str,
    gauges: str,
    *,
    now_s: float,
    timeout_s: float,
    max_bytes: int,
    max_elements: int,
    client: HttpClient = UNRESTRICTED_CLIENT,
) -> tuple[PrometheusSeries, ...]:
    """Query a Prometheus server.

    Parameters
    ----------
    gauges
        The queried gauges, for error messages.
    now_s
        The instant of the query, seconds since the epoch.

    Raises
    ------
    MetricsUnavailableError
        If the server is unreachable, or its response is invalid or too large.
    """
    from prometheus_api_client.prometheus_connect import PrometheusConnect

    session = Session()
    session.trust_env = False  # ignore proxies and passwords from the environment
    bounded = _BoundedAdapter(url, partial(client.fetch, timeout_s=timeout_s, max_bytes=max_bytes), max_elements)
    try:
        with PrometheusConnect(url.rstrip("/"), session=session) as server:
            session.mount(server.url, bounded)  # replaces the client's unlimited adapter
            return _RESPONSE.validate_python(server.custom_query(query, params={"time": now_s}))
    except FetchError as error:
        raise MetricsUnavailableError(
            "prometheus-unreachable", url=url, gauges=gauges, cause=str(error), cause_code=error.code
        ) from error
    except (OSError, ValueError, LookupError, TypeError, RecursionError) as error:
        # Without the error's text, which repeats the response.
        raise MetricsUnavailableError("prometheus-response-invalid", url=url, gauges=gauges) from error


class _BoundedAdapter(BaseAdapter):
    """Sends the requests of a ``requests`` session through our HTTP client."""

    def __init__(self, url: str, fetch: Callable[[str], bytes], max_elements: int) -> None:
        super().__init__()
        self._url, self._fetch, self._max_elements = url, fetch, max_elements

    def send(
        self,
        request: PreparedRequest,
        stream: bool = False,  # noqa: ARG002 - the signature of the base class
        timeout: Any = None,  # noqa: ARG002
        verify: bool | str = True,  # noqa: ARG002
        cert: Any = None,  # noqa: ARG002
        proxies: Mapping[str, str] | None = None,  # noqa: ARG002
    ) -> Response:
        response = Response()
        response.request, response.url = request, request.url or ""
        body = self._fetch(response.url)
        if body.count(b"{") + body.count(b"[") > self._max_elements:
            raise MetricsUnavailableError(
                "prometheus-response-oversized", url=self._url, max_elements=self._max_elements
            )
        response._content = body
        response.status_code, response.encoding = 200, "utf-8"
        return response

    def close(self) -> None:
        """Do nothing: there is no open connection."""
