"""The HTTP client of everything that asks for a page: one GET, with a bound on its whole time and on its size.

It follows no redirect, uses no proxy of the environment, and asks for no compression. It connects to the very address
that its resolver has judged. Its errors repeat no byte of an answer: who may name an address must not read by an
error what he could not read himself.
"""

import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from http.client import HTTPException, responses
from io import BytesIO
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import TypeAlias
from urllib.parse import SplitResult, urlsplit

from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.exceptions import ConnectTimeoutError, HTTPError

from gesscale.common.threads import in_thread

Address: TypeAlias = IPv4Address | IPv6Address

#: From host and port to the addresses to connect to, in this order; raises FetchError where there are none.
Resolve: TypeAlias = Callable[[str, int], Sequence[Address]]

_PIECE_BYTES = 1 << 16


class FetchError(Exception):
    """A page could not be had; the message says what came instead."""


class ByteBudget:
    """Bounds the bytes of answers that several threads hold at the same time."""

    def __init__(self, most: int = sys.maxsize) -> None:
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
                raise FetchError(
                    f"it is not read, since other answers take the {self._most >> 20} MiB that all may take"
                )
            self._taken += count

    def give_back(self, count: int) -> None:
        """Give back what was taken."""
        with self._lock:
            self._taken -= count


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
        return [ip_address(text) for text in texts if "%" not in text]  # without an IPv6 zone
    except (OSError, ValueError) as error:
        raise FetchError(f"the connection failed: {host!r} does not resolve: {error}") from None


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
        raise FetchError(f"no answer of the name service for {host!r} came within {timeout_s:g} s") from None
    if not found:
        raise FetchError(f"the connection failed: {host!r} has no address")
    return found


@dataclass(frozen=True, slots=True)
class HttpClient:
    """Asks for pages."""

    #: Says where a host is, and so where a connection may go.
    resolve: Resolve = resolve_host
    #: Bounds what all its answers take together.
    budget: ByteBudget | None = None

    @contextmanager
    def page(self, url: str, *, timeout_s: float, max_bytes: int) -> Iterator[bytes]:
        """Get a page, and count it against the budget for as long as it is used.

        Raises
        ------
        FetchError
            At any other answer or none.
        """
        get = _Get(url, timeout_s, max_bytes, self.resolve, self.budget or ByteBudget())
        asked = in_thread(get.run, name="fetch")
        try:
            body = asked.result(timeout=timeout_s)
        except TimeoutError:
            get.cut()
            asked.add_done_callback(get.forget)
            raise FetchError(f"no complete answer came within {timeout_s:g} s") from None
        try:
            yield body
        finally:
            get.budget.give_back(len(body))

    def fetch(self, url: str, *, timeout_s: float, max_bytes: int) -> bytes:
        """Get a page; as `page`, for what is small or short-lived."""
        with self.page(url, timeout_s=timeout_s, max_bytes=max_bytes) as body:
            return body


#: The client of who may ask anything: people at a shell.
UNRESTRICTED_CLIENT = HttpClient()


class _Get:
    """One request, which runs in a thread of its own and is cut from another one when its time is up."""

    def __init__(self, url: str, timeout_s: float, max_bytes: int, resolve: Resolve, budget: ByteBudget) -> None:
        self.budget = budget
        self._url, self._max_bytes, self._resolve = url, max_bytes, resolve
        self._deadline_s = time.monotonic() + timeout_s
        self._socket: socket.socket | None = None

    def run(self) -> bytes:
        try:
            parts = _checked(self._url)
            with closing(self._connected(parts)) as connection:
                path = parts._replace(scheme="", netloc="").geturl() or "/"
                headers = {"Host": parts.netloc, "Connection": "close"}
                connection.request("GET", path, headers=headers, preload_content=False, decode_content=False)
                with closing(connection.getresponse()) as response:
                    if response.status != HTTPStatus.OK:
                        raise FetchError(f"it answered {response.status} {responses.get(response.status, '')}".rstrip())
                    if response.headers.get("Content-Encoding", "identity").lower() != "identity":
                        raise FetchError("it answered with compressed text, which was not asked for")
                    return self._body(response.read)
        except (OSError, HTTPError, HTTPException, ValueError) as error:
            if isinstance(error, TimeoutError) or type(error) is ConnectTimeoutError:
                raise TimeoutError from None
            raise FetchError(f"the connection failed: {_reason(error)}") from None

    def cut(self) -> None:
        """End the connection: a socket's own timeout starts again with every byte."""
        if self._socket is not None:
            with suppress(OSError):  # it is closed already
                # Not that of SSLSocket: it forgets its TLS object, which is about to be used.
                socket.socket.shutdown(self._socket, socket.SHUT_RDWR)

    def forget(self, asked: "Future[bytes]") -> None:
        """Give back what a body takes that came too late."""
        if asked.exception() is None:
            self.budget.give_back(len(asked.result()))

    def _connected(self, parts: SplitResult) -> HTTPConnection:
        host = parts.hostname or ""
        port = parts.port if parts.port is not None else (443 if parts.scheme == "https" else 80)
        failed: Exception = FetchError(f"the connection failed: {host!r} has no address")
        for address in self._resolve(host, port):
            left_s = self._deadline_s - time.monotonic()
            if left_s <= 0:
                raise TimeoutError
            connection = (
                HTTPSConnection(str(address), port, timeout=left_s, server_hostname=host)
                if parts.scheme == "https"
                else HTTPConnection(str(address), port, timeout=left_s)
            )
            try:
                connection.connect()
            except (OSError, HTTPError) as error:
                connection.close()
                failed = error
                continue
            self._socket = connection.sock
            if time.monotonic() >= self._deadline_s:
                connection.close()
                raise TimeoutError  # who waits has given up, and found no socket to cut
            return connection
        raise failed

    def _body(self, read: Callable[[int], bytes]) -> bytes:
        with BytesIO() as body:
            try:
                while piece := read(_PIECE_BYTES):
                    self.budget.take(len(piece))
                    body.write(piece)
                    if body.tell() > self._max_bytes:
                        raise FetchError(f"it answered more than {self._max_bytes} bytes")
            except BaseException:
                self.budget.give_back(body.tell())
                raise
            return body.getvalue()


def _checked(url: str) -> SplitResult:
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname or "@" in parts.netloc or "%" in parts.netloc:
        raise FetchError(f"expected an address such as http://10.0.0.1:9109, got {url!r}")
    return parts


def _reason(error: Exception) -> str:
    """Return why there is no answer; the words of HTTP's own errors are those of the answer and left out."""
    cause = error if isinstance(error, OSError) else error.__cause__
    if isinstance(cause, OSError) or isinstance(error, ValueError):
        return str(cause or error) or type(error).__name__
    return f"what came is no complete HTTP answer ({type(error).__name__})"
