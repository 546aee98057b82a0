"""Small HTTP server for read-only pages: the metrics of an agent, the batches of a driver, the decisions of a loop.

Everybody who can reach its port may send requests, so it limits the duration and the number of connections and the
size of a request. A connection serves one request. A stream lasts until one end closes it; slow readers are
disconnected.
"""

import io
import json
import logging
import math
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socketserver import TCPServer
from typing import Any, ClassVar, NamedTuple, TypeAlias
from urllib.parse import SplitResult, parse_qs, urlsplit

from gesscale.common.errors import GesscaleError, Problem
from gesscale.common.logs import log_problem

#: Handles a GET: maps parameters to content type and body; raises ValueError if a parameter is invalid.
Page: TypeAlias = Callable[[Mapping[str, list[str]]], tuple[str, bytes]]

#: Handles a GET with server-sent events, each sent immediately.
Stream: TypeAlias = Callable[[], Iterator[bytes]]

#: Authorizes a request: receives the path, a function that returns a header by its name, and the address of the
#: client; raises `HttpStatusError` if the client may not have the page.
Guard: TypeAlias = Callable[[str, Callable[[str], str | None], str], None]

#: Seconds after which an accepted connection is closed, even in the middle of a request or a response.
DEADLINE_S = 10.0

#: Connections that wait in the kernel until they are accepted.
BACKLOG = 128

#: With more open connections than this the oldest is closed: a well-behaved client needs milliseconds.
CROWDED = 32

#: Largest number of connections, each with a thread; further ones are closed immediately.
MAX_CONNECTIONS = 64

#: Largest number of concurrent streams; the other connections are left for pages.
MAX_STREAMS = 40

#: Largest size of request line and headers together.
MAX_REQUEST_BYTES = 16 << 10

_LOG = logging.getLogger("gesscale.common.http_server")


class HttpStatusError(GesscaleError):
    """A response with an error status; its body lists the problems as JSON.

    Parameters
    ----------
    status
        The status of the response.
    code, fields
        As those of `GesscaleError`.
    headers
        Further headers of the response.
    """

    def __init__(
        self,
        status: HTTPStatus,
        code: str | Sequence[Problem],
        /,
        headers: Mapping[str, str] | None = None,
        **fields: Any,
    ) -> None:
        super().__init__(code, **fields)
        self.status, self.headers = status, headers or {}


class UnavailableError(HttpStatusError):
    """A response with status 503 that lists one or several problems."""

    def __init__(self, *problems: Problem) -> None:
        super().__init__(HTTPStatus.SERVICE_UNAVAILABLE, problems)


def json_body(value: object) -> tuple[str, bytes]:
    """Return content type and body of a page in JSON."""
    return "application/json", json.dumps(value).encode()


class PageServer:
    """Serves pages on an address until it is closed, on daemon threads only.

    Parameters
    ----------
    deadline_s
        Seconds after which an accepted connection is closed, up to half a second late.

    Raises
    ------
    OSError
        The address cannot be bound.
    """

    def __init__(
        self,
        host: str,
        port: int,
        pages: Mapping[str, Page],
        *,
        streams: Mapping[str, Stream] | None = None,
        headers: Mapping[str, str] | None = None,
        guard: Guard | None = None,
        deadline_s: float = DEADLINE_S,
    ) -> None:
        class Handler(_PageHandler):
            site = _Site(pages, streams or {}, headers or {}, guard)
            timeout = deadline_s

        class Server(_Server):
            # of a name with addresses of both families this is IPv4, whose constant is smaller
            address_family = min(entry[0] for entry in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM))

        self._server = Server((host, port), Handler)
        self.port = int(self._server.server_address[1])
        self.url = f"http://[{host}]:{self.port}" if ":" in host else f"http://{host}:{self.port}"
        self._thread = threading.Thread(target=self._server.serve_forever, name="pages", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop listening and close all connections."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(timeout=DEADLINE_S)


class _Site(NamedTuple):
    pages: Mapping[str, Page]
    streams: Mapping[str, Stream]
    headers: Mapping[str, str]
    guard: Guard | None


class _Server(ThreadingHTTPServer):
    """Tracks its open connections in the order of their acceptance; each has a thread.

    Sockets are closed under the lock: otherwise a descriptor could be shut down after its reuse by another one.
    """

    daemon_threads = True
    request_queue_size = BACKLOG

    def __init__(self, place: tuple[str, int], handler: type["_PageHandler"]) -> None:
        self._lock = threading.Lock()
        self._cut_at_s: dict[Any, float | None] = {}
        self._deadline_s = handler.timeout
        self._logged_kinds: set[type] = set()
        super().__init__(place, handler)

    def server_bind(self) -> None:
        TCPServer.server_bind(self)  # that of HTTPServer queries a name service, which edge nodes may lack

    def verify_request(self, request: Any, client_address: Any) -> bool:  # noqa: ARG002 - the base class names it so
        """Return whether there is room for a connection; close the oldest if many are open."""
        with self._lock:
            if len(self._cut_at_s) >= MAX_CONNECTIONS:
                return False
            self._cut_at_s[request] = time.monotonic() + self._deadline_s
            waiting = [each for each, at_s in self._cut_at_s.items() if at_s not in {None, math.inf}]
            if len(waiting) > CROWDED:
                self._cut(waiting[0])
        return True

    def start_stream(self, request: Any) -> bool:
        """Exempt a connection from the deadline; return False if there are too many streams or it was closed."""
        with self._lock:
            streams = sum(at_s == math.inf for at_s in self._cut_at_s.values())
            if streams >= MAX_STREAMS or self._cut_at_s.get(request) is None:
                return False
            self._cut_at_s[request] = math.inf
            return True

    def service_actions(self) -> None:
        """Close the connections whose deadline has passed; called at least every half second."""
        now_s = time.monotonic()
        self._cut_where(lambda at_s: at_s <= now_s)

    def server_close(self) -> None:
        super().server_close()
        self._cut_where(lambda _at_s: True)

    def shutdown_request(self, request: Any) -> None:
        with self._lock:
            self._cut_at_s.pop(request, None)
            super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ARG002 - the base class names it so
        """Log an error in one line, each kind once; a client that disconnects is not an error."""
        error = sys.exception()
        if isinstance(error, ConnectionError | TimeoutError) or type(error) in self._logged_kinds:
            return
        self._logged_kinds.add(type(error))
        cause = " ".join(str(error).split())
        log_problem(_LOG, logging.WARNING, "http-request-failed", error=type(error).__name__, cause=cause)

    def _cut_where(self, due: Callable[[float], bool]) -> None:
        with self._lock:
            for each in [each for each, at_s in self._cut_at_s.items() if at_s is not None and due(at_s)]:
                self._cut(each)

    def _cut(self, connection: Any) -> None:
        """Shut a connection down; its thread notices that and closes it."""
        self._cut_at_s[connection] = None
        with suppress(OSError):
            connection.shutdown(socket.SHUT_RDWR)


class _PageHandler(BaseHTTPRequestHandler):
    server: _Server
    site: ClassVar[_Site]
    timeout: ClassVar[float] = DEADLINE_S

    def handle(self) -> None:
        """Read one request, up to the size limit, and respond."""
        head = b""
        while len(head) < MAX_REQUEST_BYTES and (line := self.rfile.readline(MAX_REQUEST_BYTES - len(head))):
            head += line
            if line in (b"\r\n", b"\n"):
                break
        if len(head) >= MAX_REQUEST_BYTES:
            self.requestline = self.request_version = self.command = ""
            self.send_error(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE)
        elif head.endswith((b"\n\n", b"\n\r\n")):
            self.rfile.close()
            self.rfile = io.BytesIO(head)
            self.handle_one_request()

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        headers: Mapping[str, str] = {}
        try:
            parts = urlsplit(self.path)
            if self.site.guard is not None:
                self.site.guard(parts.path, self.headers.get, self.client_address[0])
            if (stream := self.site.streams.get(parts.path)) is not None:
                if not self.server.start_stream(self.request):
                    raise UnavailableError(Problem("http-streams-exhausted", {"limit": MAX_STREAMS}))
                self._send_stream(stream)
                return
            status, kind, body = HTTPStatus.OK, *self._page(parts)
        except HttpStatusError as error:
            status, headers, kind, body = error.status, error.headers, "application/json", _error_body(error.problems)
        except ValueError as error:
            status, kind, body = HTTPStatus.BAD_REQUEST, "application/json", _error_body(_problems_of(error))
        self._send_head(status, {"Content-Type": kind, "Content-Length": str(len(body)), **headers})
        if self.command != "HEAD":
            self.wfile.write(body)

    def _page(self, parts: SplitResult) -> tuple[str, bytes]:
        page = self.site.pages.get(parts.path)
        if page is None:
            known = ", ".join([*self.site.pages, *self.site.streams])
            raise HttpStatusError(HTTPStatus.NOT_FOUND, "http-page-unknown", pages=known)
        try:
            return page(parse_qs(parts.query))
        except (HttpStatusError, ValueError):
            raise
        except Exception as error:  # noqa: BLE001 - the client gets the error, the process continues
            raise HttpStatusError(
                HTTPStatus.INTERNAL_SERVER_ERROR, "http-page-failed", error=type(error).__name__, cause=str(error)
            ) from None

    def _send_stream(self, stream: Stream) -> None:
        """Send events until the client disconnects or does not read one within the deadline."""
        self._send_head(HTTPStatus.OK, {"Content-Type": "text/event-stream"})
        if self.command != "HEAD":
            for event in stream():
                self.wfile.write(event)

    def _send_head(self, status: HTTPStatus, headers: Mapping[str, str]) -> None:
        self.send_response(status)
        for name, value in {**self.site.headers, **headers}.items():
            self.send_header(name, value)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class names it so
        """Log nothing: a scrape is not worth a line."""


def _problems_of(error: ValueError) -> Sequence[Problem]:
    if isinstance(error, GesscaleError):
        return error.problems
    return [Problem("http-request-invalid", {"cause": str(error)})]


def _error_body(problems: Iterable[Problem]) -> bytes:
    return json.dumps({"errors": [each.as_json() for each in problems]}).encode() + b"\n"
