"""The small HTTP server of an agent."""

import socket
import threading
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socketserver import TCPServer
from typing import TypeAlias
from urllib.parse import urlsplit

Answer: TypeAlias = tuple[int, str, bytes]
"""Status, content type and body."""

_SLOW_CLIENT_S = 5.0


class PageServer:
    """Serves pages until it is closed, on daemon threads only.

    Parameters
    ----------
    host, port
        Where to listen, IPv4 or IPv6; port 0 takes a free one.
    pages
        The answers by path.

    Raises
    ------
    OSError
        Where the address cannot be taken.
    """

    def __init__(self, host: str, port: int, pages: Mapping[str, Callable[[], Answer]]) -> None:
        class Handler(_Handler):
            served = pages

        class Server(_Server):
            address_family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]

        self._server = Server((host, port), Handler)
        self.port = int(self._server.server_address[1])
        threading.Thread(target=self._server.serve_forever, name="latency-agent-pages", daemon=True).start()

    def close(self) -> None:
        """Stop listening."""
        self._server.shutdown()
        self._server.server_close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def server_bind(self) -> None:
        TCPServer.server_bind(self)  # HTTPServer's own asks a name service, which edge nodes may lack

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing: others measure round trips by connections that they drop at once."""


class _Handler(BaseHTTPRequestHandler):
    served: Mapping[str, Callable[[], Answer]] = {}
    timeout = _SLOW_CLIENT_S

    def do_GET(self) -> None:
        page = self.served.get(urlsplit(self.path).path)
        there = ", ".join(self.served)
        status, kind, body = page() if page else (404, "text/plain", f"there are {there}\n".encode())
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class names it so
        """Say nothing: a scrape is no event."""
