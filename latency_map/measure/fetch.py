"""One HTTP GET with a bound on its whole time and on its size."""

import socket
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from urllib.parse import urlsplit

_KINDS: Mapping[str, type[HTTPConnection]] = {"http": HTTPConnection, "https": HTTPSConnection}


class FetchError(Exception):
    """A page could not be had; the message says what came instead."""


def fetch(url: str, *, timeout_s: float, max_bytes: int) -> bytes:
    """Get a page.

    Proxies of the environment are not used and redirects not followed: it comes from the named address.

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
    FetchError
        At any other answer or none.
    """
    deadline_s = time.monotonic() + timeout_s
    late = f"no complete answer came within {timeout_s:g} s"
    expired = threading.Event()
    try:
        parts = urlsplit(url)
        if parts.scheme not in _KINDS or not parts.hostname:
            message = f"expected an address such as http://10.0.0.1:9109, got {url!r}"
            raise FetchError(message)
        with closing(_KINDS[parts.scheme](parts.hostname, parts.port, timeout=timeout_s)) as connection:
            connection.connect()
            with _watchdog(connection.sock, deadline_s - time.monotonic(), expired):
                connection.request("GET", parts._replace(scheme="", netloc="").geturl() or "/")
                with connection.getresponse() as response:
                    body = response.read(max_bytes + 1)
    except (OSError, HTTPException, ValueError) as error:
        failed = f"the connection failed: {error or type(error).__name__}"
        raise FetchError(late if expired.is_set() or isinstance(error, TimeoutError) else failed) from error
    if expired.is_set():
        raise FetchError(late)
    if response.status != 200:
        message = f"it answered {response.status} {response.reason}"
        raise FetchError(message)
    if len(body) > max_bytes:
        message = f"it answered more than {max_bytes} bytes"
        raise FetchError(message)
    if response.length:
        message = f"its answer broke off {response.length} bytes early"
        raise FetchError(message)
    return body


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
