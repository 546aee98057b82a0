"""What others answer over HTTP: drivers, agents, a Prometheus server."""

import threading
from functools import cache
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

from fuzz.target import OF_THE_LOOP, Form, RefusedError, Target, files
from fuzz.targets.maps import NOW_S, use_survey
from gesscale.model.observation import MissingReading
from gesscale.monitor.batch_screen import screen_batches
from gesscale.monitor.latencies import AgentLatencies, PrometheusLatencies
from gesscale.monitor.prometheus import PrometheusMetrics
from gesscale.monitor.records import parse_document, to_batches
from gesscale.monitor.window import summarise
from latency_map.measure.peers import AgentsByName

_TIMEOUT_S = 20.0


class _Page(BaseHTTPRequestHandler):
    """Answers whatever is asked with the input of the moment."""

    content = b""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(self.content)))
        self.end_headers()
        self.wfile.write(self.content)

    def log_message(self, *_: object) -> None:
        pass


@cache
def _url() -> str:
    server = HTTPServer(("127.0.0.1", 0), _Page)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}"


def _agents(data: bytes, folder: Path) -> None:
    del folder
    _Page.content = data
    use_survey(AgentLatencies(urls=(_url(),), timeout_s=_TIMEOUT_S).read(NOW_S)[0])


def _prometheus_latencies(data: bytes, folder: Path) -> None:
    del folder
    _Page.content = data
    use_survey(PrometheusLatencies(url=_url(), timeout_s=_TIMEOUT_S).read(NOW_S)[0])


def _prometheus_batches(data: bytes, folder: Path) -> None:
    del folder
    _Page.content = data
    metrics = PrometheusMetrics(
        _url(), ("op",), window_s=60.0, stale_after_s=180.0, history_s=300.0, timeout_s=_TIMEOUT_S
    )
    if metrics.observe(NOW_S).missing_readings:
        raise RefusedError


def _driver(data: bytes, folder: Path) -> None:
    del folder
    document = parse_document(data, "op")
    reported = to_batches(document.batches, {"10.77.0.2": "near"}, ahead_s=document.now_s - NOW_S)
    seen = summarise(
        "op",
        screen_batches(reported.batches, NOW_S),
        now_s=NOW_S,
        window_s=60.0,
        stale_after_s=180.0,
        last_progress_at_s=document.last_progress_at_s,
    )
    if isinstance(seen, MissingReading):
        raise RefusedError


def _agent_name(data: bytes, folder: Path) -> None:
    del folder
    _Page.content = data
    place = _url().removeprefix("http://")
    peers = AgentsByName(place, default_port=9109, own=("edge1", "pod-1"), timeout_s=_TIMEOUT_S, report=lambda _: None)
    if not peers():
        raise RefusedError


TARGETS = (
    Target(name="agent-name", form=Form.JSON, samples=files("agent-name/*"), call=_agent_name, errors=OF_THE_LOOP),
    Target(name="driver-batches", form=Form.JSON, samples=files("driver/*"), call=_driver, errors=OF_THE_LOOP),
    Target(name="agents", form=Form.TEXT, samples=files("agents/*"), call=_agents, errors=OF_THE_LOOP),
    Target(
        name="prometheus-latencies",
        form=Form.JSON,
        samples=files("prometheus/latencies.json"),
        call=_prometheus_latencies,
        errors=OF_THE_LOOP,
    ),
    Target(
        name="prometheus-batches",
        form=Form.JSON,
        samples=files("prometheus/batches.json"),
        call=_prometheus_batches,
        errors=OF_THE_LOOP,
    ),
)
