"""A proxy of a driver's metrics page that passes it on, lets the asker wait, alters figures, or says nothing."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from enum import StrEnum
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from gesscale.common.http_client import ANYWHERE, FetchError

_MAX_BYTES = 4 << 20
_TIMEOUT_S, _LONGEST_HANG_S = 2.5, 30.0


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


class FaultyPage(ThreadingHTTPServer):
    """The proxy; `behaviour` may be set at any time.

    Parameters
    ----------
    target
        The page's address, without a path.
    """

    daemon_threads = True
    block_on_close = False

    def __init__(self, target: str) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.target, self.behaviour = target, Behaviour.HONEST
        self.released = threading.Event()

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self.server_address[1]}"

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


class _Handler(BaseHTTPRequestHandler):
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
            body = ANYWHERE.fetch(url, timeout_s=_TIMEOUT_S, max_bytes=_MAX_BYTES)
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


@contextmanager
def faulty_page(target: str) -> Iterator[FaultyPage]:
    """Serve the proxy of a page for as long as the context lasts."""
    page = FaultyPage(target)
    thread = threading.Thread(target=page.serve_forever, name="faulty-page", daemon=True)
    thread.start()
    try:
        yield page
    finally:
        page.released.set()
        page.shutdown()
        page.server_close()
        thread.join()
