"""A small HTTP server for pages that can only be read: a driver's batches and metrics, a controller's probes."""

import json
import threading
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socketserver import TCPServer
from urllib.parse import parse_qs, urlsplit

Page = Callable[[Mapping[str, list[str]]], tuple[str, bytes]]
"""Answers a GET: parameters in, content type and body out; raises ValueError where the former are wrong."""

_SLOW_CLIENT_S = 5.0


class Unavailable(Exception):  # noqa: N818 - it is an answer, status 503, not an accident
    """The page's answer is no; the message is the body."""


def json_body(value: object) -> tuple[str, bytes]:
    """Return a page's answer in JSON."""
    return "application/json", json.dumps(value).encode()


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def server_bind(self) -> None:
        TCPServer.server_bind(self)  # HTTPServer's own asks a name service, which edge nodes may lack
        host, port = self.server_address[:2]
        self.server_name, self.server_port = str(host), int(port)


class Endpoint:
    """Serves pages on an address until it is closed, on daemon threads only.

    Parameters
    ----------
    host, port
        Where to listen; port 0 takes a free one.
    pages
        The answers by path.

    Raises
    ------
    OSError
        Where the address cannot be taken.
    """

    def __init__(self, host: str, port: int, pages: Mapping[str, Page]) -> None:
        class Handler(_PageHandler):
            served = pages

        self._server = _Server((host, port), Handler)
        self.url = f"http://{host}:{self._server.server_port}"
        self.port = self._server.server_port
        self._thread = threading.Thread(
            target=self._server.serve_forever, name="gesscale-endpoint", daemon=True
        )
        self._thread.start()

    def close(self) -> None:
        """Stop listening."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(timeout=_SLOW_CLIENT_S)


class _PageHandler(BaseHTTPRequestHandler):
    served: Mapping[str, Page] = {}
    timeout = _SLOW_CLIENT_S

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        page = self.served.get(parts.path)
        if page is None:
            self._answer(404, "text/plain", f"no such page; there are {', '.join(self.served)}\n".encode())
            return
        try:
            kind, body = page(parse_qs(parts.query))
        except ValueError as error:
            self._answer(400, "text/plain", f"{error}\n".encode())
        except Unavailable as answer:
            self._answer(503, "text/plain", f"{answer}\n".encode())
        except Exception as error:  # noqa: BLE001 - whatever fails is told to who asked, not to the driver
            self._answer(500, "text/plain", f"{type(error).__name__}: {error}\n".encode())
        else:
            self._answer(200, kind, body)

    def _answer(self, status: int, kind: str, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class names it so
        """Say nothing: a scrape is no event."""
