"""A question to a Prometheus server: the one place that knows its client."""

from importlib.util import find_spec
from typing import Any

from pydantic import BaseModel, ConfigDict, TypeAdapter, model_validator

from gesscale.common.http_client import ANYWHERE, FetchError, HttpClient
from gesscale.errors import InputError, MetricsUnavailableError
from gesscale.extras import how_to_install
from gesscale.monitor.fetch import check_url


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


def check_server(url: str) -> None:
    """Refuse a server that cannot be asked.

    Parameters
    ----------
    url
        Its address.

    Raises
    ------
    InputError
        Where the address cannot be one, or the package prometheus-api-client is not installed.
    """
    check_url(url, "the Prometheus server")
    if not _installed("prometheus_api_client"):
        message = (
            "metrics through Prometheus need the package prometheus-api-client, which is not installed: "
            f"{how_to_install('controller')}"
        )
        raise InputError(message)


def ask(
    url: str,
    query: str,
    what: str,
    *,
    now_s: float,
    timeout_s: float,
    max_bytes: int,
    max_parts: int,
    client: HttpClient = ANYWHERE,
) -> tuple[Series, ...]:
    """Put a query to a Prometheus server.

    Parameters
    ----------
    url
        Its address, such as ``http://10.0.0.1:9090``.
    query
        In PromQL; its answer is a vector or a matrix.
    what
        What is asked for, for messages.
    now_s
        The instant of the query, seconds since the epoch.
    timeout_s
        Bound on the time of the whole answer.
    max_bytes
        Bound on its size.
    max_parts
        Bound on its objects and lists, which take more memory than their text.
    client
        By which it is asked.

    Returns
    -------
    tuple of Series
        As answered.

    Raises
    ------
    MetricsUnavailableError
        Without an answer of that form, or with a larger one.
    """
    from prometheus_api_client.prometheus_connect import PrometheusConnect

    from gesscale.monitor.bounded_session import BoundedSession

    session = BoundedSession(timeout_s=timeout_s, max_bytes=max_bytes, max_parts=max_parts, client=client)
    failed = f"asked the Prometheus server {url} for {what}, but got no samples"
    try:
        with PrometheusConnect(url.rstrip("/"), session=session) as server:
            return _ANSWER.validate_python(server.custom_query(query, params={"time": now_s}))
    except FetchError as error:
        raise MetricsUnavailableError(f"{failed}: {error}") from error
    except (OSError, ValueError, LookupError, TypeError, RecursionError) as error:
        # Not in the error's own words: they repeat the answer.
        message = f"{failed}: its answer is no vector or matrix of numbers; is Prometheus there?"
        raise MetricsUnavailableError(message) from error


def _installed(package: str) -> bool:
    try:
        return find_spec(package) is not None
    except ValueError:  # a module set to None: hidden on purpose
        return False
