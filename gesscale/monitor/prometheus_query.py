"""A question to a Prometheus server: the one place that knows its client."""

from importlib.util import find_spec
from typing import Any

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError, model_validator

from gesscale.errors import InputError, MetricsUnavailableError
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
            "pip install 'gesscale[prometheus]'"
        )
        raise InputError(message)


def ask(url: str, query: str, what: str, *, now_s: float, timeout_s: float) -> tuple[Series, ...]:
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
        Bound on the answer.

    Returns
    -------
    tuple of Series
        As answered.

    Raises
    ------
    MetricsUnavailableError
        Without an answer of that form.
    """
    from prometheus_api_client.exceptions import PrometheusApiClientException
    from prometheus_api_client.prometheus_connect import PrometheusConnect

    try:
        with PrometheusConnect(url.rstrip("/"), retry=0, timeout=timeout_s) as server:
            return _ANSWER.validate_python(server.custom_query(query, params={"time": now_s}))
    except (OSError, PrometheusApiClientException, ValidationError, LookupError, TypeError) as error:
        said = " ".join(str(error).split())[:200] or type(error).__name__
        message = f"asked the Prometheus server {url} for {what}, but got no samples: {said}"
        raise MetricsUnavailableError(message) from error


def _installed(package: str) -> bool:
    try:
        return find_spec(package) is not None
    except ValueError:  # a module set to None: hidden on purpose
        return False
