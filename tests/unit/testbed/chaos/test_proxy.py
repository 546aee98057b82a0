"""A metrics page that waits, lies, or is gone."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from gesscale.common.http_client import ANYWHERE, FetchError
from testbed.chaos.page_proxy import Behaviour, FaultyPage, faulty_page


class Page(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        body = json.dumps({"path": self.path, "rows": 3}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def page() -> Iterator[FaultyPage]:
    with HTTPServer(("127.0.0.1", 0), Page) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        with faulty_page(f"http://127.0.0.1:{server.server_address[1]}") as made:
            yield made
        server.shutdown()
        thread.join()


def fetched(page: FaultyPage, *, timeout_s: float = 60.0) -> object:
    return json.loads(ANYWHERE.fetch(f"{page.url}/batches", timeout_s=timeout_s, max_bytes=1000))


def test_it_passes_on_lies_and_recovers(page: FaultyPage) -> None:
    assert fetched(page) == {"path": "/batches", "rows": 3}
    with page.behaving(Behaviour.LYING):
        assert fetched(page) == {"path": "/batches", "rows": -4}
    assert fetched(page) == {"path": "/batches", "rows": 3}


@pytest.mark.parametrize("behaviour", [Behaviour.HANGING, Behaviour.GONE])
def test_no_answer_comes(page: FaultyPage, behaviour: Behaviour) -> None:
    with page.behaving(behaviour), pytest.raises(FetchError):
        fetched(page, timeout_s=0.5)
    assert fetched(page) == {"path": "/batches", "rows": 3}
