"""A real Prometheus server scrapes our gauges, and Monitor reads the same batches and delays back."""

import queue
import shutil
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry, Gauge, start_http_server

from gesscale.batch_record import BatchRecord
from gesscale.common.http_server import PageServer
from gesscale.common.metrics_text import CONTENT_TYPE, exposition
from gesscale.model.observation import Batch, OperatorReading
from gesscale.monitor import PrometheusMetrics
from gesscale.monitor.latencies import PrometheusLatencies
from gesscale.monitor.prometheus import FIELD_OF_GAUGE
from gesscale.ports import Latencies
from gesscale.spark.metrics import operator_metrics
from gesscale.spark.records import ExecutorSnapshot, QueryHistory, QuerySettings
from latency_map.measure.gauges import MEASURED_TIMESTAMP_SECONDS, RTT_SECONDS
from testbed.free_port import free_port

pytestmark = pytest.mark.real

PERIODS = {"window_s": 240.0, "stale_after_s": 120.0, "history_s": 300.0, "timeout_s": 30.0}


class Endpoint:
    """Serves the gauges of gesscale.spark for batches that no Spark has run, one after the other."""

    def __init__(self) -> None:
        self.history = QueryHistory(query="q")
        self.executors = ExecutorSnapshot(at_s=0.0, hosts=())
        self.scraped: queue.Queue[Batch] = queue.Queue()
        self.newest: Batch | None = None
        self.lock = threading.Lock()
        self.settings = QuerySettings(app="a", operator="nearest")

    def show(self, batch: Batch) -> None:
        """Show a batch until two scrapes have seen it, lest one of them came too late to be stored."""
        record = BatchRecord(
            **{name: getattr(batch, name) for name in FIELD_OF_GAUGE.values()},
            started_at_s=batch.ended_at_s - batch.seconds,
            processed_rows_total=0,
            replicas=len(batch.nodes),
            hosts=batch.nodes,
            hosts_at_start=batch.nodes,
        )
        with self.lock:
            self.newest = batch
            self.history.batches.append(record)
            self.history.last_progress_at_s = batch.ended_at_s
            self.executors = ExecutorSnapshot(at_s=batch.ended_at_s, hosts=batch.nodes)
        sightings = 0
        while sightings < 2:
            sightings += self.scraped.get(timeout=60) is batch

    def page(self, _parameters: Mapping[str, list[str]]) -> tuple[str, bytes]:
        with self.lock:
            body = exposition(operator_metrics(self.settings, [self.history], self.executors, 0, {}))
            if self.newest is not None:
                self.scraped.put(self.newest)
        return CONTENT_TYPE, body


@pytest.fixture
def endpoint() -> Iterator[tuple[Endpoint, int]]:
    shown = Endpoint()
    server = PageServer("127.0.0.1", 0, {"/metrics": shown.page})
    yield shown, server.port
    server.close()


@contextmanager
def server_scraping(folder: Path, *ports: int) -> Iterator[str]:
    """Run a Prometheus server that scrapes these ports once a second; give its address."""
    binary = shutil.which("prometheus")
    if binary is None:
        pytest.skip("no prometheus binary on the path: apt-get install prometheus")
    targets = ", ".join(f"'127.0.0.1:{port}'" for port in ports)
    config = folder / "prometheus.yml"
    config.write_text(
        "global: {scrape_interval: 1s, scrape_timeout: 1s}\n"
        "scrape_configs:\n"
        f"  - {{job_name: gesscale, static_configs: [{{targets: [{targets}]}}]}}\n"
    )
    address = f"127.0.0.1:{free_port()}"
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            [
                binary,
                f"--config.file={config}",
                f"--storage.tsdb.path={folder / 'data'}",
                f"--web.listen-address={address}",
            ],
            stdout=log,
            stderr=log,
        )
    try:
        yield f"http://{address}"
    finally:
        process.terminate()
        try:
            process.wait(60)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(60)


@pytest.fixture
def prometheus(endpoint: tuple[Endpoint, int], tmp_path: Path) -> Iterator[str]:
    with server_scraping(tmp_path, endpoint[1]) as url:
        yield url


def read(source: PrometheusMetrics, until_batch: int) -> OperatorReading:
    """Observe until the newest batch has come through; a scrape is stored a moment after it was answered."""
    for _ in range(300):
        seen = source.observe(time.time()).readings.get("nearest")
        if seen is not None and seen.batches[-1].batch_id == until_batch:
            return seen
        time.sleep(0.2)
    pytest.fail(f"batch {until_batch} did not come through: {source.observe(time.time())}")


def test_scraped_batches_come_back_as_they_were(endpoint: tuple[Endpoint, int], prometheus: str) -> None:
    shown: list[Batch] = []
    nodes = [("10.77.0.2",), ("10.77.0.2",), ("10.77.0.2", "10.77.0.3"), ("10.77.0.3",)]
    for batch_id, holders in enumerate(nodes, start=7):
        batch = Batch(
            batch_id=batch_id,
            ended_at_s=time.time(),
            rows=100 * batch_id,
            seconds=0.25,
            nodes=holders,
            trigger_s=2.0,
            cap_rows=900,
            offered_rows_total=None if batch_id == 8 else 1000.5 * batch_id,
            backlog_rows=0.0,
        )
        endpoint[0].show(batch)
        shown.append(batch)

    names = {"10.77.0.2": "near", "10.77.0.3": "far"}
    source = PrometheusMetrics(prometheus, ("nearest", "absent"), hosts=names, **PERIODS)
    seen = read(source, until_batch=10)
    placed = [("near",), ("near",), ("far", "near"), ("far",)]
    assert seen.batches == tuple(replace(batch, nodes=holders) for batch, holders in zip(shown, placed, strict=True))
    assert seen.placement == ("far",)
    # 3 x 1000.5 rows were offered between the planning of the first and of the last batch.
    planned_s = shown[-1].ended_at_s - shown[0].ended_at_s
    assert seen.input_rows_per_s == pytest.approx(3 * 1000.5 / planned_s)

    later = source.observe(time.time() + 200)
    assert later.missing_readings["nearest"].stale
    assert later.missing_readings["absent"].code == "driver-not-scraped"


@contextmanager
def agent(node: str, measured_at_s: float, **rtts_s: float) -> Iterator[int]:
    """Serve what an agent on a node has measured; give its port."""
    registry = CollectorRegistry()
    ends = ("source", "target")
    rtt = Gauge(RTT_SECONDS, "Round trip.", ends, registry=registry)
    measured = Gauge(MEASURED_TIMESTAMP_SECONDS, "When.", ends, registry=registry)
    for target, rtt_s in rtts_s.items():
        rtt.labels(node, target).set(rtt_s)
        measured.labels(node, target).set(measured_at_s)
    server, thread = start_http_server(0, "127.0.0.1", registry)
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()
        thread.join(10)


def delay_ms(seen: Latencies, node: str) -> float | None:
    return None if seen.map is None else seen.map.delay_ms("hub", node)


def await_map(source: PrometheusLatencies, reached: Callable[[Latencies], bool]) -> Latencies:
    for _ in range(150):
        seen = source.current(time.time())
        if reached(seen):
            return seen
        time.sleep(0.2)
    pytest.fail(f"not reached: {seen}")


def test_what_agents_measured_comes_back_as_the_map_and_a_dead_agent_drops_out(tmp_path: Path) -> None:
    began_s = time.time()
    with ExitStack() as lasting, ExitStack() as dying:
        ports = [
            lasting.enter_context(agent("hub", began_s - 30, near=0.010, far=0.200)),
            dying.enter_context(agent("near", began_s - 90, hub=0.012, far=0.190)),
        ]
        source = PrometheusLatencies(url=lasting.enter_context(server_scraping(tmp_path, *ports)), timeout_s=30.0)
        # Only with both agents' words: of hub's 10 ms and near's 12 the larger, and the 200 ms that only hub measured.
        both = pytest.approx((12.0, 200.0))
        whole = await_map(source, lambda seen: (delay_ms(seen, "near"), delay_ms(seen, "far")) == both)
        assert whole.map.names == ("far", "hub", "near")
        assert 90 <= whole.map_status.age_s <= time.time() - began_s + 90

        dying.close()
        rest = await_map(source, lambda seen: delay_ms(seen, "near") == pytest.approx(10.0))
        assert 30 <= rest.map_status.age_s <= time.time() - began_s + 30
