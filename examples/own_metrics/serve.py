"""Publishes batches of another engine as the page `/batches` that gesscale reads.

Replace `batches` with the figures of your engine: the newest batches, oldest first. An unknown figure is null, never 0.
"""

import json
import os
import time
from collections.abc import Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

PORT = int(os.environ.get("PORT", "9208"))
BEGAN_S = time.time() - 60
TRIGGER_S, ROWS, OFFERED = 5.0, 400, 500  # a batch of at most 400 rows every 5 s, while 500 arrive


def batches(now_s: float) -> Iterator[dict[str, Any]]:
    """Yield the finished batches of a fictitious engine that cannot keep up."""
    for number in range(int((now_s - BEGAN_S) / TRIGGER_S)):
        ended_s = BEGAN_S + (number + 1) * TRIGGER_S
        yield {
            "batch_id": number,
            "started_at_s": ended_s - TRIGGER_S,
            "ended_at_s": ended_s,
            "rows": ROWS,
            "seconds": TRIGGER_S,
            "trigger_s": TRIGGER_S,
            "cap_rows": ROWS,
            "cap_rows_per_replica": ROWS,
            "offered_rows_total": (number + 1) * OFFERED,
            "processed_rows_total": (number + 1) * ROWS,
            "backlog_rows": (number + 1) * (OFFERED - ROWS),
            "replicas": 1,
            "hosts": ["edge1"],
            "hosts_at_start": ["edge1"],
        }


class Page(BaseHTTPRequestHandler):
    """Serves `GET /batches`."""

    def do_GET(self) -> None:
        """Send the newest batches."""
        now_s = time.time()
        known = list(batches(now_s))[-512:]
        document = {
            "apiVersion": "gesscale.dev/v1",
            "operator": "hashes",
            "now_s": now_s,
            "last_progress_at_s": known[-1]["ended_at_s"] if known else None,
            "batches": known,
        }
        body = json.dumps(document).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name in the base class
        """Do not log requests."""


if __name__ == "__main__":
    try:
        server = ThreadingHTTPServer(("127.0.0.1", PORT), Page)
    except OSError:
        raise SystemExit(f"serve: port {PORT} is in use; choose another one, such as PORT={PORT + 1}") from None
    print(f"serve: http://127.0.0.1:{PORT}/batches", flush=True)
    with suppress(KeyboardInterrupt):
        server.serve_forever()
