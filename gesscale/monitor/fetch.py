"""Where drivers and metric servers are asked: their addresses, and what it means when they do not answer."""

from contextlib import suppress
from urllib.parse import urlsplit

from gesscale.errors import InputError, MetricsUnavailableError
from latency_map.measure import fetch as bounded


def fetch(url: str, *, timeout_s: float, max_bytes: int) -> bytes:
    """Get the metrics of a driver.

    Parameters
    ----------
    url, timeout_s, max_bytes
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
        return bounded.fetch(url, timeout_s=timeout_s, max_bytes=max_bytes)
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
        Where it is not http(s)://host[:port].
    """
    with suppress(ValueError):  # urlsplit and its port raise it on nonsense
        parts = urlsplit(url)
        if parts.scheme in ("http", "https") and parts.hostname and parts.port != 0:
            return
    message = f"{what}: expected an address such as http://10.0.0.1:9108, got {url!r}"
    raise InputError(message)
