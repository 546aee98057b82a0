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
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from io import BytesIO
from ipaddress import ip_address
from typing import NamedTuple, TypeAlias
from urllib.parse import urlsplit

from latency_map.addresses import ZONE, Address
from latency_map.measure.threads import in_thread

Resolve: TypeAlias = Callable[[str, int], Sequence[Address]]
"""From host and port to the addresses to connect to, in this order; raises FetchError where there are none."""

_KINDS: Mapping[str, type[HTTPConnection]] = {"http": HTTPConnection, "https": HTTPSConnection}


_PIECE_BYTES = 1 << 16


class FetchError(Exception):
    """A page could not be had; the message says what came instead."""


class ByteBudget:
    """Bounds the bytes of answers that several threads hold at the same time.

    Parameters
    ----------
    most
        So many bytes.
    """

    def __init__(self, most: int) -> None:
        self._most, self._taken, self._lock = most, 0, threading.Lock()

    def take(self, count: int) -> None:
        """Take some of it.

        Raises
        ------
        FetchError
            So much is not left.
        """
        with self._lock:
            if self._taken + count > self._most:
                message = (
                    f"it is not read, since other answers take the {self._most >> 20} MiB that all may take"
                )
                raise FetchError(message)
            self._taken += count

    def give_back(self, count: int) -> None:
        """Give back what was taken."""
        with self._lock:
            self._taken -= count


class _Target(NamedTuple):
    scheme: str
    host: str
    port: int
    path: str


def resolve_host(host: str, port: int) -> list[Address]:
    """Return the addresses of a host, of the name service or as they stand; the `Resolve` of who may ask anything.

    Raises
    ------
    FetchError
        The name does not resolve.
    """
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        texts = dict.fromkeys(str(entry[4][0]) for entry in found)
        return [ip_address(text) for text in texts if ZONE not in text]
    except (OSError, ValueError) as error:
        message = f"the connection failed: {host!r} does not resolve: {error}"
        raise FetchError(message) from None


def resolve_in_time(resolve: Resolve, host: str, port: int, timeout_s: float) -> Sequence[Address]:
    """Return the addresses of a host, or give up: no system call bounds how long a name service may take.

    Raises
    ------
    FetchError
        There are none, or none within ``timeout_s``.
    """
    asked = in_thread(partial(resolve, host, port), name="resolve")
    try:
        found = asked.result(timeout=max(0.0, timeout_s))
    except TimeoutError:
        message = f"no answer of the name service for {host!r} came within {timeout_s:g} s"
        raise FetchError(message) from None
    if not found:
        message = f"the connection failed: {host!r} has no address"
        raise FetchError(message)
    return found


@dataclass(frozen=True, slots=True)
class HttpClient:
    """Asks for pages.

    Attributes
    ----------
    resolve
        Says where a host is, and so where a connection may go.
    budget
        Bounds what all its answers take together; None for no bound.
    """

    resolve: Resolve = resolve_host
    budget: ByteBudget | None = None

    @contextmanager
    def page(self, url: str, *, timeout_s: float, max_bytes: int) -> Iterator[bytes]:
        """Get a page, and count it against the budget for as long as it is used.

        Parameters
        ----------
        url
            What to get, http or https, without a user name.
        timeout_s
            Bound on resolving, connecting, head and body together; a server that sends byte after byte does not
            stretch it.
        max_bytes
            Bound on the body.

        Yields
        ------
        bytes
            The body of an answer with status 200.

        Raises
        ------
        FetchError
            At any other answer or none.
        """
        taken = 0

        def take(count: int) -> None:
            nonlocal taken
            if self.budget is not None:
                self.budget.take(count)
                taken += count

        try:
            yield _get(url, timeout_s, max_bytes, self.resolve, take)
        finally:
            if self.budget is not None:
                self.budget.give_back(taken)

    def fetch(self, url: str, *, timeout_s: float, max_bytes: int) -> bytes:
        """Get a page; as `page`, for what is small or short-lived."""
        with self.page(url, timeout_s=timeout_s, max_bytes=max_bytes) as body:
            return body


ANYWHERE = HttpClient()
"""The client of who may ask anything: people at a shell."""


def _get(url: str, timeout_s: float, max_bytes: int, resolve: Resolve, take: Callable[[int], None]) -> bytes:
    deadline_s = time.monotonic() + timeout_s
    late = f"no complete answer came within {timeout_s:g} s"
    expired = threading.Event()
    try:
        target = _target(url)
        with (
            closing(_connect(target, deadline_s, resolve)) as opened,
            _watchdog(opened, deadline_s - time.monotonic(), expired),
        ):
            body = _ask(opened, target, max_bytes, take)
    except FetchError:
        if expired.is_set() or time.monotonic() >= deadline_s:
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
    failed: OSError = TimeoutError()
    for address in resolve_in_time(resolve, target.host, target.port, deadline_s - time.monotonic()):
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


def _ask(opened: socket.socket, target: _Target, max_bytes: int, take: Callable[[int], None]) -> bytes:
    if isinstance(opened, ssl.SSLSocket):
        opened.do_handshake()
    with closing(_KINDS[target.scheme](target.host, target.port)) as connection:
        connection.sock = opened
        connection.request("GET", target.path, headers={"Connection": "close"})
        with connection.getresponse() as response:
            _check_head(response, max_bytes)
            return _body(response, max_bytes, take)


def _body(response: HTTPResponse, max_bytes: int, take: Callable[[int], None]) -> bytes:
    with BytesIO() as body:
        while piece := response.read(_PIECE_BYTES):
            take(len(piece))
            body.write(piece)
            if body.tell() > max_bytes:
                raise _too_long(max_bytes)
        if response.length:
            message = f"its answer broke off {response.length} bytes early"
            raise FetchError(message)
        return body.getvalue()


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
    """Shut the socket when time is up: its own timeout starts again with every byte."""

    def cut() -> None:
        expired.set()
        with suppress(OSError):  # it is closed already
            # Not that of SSLSocket: it forgets its TLS object, and who is about to use that gets an AttributeError.
            socket.socket.shutdown(opened, socket.SHUT_RDWR)

    timer = threading.Timer(max(0.0, left_s), cut)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
