"""A scripted API server on a loopback port: it gives the answers of a test and records the requests."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from kubernetes.client import Configuration

from gesscale.kubernetes.api.connection import Connection

SETTLE_S = 60.0  # bound of a wait, not an expectation
Answer = Callable[[BaseHTTPRequestHandler], None]


@dataclass(frozen=True)
class Request:
    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: Any


@dataclass
class ApiServer:
    """Answers watches, methods and other requests from separate queues; the last answer of a queue is repeated."""

    url: str = ""
    requests: list[Request] = field(default_factory=list)
    scripts: dict[str, list[Answer]] = field(default_factory=dict)
    over: threading.Event = field(default_factory=threading.Event)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def answers(self, *answers: Answer, to: str = "") -> None:
        """Set the answers to watches, to a method such as POST, or to all other requests."""
        self.scripts[to] = list(answers)

    def next_answer(self, request: Request) -> Answer:
        with self._lock:
            self.requests.append(request)
            kinds = ["watch"] if "watch" in request.query else [request.method, ""]
            queue = next(self.scripts[kind] for kind in kinds if kind in self.scripts)
            return queue.pop(0) if len(queue) > 1 else queue[0]

    def requests_of(self, kind: str) -> list[Request]:
        with self._lock:
            return [each for each in self.requests if ("watch" in each.query) == (kind == "watch")]


def as_json(content: Any, status: int = 200, headers: dict[str, str] | None = None) -> Answer:
    return as_text(content if isinstance(content, str) else json.dumps(content), status, headers)


def as_text(text: str, status: int = 200, headers: dict[str, str] | None = None) -> Answer:
    def answer(handler: BaseHTTPRequestHandler) -> None:
        body = text.encode()
        handler.send_response(status)
        for key, value in (headers or {}).items():
            handler.send_header(key, value)
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)

    return answer


def refusal(status: int, reason: str, message: str, headers: dict[str, str] | None = None) -> Answer:
    """Return a refusal of the API server: a Status object."""
    content = {"kind": "Status", "status": "Failure", "message": message, "reason": reason, "code": status}
    return as_json(content, status, headers)


def stream(
    *lines: Any, then: Callable[[BaseHTTPRequestHandler], None] | None = None, raw: bytes = b"", cut: bool = False
) -> Answer:
    """A chunked watch: a line per event, then `raw` as it is, then the end; `cut` breaks the connection instead."""

    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.send_header("Transfer-Encoding", "chunked")
        handler.end_headers()
        parts = [json.dumps(line).encode() + b"\n" for line in lines] + ([raw] if raw else [])
        for part in parts:
            handler.wfile.write(b"%x\r\n%s\r\n" % (len(part), part))
            handler.wfile.flush()
        if then is not None:
            then(handler)
        if cut:
            handler.close_connection = True
        else:
            handler.wfile.write(b"0\r\n\r\n")

    return answer


def connection_to(url: str, timeout_s: float = SETTLE_S) -> Connection:
    configuration = Configuration(host=url)
    configuration.api_key["BearerToken"] = "Bearer secret"
    return Connection(configuration, namespace="gesscale", user_agent="gesscale/test", timeout_s=timeout_s)


@contextmanager
def scripted_api() -> Iterator[ApiServer]:
    script = ApiServer()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _answer(self) -> None:
            url = urlsplit(self.path)
            length = int(self.headers.get("Content-Length", 0))
            text = self.rfile.read(length) if length else b""
            self.recorded = Request(
                self.command,
                url.path,
                dict(parse_qsl(url.query)),
                {key.lower(): value for key, value in self.headers.items()},
                json.loads(text) if text else None,
            )
            try:
                script.next_answer(self.recorded)(self)
            except OSError:
                self.close_connection = True  # the other side has hung up, which is what it is to do

        do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _answer  # noqa: N815  # names of the base class

        def log_message(self, *_: object) -> None:
            pass

    class Listener(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, *_: object) -> None:
            pass  # a client that resets its connection is nothing to report

    with Listener(("127.0.0.1", 0), Handler) as listener:
        thread = threading.Thread(target=listener.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        script.url = f"http://127.0.0.1:{listener.server_port}"
        yield script
        script.over.set()
        listener.shutdown()
        thread.join(SETTLE_S)
        assert not thread.is_alive()
