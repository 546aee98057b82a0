"""A site for the ``gesscale`` command: settings, a latency map, a driver that answers."""

import json
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event
from types import ModuleType
from typing import Any

import pytest
import yaml
from edge import FakeCluster, delays
from pytest_httpserver import HTTPServer
from werkzeug import Response

from gesscale.batch_record import BatchRecord
from gesscale.spark.records import QueryHistory, QuerySettings, document
from latency_map import write_csv


@dataclass(kw_only=True)
class Site:
    """A folder with the settings of one operator, `op` with its driver on hub, and the server of its driver."""

    folder: Path
    server: HTTPServer
    cluster: FakeCluster
    hung_up: Event = field(default_factory=Event)
    asked: Event = field(default_factory=Event)

    @property
    def config(self) -> Path:
        return self.folder / "gesscale.yaml"

    @property
    def knowledge(self) -> Path:
        return self.folder / "knowledge.sqlite"

    def write_settings(self, **groups: dict[str, Any]) -> None:
        operator = {"driver_node": "hub", "metrics_url": self.server.url_for(""), "max_replicas": 5}
        settings = {
            "workflow": {"operators": {"op": operator}},
            "latency_map": {"file": "map.csv", "unit": "ms", "kind": "rtt", "max_age": None},
            "knowledge": {"file": self.knowledge.name},
            "analyze": {"policy": "gesscale-2021"},
            **groups,
        }
        self.config.write_text(yaml.safe_dump(settings), "utf-8")

    def serve(self, before: Callable[[], object] = lambda: None, **changes: Any) -> None:
        """Answer with twenty batches that end now, as `batches_document` writes them; do something before each."""
        self.answer(lambda: Response(str(before() or batches_document(**changes))))

    def serve_overload(self, before: Callable[[], object] = lambda: None) -> None:
        """Answer with full batches of 200 rows that take the whole trigger interval, 2.5 s, while 500 are offered.

        The operator works at its limit of 80 rows/s, 200 rows/s are offered: the backlog can only grow.
        """
        self.serve(before, offered_rows=500, rows=200, seconds=2.5, backlog_rows=6000.0)

    def answer(self, response: Callable[[], Response]) -> None:
        self.server.expect_request("/batches").respond_with_handler(lambda _: response())

    def hang(self) -> None:
        def wait() -> Response:
            self.asked.set()
            self.hung_up.wait(60)
            return Response("")

        self.answer(wait)


def batches_document(*, operator: str = "op", age_s: float = 0.0, offered_rows: int = 150, **changes: Any) -> str:
    """Return what a driver says of a batch every 2.5 s on hub and near: by default half busy and keeping up."""
    now_s = time.time()
    history = QueryHistory(query="q", last_progress_at_s=now_s - age_s)
    for index in range(20):
        ended_at_s = now_s - age_s - 2.5 * (19 - index)
        steady: dict[str, Any] = {
            "batch_id": index,
            "started_at_s": ended_at_s - 1.25,
            "ended_at_s": ended_at_s,
            "rows": offered_rows,
            "seconds": 1.25,
            "trigger_s": 2.5,
            "cap_rows": 200,
            "offered_rows_total": float(offered_rows * index),
            "processed_rows_total": 0,
            "backlog_rows": 0.0,
            "replicas": 2,
            "hosts": ("hub", "near"),
            "hosts_at_start": ("hub", "near"),
        }
        history.batches.append(BatchRecord(**{**steady, **changes}))
    return json.dumps(document([history], QuerySettings(app="a", operator=operator), now_s=now_s))


@pytest.fixture
def site(tmp_path: Path, httpserver: HTTPServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    """A site whose cluster adapter `fake`, installed as a package installs one, takes orders in memory."""
    cluster = FakeCluster({"op": ("hub", "near")})
    adapter = ModuleType("fake_cluster_adapter")
    adapter.open_fake = lambda _options: cluster  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, adapter.__name__, adapter)
    packages = tmp_path / "packages"
    metadata = packages / "fake_cluster-1.0.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: fake-cluster\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text("[gesscale.clusters]\nfake = fake_cluster_adapter:open_fake\n")
    monkeypatch.syspath_prepend(str(packages))
    made = Site(folder=tmp_path, server=httpserver, cluster=cluster)
    write_csv(delays(), tmp_path / "map.csv")
    made.write_settings()
    yield made
    made.hung_up.set()
