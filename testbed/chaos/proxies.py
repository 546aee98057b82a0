"""Proxies in trouble: of a driver's metrics page, and of an API server."""

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

from gesscale.common.http_client import ANYWHERE, FetchError


class _Proxy(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self.server_address[1]}"

    def let_go(self) -> None:
        """End what waits."""

    @contextmanager
    def serving(self) -> Iterator[Self]:
        """Serve for as long as the context lasts."""
        thread = threading.Thread(target=self.serve_forever, name=type(self).__name__, daemon=True)
        thread.start()
        try:
            yield self
        finally:
            self.let_go()
            self.shutdown()
            self.server_close()
            thread.join()


_MAX_BYTES = 4 << 20
_PAGE_TIMEOUT_S, _LONGEST_HANG_S = 2.5, 30.0


class Behaviour(StrEnum):
    """What the proxy does with a question."""

    HONEST = "honest"
    HANGING = "hanging"
    LYING = "lying"
    GONE = "gone"


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


class FaultyPage(_Proxy):
    """The proxy; `behaviour` may be set at any time.

    Parameters
    ----------
    target
        The page's address, without a path.
    """

    def __init__(self, target: str) -> None:
        super().__init__(("127.0.0.1", 0), _PageHandler)
        self.target, self.behaviour = target, Behaviour.HONEST
        self.released = threading.Event()

    def let_go(self) -> None:
        """Let who hangs go."""
        self.released.set()

    @contextmanager
    def behaving(self, behaviour: Behaviour) -> Iterator[None]:
        """Behave so for as long as the context lasts; who hangs then is let go."""
        self.released.clear()
        self.behaviour = behaviour
        try:
            yield
        finally:
            self.behaviour = Behaviour.HONEST
            self.released.set()


class _PageHandler(BaseHTTPRequestHandler):
    server: FaultyPage

    def do_GET(self) -> None:
        behaviour = self.server.behaviour
        if behaviour is Behaviour.HANGING:
            self.server.released.wait(_LONGEST_HANG_S)
        if behaviour in (Behaviour.HANGING, Behaviour.GONE):
            self.close_connection = True
            return
        try:
            url = f"{self.server.target}{self.path}"
            body = ANYWHERE.fetch(url, timeout_s=_PAGE_TIMEOUT_S, max_bytes=_MAX_BYTES)
        except FetchError:
            self.send_error(502)
            return
        if behaviour is Behaviour.LYING:
            body = json.dumps(lie(json.loads(body))).encode()
        with suppress(OSError):  # the asker may have given up
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


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


class Trouble(StrEnum):
    """What the proxy answers in place of the API server."""

    NONE = "none"
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
    """Say whether a request meets a trouble.

    Parameters
    ----------
    trouble
        409 meets what writes, as if somebody else had written before; 410 meets watches and further pages of lists,
        as if all versions were too old; 429 and 500 meet everything.
    method, path
        Of the request, with its query.

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
    return trouble is not Trouble.NONE


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


class FaultyApi(_Proxy):
    """The proxy; it is in one trouble at a time, and counts the requests that met it.

    Parameters
    ----------
    url
        Of what is behind it; clients bring their own tokens.
    connect
        Opens a connection to a host and port.
    """

    def __init__(self, url: str, connect: Connect) -> None:
        super().__init__(("127.0.0.1", 0), _ApiHandler)
        self._target, self._connect = urlsplit(url), connect
        self.trouble, self.met = Trouble.NONE, 0
        self._lock = threading.Lock()
        self._open: set[socket.socket] = set()

    @contextmanager
    def in_trouble(self, trouble: Trouble) -> Iterator[None]:
        """Have a trouble for as long as the context lasts; watches that are open end, but for 409."""
        self.trouble = trouble
        if trouble is not Trouble.CONFLICT:
            self.let_go()
        try:
            yield
        finally:
            self.trouble = Trouble.NONE

    def let_go(self) -> None:
        """End what is being passed on."""
        with self._lock:
            for each in self._open:
                with suppress(OSError):
                    each.shutdown(socket.SHUT_RDWR)

    @contextmanager
    def upstream(self) -> Iterator[http.client.HTTPConnection]:
        """Have a connection to what is behind it, known here so that `let_go` ends it."""
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

    def meets(self, method: str, path: str) -> Trouble | None:
        """Return the trouble that a request meets, and count it."""
        trouble = self.trouble
        if not refused(trouble, method, path):
            return None
        with self._lock:
            self.met += 1
        return trouble


class _ApiHandler(BaseHTTPRequestHandler):
    server: FaultyApi
    protocol_version = "HTTP/1.1"

    def _pass_on(self) -> None:
        length = int(self.headers.get("Content-Length", 0))
        body = self.rfile.read(length) if length else None
        if trouble := self.server.meets(self.command, self.path):
            self._refuse(trouble)
            return
        headers = {name: value for name, value in self.headers.items() if name.lower() not in _HELD_BACK}
        try:
            with self.server.upstream() as upstream:
                upstream.request(self.command, self.path, body=body, headers=headers)
                upstream.sock.settimeout(None if "watch=" in self.path else _TIMEOUT_S)
                self._stream(upstream.getresponse())
        except (OSError, http.client.HTTPException, ValueError):
            self.close_connection = True  # the API server has gone, or the asker

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
            self.server.meets(self.command, self.path)
            event = {"type": "ERROR", "object": json.loads(status_of(Trouble.GONE))}
            self._chunk(json.dumps(event).encode() + b"\n")
        self.wfile.write(b"0\r\n\r\n")

    def _is_too_old(self) -> bool:
        """Say whether this is a watch that is to end as an API server ends one of a version that is too old."""
        trouble = self.server.trouble
        return trouble is Trouble.GONE and refused(trouble, self.command, self.path)

    def _chunk(self, part: bytes) -> None:
        self.wfile.write(b"%x\r\n%s\r\n" % (len(part), part))
        self.wfile.flush()

    def _refuse(self, trouble: Trouble) -> None:
        body = status_of(trouble)
        self.send_response(int(trouble.value))
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        if trouble is Trouble.TOO_MANY:
            self.send_header("Retry-After", "1")
        self.end_headers()
        with suppress(OSError):
            self.wfile.write(body)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _pass_on  # noqa: N815 - names of the base class

    def log_message(self, *_: object) -> None:
        """Say nothing."""
