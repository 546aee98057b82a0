"""A small HTTP server for pages that can only be read: an agent's figures, a driver's batches, a scaler's decisions.

Anyone who can reach its port may ask. So everything is bounded: how long a connection lasts, how many there are, and
how much a request may say. Each connection brings one request. A stream lasts until one end closes it; who does not
read it is cut.
"""

import io
import json
import logging
import math
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socketserver import TCPServer
from typing import Any, ClassVar, NamedTuple, TypeAlias
from urllib.parse import SplitResult, parse_qs, urlsplit

#: Answers a GET: parameters in, content type and body out; raises ValueError where the former are wrong.
Page: TypeAlias = Callable[[Mapping[str, list[str]]], tuple[str, bytes]]

#: Answers a GET with server-sent events, each as soon as it is there.
Stream: TypeAlias = Callable[[], Iterator[bytes]]

#: Told the path, what gives a header by its name, and who asks; raises `Refused` where it may not have the
#: page.
Guard: TypeAlias = Callable[[str, Callable[[str], str | None], str], None]

#: When a connection is cut, from its acceptance, however far its request or its answer has come.
DEADLINE_S = 10.0

#: Connections that the kernel holds until they are accepted.
BACKLOG = 128

#: Where more connections than this are open, the oldest is cut: a real client is done in no time.
CROWDED = 32

#: Threads at most, those included whose page takes long; more connections are closed at once.
MOST_CONNECTIONS = 64

#: Streams at the same time; the rest of the connections stays for pages.
MOST_STREAMS = 40

#: Request line and headers together.
MOST_REQUEST_BYTES = 16 << 10

_LOG = logging.getLogger("gesscale.common.http_server")


class Refused(Exception):  # noqa: N818 - it is an answer, not an accident
    """Who asks may not have the page; the message is the body."""

    def __init__(self, status: HTTPStatus, said: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(said)
        self.status, self.headers = status, headers or {}


class Unavailable(Refused):
    """The page's answer is no, status 503; the message is the body."""

    def __init__(self, said: str) -> None:
        super().__init__(HTTPStatus.SERVICE_UNAVAILABLE, said)


def json_body(value: object) -> tuple[str, bytes]:
    """Return a page's answer in JSON."""
    return "application/json", json.dumps(value).encode()


class PageServer:
    """Serves pages on an address until it is closed, on daemon threads only.

    Parameters
    ----------
    deadline_s
        When a connection is cut, seconds from its acceptance; up to half a second later.

    Raises
    ------
    OSError
        Where the address cannot be taken.
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
            # of a name that has addresses of both kinds, that of IPv4, whose number is less
            address_family = min(entry[0] for entry in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM))

        self._server = Server((host, port), Handler)
        self.port = int(self._server.server_address[1])
        self.url = f"http://[{host}]:{self.port}" if ":" in host else f"http://{host}:{self.port}"
        self._thread = threading.Thread(target=self._server.serve_forever, name="pages", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop listening, and cut what is open."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(timeout=DEADLINE_S)


class _Site(NamedTuple):
    pages: Mapping[str, Page]
    streams: Mapping[str, Stream]
    headers: Mapping[str, str]
    guard: Guard | None


class _Server(ThreadingHTTPServer):
    """Knows its open connections, in the order of their acceptance; each has a thread.

    The sockets of connections are closed under the lock: none is cut whose number has been given to another.
    """

    daemon_threads = True
    request_queue_size = BACKLOG

    def __init__(self, place: tuple[str, int], handler: type["_PageHandler"]) -> None:
        self._lock = threading.Lock()
        self._cut_at_s: dict[Any, float | None] = {}
        self._deadline_s = handler.timeout
        self._complained_of: set[type] = set()
        super().__init__(place, handler)

    def server_bind(self) -> None:
        TCPServer.server_bind(self)  # HTTPServer's own asks a name service, which edge nodes may lack

    def verify_request(self, request: Any, client_address: Any) -> bool:  # noqa: ARG002 - the base class names it so
        """Whether there is room for a connection; cut the oldest where it is getting crowded."""
        with self._lock:
            if len(self._cut_at_s) >= MOST_CONNECTIONS:
                return False
            self._cut_at_s[request] = time.monotonic() + self._deadline_s
            waiting = [each for each, at_s in self._cut_at_s.items() if at_s not in {None, math.inf}]
            if len(waiting) > CROWDED:
                self._cut(waiting[0])
        return True

    def let_stream(self, request: Any) -> bool:
        """Let a connection last until it is closed; False where there are enough of these, or it was cut."""
        with self._lock:
            streams = sum(at_s == math.inf for at_s in self._cut_at_s.values())
            if streams >= MOST_STREAMS or self._cut_at_s.get(request) is None:
                return False
            self._cut_at_s[request] = math.inf
            return True

    def service_actions(self) -> None:
        """Cut the connections that are beyond their time; called every half second, and more often in a crowd."""
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
        """Log an error in one line, each kind once; that a client goes away is none."""
        error = sys.exception()
        if isinstance(error, ConnectionError | TimeoutError) or type(error) in self._complained_of:
            return
        self._complained_of.add(type(error))
        said = " ".join(str(error).split())
        _LOG.warning("a request could not be answered: %s: %s", type(error).__name__, said)

    def _cut_where(self, due: Callable[[float], bool]) -> None:
        with self._lock:
            for each in [each for each, at_s in self._cut_at_s.items() if at_s is not None and due(at_s)]:
                self._cut(each)

    def _cut(self, connection: Any) -> None:
        """End a connection; its thread, which sees that, closes it."""
        self._cut_at_s[connection] = None
        with suppress(OSError):
            connection.shutdown(socket.SHUT_RDWR)


class _PageHandler(BaseHTTPRequestHandler):
    server: _Server
    site: ClassVar[_Site]
    timeout: ClassVar[float] = DEADLINE_S

    def handle(self) -> None:
        """Read one request, up to its bound, and answer it."""
        head = b""
        while len(head) < MOST_REQUEST_BYTES and (line := self.rfile.readline(MOST_REQUEST_BYTES - len(head))):
            head += line
            if line in (b"\r\n", b"\n"):
                break
        if len(head) >= MOST_REQUEST_BYTES:
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
                if not self.server.let_stream(self.request):
                    raise Unavailable(f"{MOST_STREAMS} streams are open already; close one")
                self._send_stream(stream)
                return
            status, kind, body = HTTPStatus.OK, *self._page(parts)
        except Refused as refusal:
            status, headers = refusal.status, refusal.headers
            kind, body = "text/plain", f"{refusal}\n".encode()
        except ValueError as error:
            status, kind, body = HTTPStatus.BAD_REQUEST, "text/plain", f"{error}\n".encode()
        self._send_head(status, {"Content-Type": kind, "Content-Length": str(len(body)), **headers})
        if self.command != "HEAD":
            self.wfile.write(body)

    def _page(self, parts: SplitResult) -> tuple[str, bytes]:
        page = self.site.pages.get(parts.path)
        if page is None:
            known = ", ".join([*self.site.pages, *self.site.streams])
            raise Refused(HTTPStatus.NOT_FOUND, f"no such page; there are {known}")
        try:
            return page(parse_qs(parts.query))
        except (Refused, ValueError):
            raise
        except Exception as error:  # noqa: BLE001 - the client gets the error, the process goes on
            raise Refused(HTTPStatus.INTERNAL_SERVER_ERROR, f"{type(error).__name__}: {error}") from None

    def _send_stream(self, stream: Stream) -> None:
        """Send events until the client has gone, or has not taken one for as long as a connection may last."""
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
        """Say nothing: a scrape is no event."""
