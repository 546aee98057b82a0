"""Serves the batches of any number of external drivers from one local server."""

import json
import math
import time
from functools import lru_cache
from http.server import BaseHTTPRequestHandler

BATCH_S = 2.0
CAP_ROWS = 3000
"""Twice what the load ever is in a trigger interval: where a cap limits, nothing is ordered."""
OVERLOADED_S = 7.2
"""Time for a full batch: 417 rows/s, as before the change of load."""


@lru_cache(maxsize=64)
def newest_batches(newest: int, phase: int, change: int | None) -> tuple[str, int]:
    """Return the newest 200 batches as JSON, with ``NODE`` for the node, and the rows of all of them.

    Their load varies by 10 %. From the batch ``change`` on, the load is 1.5 times the capacity and batches are full.
    """
    batches, total, offered = [], 0, 0
    for number in range(newest - 200, newest):
        is_overloaded = change is not None and number >= change
        rows = CAP_ROWS if is_overloaded else round(500 + 50 * math.sin(number / 17 + phase))
        total, offered = total + rows, offered + (3 * rows // 2 if is_overloaded else rows)
        began_s, seconds = Batches.begin_s(number, change), OVERLOADED_S if is_overloaded else 1.2
        batches.append(
            {
                "batch_id": number,
                "started_at_s": began_s,
                "ended_at_s": began_s + seconds,
                "rows": rows,
                "seconds": seconds,
                "trigger_s": BATCH_S,
                "cap_rows": CAP_ROWS,
                "offered_rows_total": float(offered),
                "processed_rows_total": total,
                "backlog_rows": float(offered - total),
                "replicas": 1,
                "hosts": ["NODE"],
                "hosts_at_start": ["NODE"],
            }
        )
    return json.dumps(batches), total


class Batches(BaseHTTPRequestHandler):
    """Serves the batches of any operator at ``/NODE/OPERATOR/batches``, one batch every two seconds.

    No batch is late until the load of some operators changes.
    """

    began_s = time.time()
    changed: frozenset[str] = frozenset()
    change: int | None = None

    @classmethod
    def begin_s(cls, number: int, change: int | None) -> float:
        """Return when a batch begins."""
        usual = number if change is None else min(number, change)
        return cls.began_s - 600 + BATCH_S * usual + OVERLOADED_S * (number - usual)

    @classmethod
    def newest(cls, change: int | None = None) -> int:
        """Return the number of the batch that runs."""
        usual = int((time.time() - cls.began_s + 600) / BATCH_S)
        return usual if change is None else change + int((time.time() - cls.begin_s(change, None)) / OVERLOADED_S)

    def do_GET(self) -> None:
        """Return the newest 200 batches."""
        _, node, operator, _ = self.path.split("/")
        now_s, change = time.time(), self.change if operator in self.changed else None
        batches, total = newest_batches(self.newest(change), len(operator) + ord(operator[-1]) % 7, change)
        document = {
            "apiVersion": "gesscale.dev/v1", "app": "a", "operator": operator, "query": "q", "now_s": now_s,
            "active": True, "last_progress_at_s": now_s, "cap_rows": CAP_ROWS, "trigger_s": BATCH_S,
            "listener_errors": 0, "batches": [], "total": total,
        }  # fmt: skip
        body = json.dumps(document).replace("[]", batches).replace("NODE", node).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class names it so
        """Do not log."""
