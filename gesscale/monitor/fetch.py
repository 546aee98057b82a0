"""Where drivers and metric servers are asked: their addresses, and what it means when they do not answer."""

from gesscale.errors import InputError, MetricsUnavailableError
from gesscale.fields import web_address
from latency_map.measure import fetch as bounded
from latency_map.measure.fetch import Resolve, resolve_host


def fetch(url: str, *, timeout_s: float, max_bytes: int, resolve: Resolve = resolve_host) -> bytes:
    """Get the metrics of a driver.

    Parameters
    ----------
    url, timeout_s, max_bytes, resolve
        As in `latency_map.measure.fetch.fetch`.

    Returns
    -------
    bytes
        The body of an answer with status 200.

    Raises
    ------
    MetricsUnavailableError
        At any other answer or none, with the address and what came instead.
    """
    try:
        return bounded.fetch(url, timeout_s=timeout_s, max_bytes=max_bytes, resolve=resolve)
    except bounded.FetchError as error:
        message = (
            f"asked {url} for metrics, but {error}; is the driver up, and is this the port of its listener?"
        )
        raise MetricsUnavailableError(message) from error


def check_url(url: str, what: str) -> None:
    """Refuse an address that cannot be asked.

    Parameters
    ----------
    url
        The address.
    what
        Whose it is, for the message.

    Raises
    ------
    InputError
        Where it is not http(s)://host[:port][/path].
    """
    try:
        web_address(url)
    except ValueError as error:
        message = f"{what}: {error}, got {url!r}"
        raise InputError(message) from None
