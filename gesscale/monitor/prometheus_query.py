"""A question to a Prometheus server, by its HTTP API."""

from typing import Any
from urllib.parse import urlencode

from pydantic import BaseModel, ConfigDict, ValidationError, model_validator

from gesscale.common.http_client import ANYWHERE, FetchError, HttpClient
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


class _Data(BaseModel):
    result: tuple[Series, ...]


class _Answer(BaseModel):
    data: _Data


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
        Bound on its objects and lists: a short one takes up to 360 bytes of memory, its text only ten.
    client
        By which it is asked.

    Raises
    ------
    MetricsUnavailableError
        Without an answer of that form, or with a larger one.
    """
    failed = f"asked the Prometheus server {url} for {what}, but got no samples"
    page = f"{url.rstrip('/')}/api/v1/query?{urlencode({'query': query, 'time': now_s})}"
    try:
        body = client.fetch(page, timeout_s=timeout_s, max_bytes=max_bytes)
    except FetchError as error:
        raise MetricsUnavailableError(f"{failed}: {error}") from error
    if body.count(b"{") + body.count(b"[") > max_parts:
        message = f"{failed}: it answered more than {max_parts} JSON objects and lists"
        raise MetricsUnavailableError(message)
    try:
        return _Answer.model_validate_json(body).data.result
    except ValidationError:  # its own words repeat the answer
        message = f"{failed}: its answer is no vector or matrix of numbers; is Prometheus there?"
        raise MetricsUnavailableError(message) from None
