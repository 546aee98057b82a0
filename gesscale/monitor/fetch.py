"""Where drivers and metric servers are asked: their addresses, and what it means when they do not answer."""

from collections.abc import Iterator
from contextlib import contextmanager

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
        At any other answer or none, with the address and what came instead.
    """
    try:
        with client.page(url, timeout_s=timeout_s, max_bytes=max_bytes) as body:
            yield body
    except FetchError as error:
        raise MetricsUnavailableError(
            f"asked {url} for metrics, but {error}; is the driver up, and is this the port of its listener?"
        ) from error


def fetch(url: str, *, timeout_s: float, max_bytes: int, client: HttpClient = UNRESTRICTED_CLIENT) -> bytes:
    """Get the metrics of a driver; as `metrics_page`, for what is short-lived."""
    with metrics_page(url, timeout_s=timeout_s, max_bytes=max_bytes, client=client) as body:
        return body


def check_url(url: str, what: str) -> None:
    """Refuse an address that cannot be asked.

    Raises
    ------
    InputError
        Where it is not http(s)://host[:port][/path].
    """
    try:
        web_address(url)
    except ValueError as error:
        raise InputError(f"{what}: {error}, got {url!r}") from None
