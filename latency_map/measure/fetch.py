"""The HTTP client of everything that asks for a page: one GET, with a bound on its whole time and on its size.

It follows no redirect, uses no proxy of the environment, and asks for no compression. Its errors repeat no byte of an
answer: who may name an address must not read by an error what he could not read himself.
"""

import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from functools import partial
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import NamedTuple, TypeAlias
from urllib.parse import urlsplit

from latency_map.measure.threads import in_thread

IPAddress: TypeAlias = IPv4Address | IPv6Address

Resolve: TypeAlias = Callable[[str, int], Sequence[IPAddress]]
"""From host and port to the addresses to connect to, in this order; raises FetchError where there are none."""

_KINDS: Mapping[str, type[HTTPConnection]] = {"http": HTTPConnection, "https": HTTPSConnection}


class FetchError(Exception):
    """A page could not be had; the message says what came instead."""


class _Target(NamedTuple):
    scheme: str
    host: str
    port: int
    path: str


def resolve_host(host: str, port: int) -> list[IPAddress]:
    """Return the addresses of a host, of the name service or as they stand; the `Resolve` of who may ask anything.

    Raises
    ------
    FetchError
        The name does not resolve.
    """
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        return list(dict.fromkeys(ip_address(str(entry[4][0])) for entry in found))
    except (OSError, ValueError) as error:
        message = f"the connection failed: {host!r} does not resolve: {error}"
        raise FetchError(message) from None


def fetch(url: str, *, timeout_s: float, max_bytes: int, resolve: Resolve = resolve_host) -> bytes:
    """Get a page.

    Parameters
    ----------
    url
        What to get, http or https, without a user name.
    timeout_s
        Bound on resolving, connecting, head and body together; a server that sends byte after byte does not
        stretch it.
    max_bytes
        Bound on the body.
    resolve
        Says where the host is, and so where a connection may go.

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
        target = _target(url)
        with (
            closing(_connect(target, deadline_s, resolve)) as opened,
            _watchdog(opened, deadline_s - time.monotonic(), expired),
        ):
            body = _ask(opened, target, max_bytes)
    except FetchError:
        if expired.is_set():
            raise FetchError(late) from None
        raise
    except (OSError, HTTPException, ValueError) as error:
        timed_out = expired.is_set() or isinstance(error, TimeoutError)
        raise FetchError(late if timed_out else f"the connection failed: {_reason(error)}") from None
    if expired.is_set():
        raise FetchError(late)
    return body


def _target(url: str) -> _Target:
    parts = urlsplit(url)
    if parts.scheme not in _KINDS or not parts.hostname or "@" in parts.netloc or "%" in parts.netloc:
        message = f"expected an address such as http://10.0.0.1:9109, got {url!r}"
        raise FetchError(message)
    port = _KINDS[parts.scheme].default_port if parts.port is None else parts.port
    return _Target(parts.scheme, parts.hostname, port, parts._replace(scheme="", netloc="").geturl() or "/")


def _connect(target: _Target, deadline_s: float, resolve: Resolve) -> socket.socket:
    """Return a connection, with the TLS handshake still to come where there is one."""
    # A name service that is away answers after half a minute or never, and no system call bounds that.
    asked = in_thread(partial(resolve, target.host, target.port), name="resolve")
    addresses = asked.result(timeout=max(0.0, deadline_s - time.monotonic()))
    failed: OSError = ConnectionError(f"{target.host!r} has no address")
    for address in addresses:
        left_s = deadline_s - time.monotonic()
        if left_s <= 0:
            raise TimeoutError
        try:
            opened = socket.create_connection((str(address), target.port), timeout=left_s)
        except OSError as error:
            failed = error
            continue
        if target.scheme == "http":
            return opened
        return ssl.create_default_context().wrap_socket(
            opened, server_hostname=target.host, do_handshake_on_connect=False
        )
    raise failed


def _ask(opened: socket.socket, target: _Target, max_bytes: int) -> bytes:
    if isinstance(opened, ssl.SSLSocket):
        opened.do_handshake()
    with closing(_KINDS[target.scheme](target.host, target.port)) as connection:
        connection.sock = opened
        connection.request("GET", target.path, headers={"Connection": "close"})
        with connection.getresponse() as response:
            _check_head(response, max_bytes)
            body = response.read(max_bytes + 1)
            if len(body) > max_bytes:
                raise _too_long(max_bytes)
            if response.length:
                message = f"its answer broke off {response.length} bytes early"
                raise FetchError(message)
            return body


def _check_head(response: HTTPResponse, max_bytes: int) -> None:
    if response.status != HTTPStatus.OK:
        known = {status.value: status.phrase for status in HTTPStatus}
        message = f"it answered {response.status} {known.get(response.status, '')}".rstrip()
        raise FetchError(message)
    if (response.getheader("Content-Encoding") or "identity").lower() != "identity":
        message = "it answered with compressed text, which was not asked for"
        raise FetchError(message)
    if (response.length or 0) > max_bytes:
        raise _too_long(max_bytes)


def _too_long(max_bytes: int) -> FetchError:
    return FetchError(f"it answered more than {max_bytes} bytes")


def _reason(error: Exception) -> str:
    """Return why there is no answer; the words of HTTP's own errors are those of the answer and left out."""
    if isinstance(error, HTTPException):
        return f"what came is no HTTP answer ({type(error).__name__})"
    return str(error) or type(error).__name__


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
