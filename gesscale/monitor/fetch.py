"""One HTTP GET with a bound on its whole time and on its size."""

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from urllib.parse import urlsplit

from gesscale.errors import InputError, MetricsUnavailableError


def fetch(url: str, *, timeout_s: float, max_bytes: int) -> bytes:
    """Get a body.

    Proxies of the environment are not used and redirects not followed: metrics come from the named address.

    Parameters
    ----------
    url
        What to get, http or https.
    timeout_s
        Bound on connecting, head and body together; a server that sends byte after byte does not stretch it.
    max_bytes
        Bound on the body.

    Returns
    -------
    bytes
        The body of an answer with status 200.

    Raises
    ------
    MetricsUnavailableError
        At any other answer or none, with the address and what came instead.
    """
    deadline_s = time.monotonic() + timeout_s
    parts = urlsplit(url)
    kind = HTTPSConnection if parts.scheme == "https" else HTTPConnection
    expired = threading.Event()
    try:
        with closing(kind(parts.hostname or "", parts.port, timeout=timeout_s)) as connection:
            connection.connect()
            with _watchdog(connection.sock, deadline_s - time.monotonic(), expired):
                connection.request("GET", parts._replace(scheme="", netloc="").geturl() or "/")
                with connection.getresponse() as response:
                    body = response.read(max_bytes + 1)
    except (OSError, HTTPException, UnicodeError) as error:
        said = _late(timeout_s) if expired.is_set() or isinstance(error, TimeoutError) else _told(error)
        raise MetricsUnavailableError(_message(url, said)) from error
    if expired.is_set():
        raise MetricsUnavailableError(_message(url, _late(timeout_s)))
    if response.status != 200:
        raise MetricsUnavailableError(_message(url, f"it answered {response.status} {response.reason}"))
    if len(body) > max_bytes:
        raise MetricsUnavailableError(_message(url, f"it answered more than {max_bytes} bytes"))
    if response.length:
        raise MetricsUnavailableError(_message(url, f"its answer broke off {response.length} bytes early"))
    return body


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


@contextmanager
def _watchdog(opened: socket.socket, left_s: float, expired: threading.Event) -> Iterator[None]:
    """Shut the socket when time is up: its own timeout starts anew with every byte."""

    def cut() -> None:
        expired.set()
        with suppress(OSError):  # it is closed already
            opened.shutdown(socket.SHUT_RDWR)

    timer = threading.Timer(max(0.0, left_s), cut)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _late(timeout_s: float) -> str:
    return f"no complete answer came within {timeout_s:g} s"


def _told(error: Exception) -> str:
    return f"the connection failed: {error or type(error).__name__}"


def _message(url: str, said: str) -> str:
    return f"asked {url} for metrics, but {said}; is the driver up, and is this the port of its listener?"
