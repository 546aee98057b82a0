"""HTTP client for single GET requests, with a limit on the total time and on the size of a response.

It follows no redirect, uses no proxy of the environment and asks for no compression. It connects to exactly those
addresses that its resolver approved. Errors never contain bytes of a response: someone who may choose a URL could
otherwise read pages that he cannot reach himself (server-side request forgery).
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
from urllib3.response import BaseHTTPResponse

from gesscale.common.errors import GesscaleError
from gesscale.common.threads import in_thread

Address: TypeAlias = IPv4Address | IPv6Address

#: Maps host and port to the addresses to try, in order; raises FetchError if there are none.
Resolve: TypeAlias = Callable[[str, int], Sequence[Address]]

_CHUNK_BYTES = 1 << 16


class FetchError(GesscaleError):
    """A page could not be fetched."""


class ByteBudget:
    """Limit on the bytes of responses that several threads hold at the same time."""

    def __init__(self, limit: int = sys.maxsize) -> None:
        self._limit, self._used, self._lock = limit, 0, threading.Lock()

    def acquire(self, count: int) -> None:
        """Reserve bytes.

        Raises
        ------
        FetchError
            Fewer bytes are left.
        """
        with self._lock:
            if self._used + count > self._limit:
                raise FetchError("fetch-budget-exhausted", limit_mib=self._limit >> 20)
            self._used += count

    def release(self, count: int) -> None:
        """Return reserved bytes."""
        with self._lock:
            self._used -= count


def resolve_host(host: str, port: int) -> list[Address]:
    """Return all addresses of a host, without any restriction.

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
        raise FetchError("fetch-name-unresolved", host=host, cause=str(error)) from None


def resolve_in_time(resolve: Resolve, host: str, port: int, timeout_s: float) -> Sequence[Address]:
    """Return the addresses of a host, or give up after a timeout, which no system call for name resolution has.

    Raises
    ------
    FetchError
        There are no addresses, or none within ``timeout_s``.
    """
    pending = in_thread(partial(resolve, host, port), name="resolve")
    try:
        found = pending.result(timeout=max(0.0, timeout_s))
    except TimeoutError:
        raise FetchError("fetch-name-timeout", host=host, timeout_s=timeout_s) from None
    if not found:
        raise FetchError("fetch-name-unresolved", host=host, cause="it has no address")
    return found


@dataclass(frozen=True, slots=True)
class HttpClient:
    """Fetches pages."""

    #: Returns the addresses of a host, and so decides where a connection may go.
    resolve: Resolve = resolve_host
    #: Limits the bytes of all responses together.
    budget: ByteBudget | None = None

    @contextmanager
    def page(self, url: str, *, timeout_s: float, max_bytes: int) -> Iterator[bytes]:
        """Fetch a page; its bytes count against the budget until the context ends.

        Raises
        ------
        FetchError
            There is no response in time, or another one than a page of status 200.
        """
        get = _Get(url, timeout_s, max_bytes, self.resolve, self.budget or ByteBudget())
        pending = in_thread(get.run, name="fetch")
        try:
            body = pending.result(timeout=timeout_s)
        except TimeoutError:
            get.abort()
            pending.add_done_callback(get.release_late_body)
            raise FetchError("fetch-timeout", timeout_s=timeout_s) from None
        try:
            yield body
        finally:
            get.budget.release(len(body))

    def fetch(self, url: str, *, timeout_s: float, max_bytes: int) -> bytes:
        """Fetch a small or short-lived page; see `page`."""
        with self.page(url, timeout_s=timeout_s, max_bytes=max_bytes) as body:
            return body


#: Client without restrictions, for interactive use.
UNRESTRICTED_CLIENT = HttpClient()


class _Get:
    """One request. It runs in its own thread; another thread aborts it after the timeout."""

    def __init__(self, url: str, timeout_s: float, max_bytes: int, resolve: Resolve, budget: ByteBudget) -> None:
        self.budget = budget
        self._url, self._max_bytes, self._resolve = url, max_bytes, resolve
        self._deadline_s = time.monotonic() + timeout_s
        self._socket: socket.socket | None = None

    def run(self) -> bytes:
        try:
            parts = _checked(self._url)
            with closing(self._connect(parts)) as connection:
                path = parts._replace(scheme="", netloc="").geturl() or "/"
                headers = {"Host": parts.netloc, "Connection": "close"}
                connection.request("GET", path, headers=headers, preload_content=False, decode_content=False)
                with closing(connection.getresponse()) as response:
                    _check_head(response)
                    return self._read_body(response.read)
        except (OSError, HTTPError, HTTPException, ValueError) as error:
            if isinstance(error, TimeoutError) or type(error) is ConnectTimeoutError:
                raise TimeoutError from None
            raise _fetch_error(error) from None

    def abort(self) -> None:
        """End the connection: the timeout of a socket starts again with every byte."""
        if self._socket is not None:
            with suppress(OSError):  # it is already closed
                # Not shutdown() of SSLSocket, which drops the TLS object while another thread uses it.
                socket.socket.shutdown(self._socket, socket.SHUT_RDWR)

    def release_late_body(self, pending: "Future[bytes]") -> None:
        """Release the bytes of a body that arrived after the timeout."""
        if pending.exception() is None:
            self.budget.release(len(pending.result()))

    def _connect(self, parts: SplitResult) -> HTTPConnection:
        host = parts.hostname or ""
        port = parts.port if parts.port is not None else (443 if parts.scheme == "https" else 80)
        failure: Exception = FetchError("fetch-name-unresolved", host=host, cause="it has no address")
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
                failure = error
                continue
            self._socket = connection.sock
            if time.monotonic() >= self._deadline_s:
                connection.close()
                raise TimeoutError  # the caller gave up before there was a socket to shut down
            return connection
        raise failure

    def _read_body(self, read: Callable[[int], bytes]) -> bytes:
        with BytesIO() as body:
            try:
                while chunk := read(_CHUNK_BYTES):
                    self.budget.acquire(len(chunk))
                    body.write(chunk)
                    if body.tell() > self._max_bytes:
                        raise FetchError("fetch-response-oversized", max_bytes=self._max_bytes)
            except BaseException:
                self.budget.release(body.tell())
                raise
            return body.getvalue()


def _checked(url: str) -> SplitResult:
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname or "@" in parts.netloc or "%" in parts.netloc:
        raise FetchError("fetch-url-invalid", url=url)
    return parts


def _check_head(response: BaseHTTPResponse) -> None:
    """Refuse any response but a plain page of status 200; the reason phrase of the server is not repeated."""
    status = response.status
    if status != HTTPStatus.OK:
        text = f"{status} {responses.get(status, '')}".rstrip()
        redirect = HTTPStatus.MULTIPLE_CHOICES <= status < HTTPStatus.BAD_REQUEST
        raise FetchError(
            "fetch-redirect-refused" if redirect else "fetch-status-unexpected", status=status, response=text
        )
    if response.headers.get("Content-Encoding", "identity").lower() != "identity":
        raise FetchError("fetch-response-compressed")


def _fetch_error(error: Exception) -> FetchError:
    """Return why there is no response; the texts of HTTP errors quote the response and are left out."""
    cause = error if isinstance(error, OSError) else error.__cause__
    if isinstance(cause, OSError) or isinstance(error, ValueError):
        return FetchError("fetch-connection-failed", cause=str(cause or error) or type(error).__name__)
    return FetchError("fetch-response-invalid", error=type(error).__name__)
