"""A proxy that injects faults: in front of a driver's metrics page, or of an API server."""

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

_MAX_HANG_S = 30.0
_TIMEOUT_S = 10.0
_CHUNK = 1 << 16
_PORT = 443
_WRITES = frozenset({"POST", "PUT", "PATCH"})
_HELD_BACK = frozenset({"connection", "transfer-encoding", "content-length", "host", "accept-encoding"})


Connect = Callable[[str, int], http.client.HTTPConnection]


def tls_to(authority: Path) -> Connect:
    """Return a function that opens TLS connections to an API server with these CA certificates."""
    context = ssl.create_default_context(cafile=str(authority))
    return lambda host, port: http.client.HTTPSConnection(host, port, timeout=_TIMEOUT_S, context=context)


def connect_plainly(host: str, port: int) -> http.client.HTTPConnection:
    """Return a connection to a driver's metrics page."""
    return http.client.HTTPConnection(host, port, timeout=_TIMEOUT_S)


def falsify(document: Any) -> Any:
    """Return a page with false values: every count and every time is negative.

    Examples
    --------
    >>> falsify({"batches": [{"rows": 3, "hosts": ["10.0.0.1"]}], "ok": True})
    {'batches': [{'rows': -4, 'hosts': ['10.0.0.1']}], 'ok': True}
    """
    match document:
        case bool() | str() | None:
            return document
        case int() | float():
            return -1 - document
        case list():
            return [falsify(each) for each in document]
        case dict():
            return {name: falsify(each) for name, each in document.items()}
    return document


class ProxyFault(StrEnum):
    """The injected fault: for any request, or a status in place of an API server."""

    NONE = "none"
    HANGING = "hanging"
    LYING = "lying"
    CUT = "cut"
    CONFLICT = "409"
    GONE = "410"
    TOO_MANY = "429"
    ERROR = "500"


_REASONS = {
    ProxyFault.CONFLICT: "Conflict",
    ProxyFault.GONE: "Expired",
    ProxyFault.TOO_MANY: "TooManyRequests",
    ProxyFault.ERROR: "InternalError",
}


def is_affected(fault: ProxyFault, method: str, path: str) -> bool:
    """Return whether a fault replaces the response to a request.

    Examples
    --------
    >>> is_affected(ProxyFault.CONFLICT, "GET", "/api/v1/pods")
    False
    >>> is_affected(ProxyFault.GONE, "GET", "/api/v1/pods?watch=true")
    True
    """
    if fault is ProxyFault.CONFLICT:
        return method in _WRITES
    if fault is ProxyFault.GONE:
        return method == "GET" and bool(parse_qs(urlsplit(path).query).keys() & {"watch", "continue"})
    return fault in _REASONS


def status_of(fault: ProxyFault) -> bytes:
    """Return the body of the fault's response, in the form of the API server."""
    return json.dumps(
        {
            "kind": "Status",
            "apiVersion": "v1",
            "status": "Failure",
            "message": f"injected status {fault.value}",
            "reason": _REASONS[fault],
            "code": int(fault.value),
        }
    ).encode()


class FaultyProxy(ThreadingHTTPServer):
    """The proxy; it injects one fault at a time."""

    daemon_threads = True
    block_on_close = False

    def __init__(self, url: str, connect: Connect = connect_plainly) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self._target, self._connect = urlsplit(url), connect
        self.fault, self.over = ProxyFault.NONE, threading.Event()
        self._lock = threading.Lock()
        self._open: set[socket.socket] = set()

    @property
    def url(self) -> str:
        """URL of the proxy."""
        return f"http://127.0.0.1:{self.server_address[1]}"

    @contextmanager
    def serving(self) -> Iterator[Self]:
        """Serve within the context."""
        thread = threading.Thread(target=self.serve_forever, name=type(self).__name__, daemon=True)
        thread.start()
        try:
            yield self
        finally:
            self._disconnect()
            self.over.set()
            self.shutdown()
            self.server_close()
            thread.join()

    @contextmanager
    def injecting(self, fault: ProxyFault) -> Iterator[None]:
        """Inject a fault within the context; it ends open watches, except for 409."""
        self.over.clear()
        self.fault = fault
        if fault is not ProxyFault.CONFLICT:
            self._disconnect()
        try:
            yield
        finally:
            self.fault = ProxyFault.NONE
            self.over.set()

    def _disconnect(self) -> None:
        """Close all open upstream connections."""
        with self._lock:
            for each in self._open:
                with suppress(OSError):
                    each.shutdown(socket.SHUT_RDWR)

    @contextmanager
    def upstream(self) -> Iterator[http.client.HTTPConnection]:
        """Open an upstream connection within the context; the start of a fault closes it."""
        upstream = self._connect(self._target.hostname or "", self._target.port or _PORT)
        upstream.connect()
        connection: socket.socket = upstream.sock
        with self._lock:
            self._open.add(connection)
        try:
            yield upstream
        finally:
            with self._lock:
                self._open.discard(connection)
            upstream.close()

    def handle_error(self, *_: object) -> None:
        """Ignore errors: a killed controller leaves connections behind."""


class _Handler(BaseHTTPRequestHandler):
    server: FaultyProxy
    protocol_version = "HTTP/1.1"

    def _pass_on(self) -> None:
        length = int(self.headers.get("Content-Length", 0))
        body = self.rfile.read(length) if length else None
        fault = self.server.fault
        if fault is ProxyFault.HANGING:
            self.server.over.wait(_MAX_HANG_S)
        if fault in (ProxyFault.HANGING, ProxyFault.CUT):
            self.close_connection = True
            return
        if is_affected(fault, self.command, self.path):
            self._answer(int(fault.value), status_of(fault), busy=fault is ProxyFault.TOO_MANY)
            return
        headers = {name: value for name, value in self.headers.items() if name.lower() not in _HELD_BACK}
        try:
            with self.server.upstream() as upstream:
                upstream.request(self.command, self.path, body=body, headers=headers)
                upstream.sock.settimeout(None if "watch=" in self.path else _TIMEOUT_S)
                answer = upstream.getresponse()
                if fault is ProxyFault.LYING:
                    self._answer(answer.status, json.dumps(falsify(json.load(answer))).encode())
                else:
                    self._stream(answer)
        except (OSError, http.client.HTTPException, ValueError):
            self.close_connection = True  # the server or the client has gone

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
            event = {"type": "ERROR", "object": json.loads(status_of(ProxyFault.GONE))}
            self._chunk(json.dumps(event).encode() + b"\n")
        self.wfile.write(b"0\r\n\r\n")

    def _is_too_old(self) -> bool:
        """Return whether this watch must end like one whose version is too old."""
        fault = self.server.fault
        return fault is ProxyFault.GONE and is_affected(fault, self.command, self.path)

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
        with suppress(OSError):  # the client may have given up
            self.wfile.write(body)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _pass_on  # noqa: N815 - names of the base class

    def log_message(self, *_: object) -> None:
        """Log nothing."""
