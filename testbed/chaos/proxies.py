"""A proxy in trouble: in front of a driver's metrics page, or of an API server."""

import http.client
import json
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from enum import StrEnum
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Self
from urllib.parse import parse_qs, urlsplit

_LONGEST_HANG_S = 30.0
_TIMEOUT_S = 10.0
_CHUNK = 1 << 16
_PORT = 443
_WRITES = frozenset({"POST", "PUT", "PATCH"})
_HELD_BACK = frozenset({"connection", "transfer-encoding", "content-length", "host", "accept-encoding"})


Connect = Callable[[str, int], http.client.HTTPConnection]


def tls_to(authority: Path) -> Connect:
    """Return what opens connections to an API server that is known by these certificates."""
    context = ssl.create_default_context(cafile=str(authority))
    return lambda host, port: http.client.HTTPSConnection(host, port, timeout=_TIMEOUT_S, context=context)


def connect_plainly(host: str, port: int) -> http.client.HTTPConnection:
    """Return a connection to a driver's metrics page."""
    return http.client.HTTPConnection(host, port, timeout=_TIMEOUT_S)


def lie(document: Any) -> Any:
    """Return a page with false figures: every count and every time is negative.

    Examples
    --------
    >>> lie({"batches": [{"rows": 3, "hosts": ["10.0.0.1"]}], "ok": True})
    {'batches': [{'rows': -4, 'hosts': ['10.0.0.1']}], 'ok': True}
    """
    match document:
        case bool() | str() | None:
            return document
        case int() | float():
            return -1 - document
        case list():
            return [lie(each) for each in document]
        case dict():
            return {name: lie(each) for name, each in document.items()}
    return document


class Trouble(StrEnum):
    """What the proxy does: with any request, or, by its status, in place of an API server."""

    NONE = "none"
    HANGING = "hanging"
    LYING = "lying"
    CUT = "cut"
    CONFLICT = "409"
    GONE = "410"
    TOO_MANY = "429"
    ERROR = "500"


_REASONS = {
    Trouble.CONFLICT: "Conflict",
    Trouble.GONE: "Expired",
    Trouble.TOO_MANY: "TooManyRequests",
    Trouble.ERROR: "InternalError",
}


def refused(trouble: Trouble, method: str, path: str) -> bool:
    """Return whether a request meets a trouble.

    Examples
    --------
    >>> refused(Trouble.CONFLICT, "GET", "/api/v1/pods")
    False
    >>> refused(Trouble.GONE, "GET", "/api/v1/pods?watch=true")
    True
    """
    if trouble is Trouble.CONFLICT:
        return method in _WRITES
    if trouble is Trouble.GONE:
        return method == "GET" and bool(parse_qs(urlsplit(path).query).keys() & {"watch", "continue"})
    return trouble in _REASONS


def status_of(trouble: Trouble) -> bytes:
    """Return the body of such an answer, as the API server writes it."""
    return json.dumps(
        {
            "kind": "Status",
            "apiVersion": "v1",
            "status": "Failure",
            "message": f"chaos answers {trouble.value}",
            "reason": _REASONS[trouble],
            "code": int(trouble.value),
        }
    ).encode()


class FaultyProxy(ThreadingHTTPServer):
    """The proxy; it is in one trouble at a time."""

    daemon_threads = True
    block_on_close = False

    def __init__(self, url: str, connect: Connect = connect_plainly) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self._target, self._connect = urlsplit(url), connect
        self.trouble, self.over = Trouble.NONE, threading.Event()
        self._lock = threading.Lock()
        self._open: set[socket.socket] = set()

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self.server_address[1]}"

    @contextmanager
    def serving(self) -> Iterator[Self]:
        """Serve for as long as the context lasts."""
        thread = threading.Thread(target=self.serve_forever, name=type(self).__name__, daemon=True)
        thread.start()
        try:
            yield self
        finally:
            self._let_go()
            self.over.set()
            self.shutdown()
            self.server_close()
            thread.join()

    @contextmanager
    def in_trouble(self, trouble: Trouble) -> Iterator[None]:
        """Have a trouble for as long as the context lasts; watches that are open end, but for 409."""
        self.over.clear()
        self.trouble = trouble
        if trouble is not Trouble.CONFLICT:
            self._let_go()
        try:
            yield
        finally:
            self.trouble = Trouble.NONE
            self.over.set()

    def _let_go(self) -> None:
        """End what is being passed on."""
        with self._lock:
            for each in self._open:
                with suppress(OSError):
                    each.shutdown(socket.SHUT_RDWR)

    @contextmanager
    def upstream(self) -> Iterator[http.client.HTTPConnection]:
        """Have a connection to what is behind it, which ends when a trouble begins."""
        upstream = self._connect(self._target.hostname or "", self._target.port or _PORT)
        upstream.connect()
        held: socket.socket = upstream.sock
        with self._lock:
            self._open.add(held)
        try:
            yield upstream
        finally:
            with self._lock:
                self._open.discard(held)
            upstream.close()

    def handle_error(self, *_: object) -> None:
        """Say nothing: a controller that was killed has left its connections."""


class _Handler(BaseHTTPRequestHandler):
    server: FaultyProxy
    protocol_version = "HTTP/1.1"

    def _pass_on(self) -> None:
        length = int(self.headers.get("Content-Length", 0))
        body = self.rfile.read(length) if length else None
        trouble = self.server.trouble
        if trouble is Trouble.HANGING:
            self.server.over.wait(_LONGEST_HANG_S)
        if trouble in (Trouble.HANGING, Trouble.CUT):
            self.close_connection = True
            return
        if refused(trouble, self.command, self.path):
            self._answer(int(trouble.value), status_of(trouble), busy=trouble is Trouble.TOO_MANY)
            return
        headers = {name: value for name, value in self.headers.items() if name.lower() not in _HELD_BACK}
        try:
            with self.server.upstream() as upstream:
                upstream.request(self.command, self.path, body=body, headers=headers)
                upstream.sock.settimeout(None if "watch=" in self.path else _TIMEOUT_S)
                answer = upstream.getresponse()
                if trouble is Trouble.LYING:
                    self._answer(answer.status, json.dumps(lie(json.load(answer))).encode())
                else:
                    self._stream(answer)
        except (OSError, http.client.HTTPException, ValueError):
            self.close_connection = True  # what is behind it has gone, or the asker

    def _stream(self, answer: http.client.HTTPResponse) -> None:
        self.send_response(answer.status)
        for name, value in answer.getheaders():
            if name.lower() not in _HELD_BACK:
                self.send_header(name, value)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        try:
            while part := answer.read1(_CHUNK):
                self._chunk(part)
        except (OSError, http.client.HTTPException):
            if not self._is_too_old():
                raise
        if self._is_too_old():
            event = {"type": "ERROR", "object": json.loads(status_of(Trouble.GONE))}
            self._chunk(json.dumps(event).encode() + b"\n")
        self.wfile.write(b"0\r\n\r\n")

    def _is_too_old(self) -> bool:
        """Return whether this is a watch that is to end as an API server ends one of a version that is too old."""
        trouble = self.server.trouble
        return trouble is Trouble.GONE and refused(trouble, self.command, self.path)

    def _chunk(self, part: bytes) -> None:
        self.wfile.write(b"%x\r\n%s\r\n" % (len(part), part))
        self.wfile.flush()

    def _answer(self, status: int, body: bytes, *, busy: bool = False) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        if busy:
            self.send_header("Retry-After", "1")
        self.end_headers()
        with suppress(OSError):  # the asker may have given up
            self.wfile.write(body)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _pass_on  # noqa: N815 - names of the base class

    def log_message(self, *_: object) -> None:
        """Say nothing."""
