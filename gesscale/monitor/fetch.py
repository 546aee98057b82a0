"""Requests to drivers and metric servers: address checks, and errors for failed requests."""

from collections.abc import Iterator
from contextlib import contextmanager

from gesscale.common.errors import InvalidValueError
from gesscale.common.http_client import UNRESTRICTED_CLIENT, FetchError, HttpClient
from gesscale.errors import InputError, MetricsUnavailableError
from gesscale.fields import web_address


@contextmanager
def metrics_page(
    url: str, *, timeout_s: float, max_bytes: int, client: HttpClient = UNRESTRICTED_CLIENT
) -> Iterator[bytes]:
    """Get the metrics of a driver.

    Raises
    ------
    MetricsUnavailableError
        If the request fails or the response is not a success.
    """
    try:
        with client.page(url, timeout_s=timeout_s, max_bytes=max_bytes) as body:
            yield body
    except FetchError as error:
        raise MetricsUnavailableError(
            "metrics-unreachable", url=url, cause=str(error), cause_code=error.code
        ) from error


def fetch(url: str, *, timeout_s: float, max_bytes: int, client: HttpClient = UNRESTRICTED_CLIENT) -> bytes:
    """Return the metrics of a driver; see `metrics_page`."""
    with metrics_page(url, timeout_s=timeout_s, max_bytes=max_bytes, client=client) as body:
        return body


def check_url(url: str, subject: str) -> None:
    """Reject an invalid address.

    Raises
    ------
    InputError
        If it is not http(s)://host[:port][/path].
    """
    try:
        web_address(url)
    except InvalidValueError as error:
        raise InputError(error.code, **{**error.fields, "source": subject}) from None
