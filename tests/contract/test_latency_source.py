"""The contract of a latency source, over a file, over agents and over Prometheus."""

import json
from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from edge import NODES, RTT_MS
from pytest_httpserver import HTTPServer
from refusals import logged_codes
from werkzeug import Response

from gesscale.common.errors import Problem
from gesscale.monitor.latencies import AgentLatencies, CachedLatencies, FileLatencies, PrometheusLatencies
from gesscale.ports import LatencySource
from latency_map import Asymmetry, Survey, write_survey

NOW_S = 1_795_000_000.0
MAX_AGE_S = 3600.0


def directed_ms(factor: float) -> np.ndarray:
    """Return the round trips of the five nodes, times a factor; those towards a later node are 2 ms longer."""
    rtt_ms = factor * np.array(RTT_MS, dtype=float)
    return rtt_ms + 2.0 * np.triu(np.ones_like(rtt_ms), k=1)


@dataclass
class Origin(ABC):
    """Where a source reads: what it holds can be set, broken, and taken away."""

    folder: Path
    server: HTTPServer

    @abstractmethod
    def open(self) -> CachedLatencies: ...

    @abstractmethod
    def hold(self, *, factor: float = 1.0, at_s: float | None = NOW_S) -> None: ...

    @abstractmethod
    def respond(self, text: str) -> None: ...

    @abstractmethod
    def vanish(self) -> None: ...

    def figures(self, factor: float, at_s: float | None) -> list[tuple[str, str, str, float]]:
        """Return gauge, source, target and value, as agents on all nodes have them; without a time for None."""
        rtt_ms = directed_ms(factor).tolist()
        return [
            (gauge, source, target, value)
            for row, source in enumerate(NODES)
            for column, target in enumerate(NODES)
            if source != target
            for gauge, value in (
                ("gesscale_latency_rtt_seconds", rtt_ms[row][column] / 1000),
                ("gesscale_latency_measured_timestamp_seconds", at_s),
            )
            if value is not None
        ]


class FileOrigin(Origin):
    @property
    def file(self) -> Path:
        return self.folder / "map.json"

    def open(self) -> FileLatencies:
        return FileLatencies(file=self.file, max_age_s=MAX_AGE_S)

    def hold(self, *, factor: float = 1.0, at_s: float | None = NOW_S) -> None:
        write_survey(Survey(names=NODES, rtt_ms=directed_ms(factor), measured_at_s=at_s), self.file)

    def respond(self, text: str) -> None:
        self.file.write_text(text, "utf-8")

    def vanish(self) -> None:
        self.file.unlink(missing_ok=True)


class AgentsOrigin(Origin):
    def open(self) -> AgentLatencies:
        urls = tuple(self.server.url_for(f"/{node}") for node in NODES)
        return AgentLatencies(urls=urls, timeout_s=60.0, max_age_s=MAX_AGE_S)

    def hold(self, *, factor: float = 1.0, at_s: float | None = NOW_S) -> None:
        self.server.clear()
        for node in NODES:
            lines = [
                f'{gauge}{{source="{source}",target="{target}"}} {value!r}\n'
                for gauge, source, target, value in self.figures(factor, at_s)
                if source == node
            ]
            self.server.expect_request(f"/{node}/metrics").respond_with_data("".join(lines))

    def respond(self, text: str) -> None:
        self.server.clear()
        for node in NODES:
            self.server.expect_request(f"/{node}/metrics").respond_with_data(text)

    def vanish(self) -> None:
        self.server.clear()


class PrometheusOrigin(Origin):
    def open(self) -> PrometheusLatencies:
        return PrometheusLatencies(url=self.server.url_for(""), timeout_s=60.0, max_age_s=MAX_AGE_S)

    def hold(self, *, factor: float = 1.0, at_s: float | None = NOW_S) -> None:
        result = [
            {
                "metric": {"__name__": gauge, "source": source, "target": target, "instance": f"{source}:9109"},
                "value": [NOW_S, repr(value)],
            }
            for gauge, source, target, value in self.figures(factor, at_s)
        ]
        self.respond(json.dumps({"status": "success", "data": {"resultType": "vector", "result": result}}))

    def respond(self, text: str) -> None:
        self.server.clear()
        response = Response(text, content_type="application/json")
        self.server.expect_request("/api/v1/query").respond_with_response(response)

    def vanish(self) -> None:
        self.server.clear()


@pytest.fixture(params=[FileOrigin, AgentsOrigin, PrometheusOrigin], ids=["file", "agents", "prometheus"])
def origin(request: pytest.FixtureRequest, tmp_path: Path, httpserver: HTTPServer) -> Origin:
    return request.param(tmp_path, httpserver)


def test_it_returns_the_larger_direction_of_each_pair(origin: Origin) -> None:
    origin.hold(at_s=NOW_S - 100)
    source: LatencySource = origin.open()
    given = source.current(NOW_S)
    assert given.map is not None
    # Towards a later node of the list a round trip is 2 ms longer: hub - mid 50 and 52, far - edge 120 and 122.
    assert given.map.delay_ms("mid", "hub") == pytest.approx(52.0)
    assert given.map.delay_ms("far", "edge") == pytest.approx(122.0)
    assert (given.map_status.age_s, given.map_status.stale, given.map_status.problem) == (100, "", "")


def test_before_the_first_map_there_is_a_problem(origin: Origin) -> None:
    origin.vanish()
    given = origin.open().current(NOW_S)
    assert given.map is None
    assert (given.map_status.age_s, given.map_status.stale) == (None, "")
    assert given.map_status.problem


@pytest.mark.parametrize("text", ["", "{", "null", "<!DOCTYPE html><html>It works!</html>", "\x00\x01", "1,2\n3"])
def test_an_invalid_map_is_a_problem_and_not_an_error(
    origin: Origin, text: str, caplog: pytest.LogCaptureFixture
) -> None:
    origin.respond(text)
    given = origin.open().current(NOW_S)
    assert given.map is None
    assert given.map_status.problem
    assert "map-read-failed" not in logged_codes(caplog.text)  # an expected failure


def test_a_new_map_is_used_at_the_next_call(origin: Origin) -> None:
    origin.hold()
    source = origin.open()
    source.current(NOW_S)
    origin.hold(factor=2.0, at_s=NOW_S + 60)
    given = source.current(NOW_S + 61)
    assert given.map is not None
    assert given.map.delay_ms("hub", "mid") == pytest.approx(102.0)  # 2 * 50 + 2
    assert given.map_status.age_s == 1


def test_a_map_of_unknown_age_is_used_and_reported(origin: Origin, caplog: pytest.LogCaptureFixture) -> None:
    origin.hold(at_s=None)
    source = origin.open()
    source.asymmetry = Asymmetry.MAX
    for _ in range(2):
        given = source.current(NOW_S)
        assert given.map is not None
        assert (given.map_status.age_s, given.map_status.stale) == (None, "")
        assert given.map_status.problem == str(Problem("map-age-unknown"))
    assert logged_codes(caplog.text) == ["map-age-unknown"]
    never = origin.open()
    never.asymmetry, never.max_age_s = Asymmetry.MAX, None
    assert never.current(NOW_S).map_status.problem == ""


@pytest.mark.parametrize("failure", ["vanish", "nonsense"])
def test_a_map_that_is_not_refreshed_becomes_stale(origin: Origin, failure: str) -> None:
    origin.hold()
    source = origin.open()
    before = source.current(NOW_S).map
    origin.vanish() if failure == "vanish" else origin.respond("<html>")
    fresh, stale = source.current(NOW_S + MAX_AGE_S), source.current(NOW_S + MAX_AGE_S + 1)
    assert fresh.map is stale.map is before
    assert (fresh.map_status.age_s, fresh.map_status.stale) == (MAX_AGE_S, "")
    assert stale.map_status.stale
    assert fresh.map_status.problem
    assert stale.map_status.problem


def test_a_recovered_source_has_no_problem(origin: Origin) -> None:
    origin.vanish()
    source = origin.open()
    source.current(NOW_S)
    origin.hold()
    given = source.current(NOW_S + 10)
    assert given.map is not None
    assert given.map_status.problem == ""


def test_a_map_dated_far_ahead_is_stale(origin: Origin) -> None:
    # Agents' clocks are held against the controller's: what is ahead was measured now.
    origin.hold(at_s=NOW_S + 7200)
    map_status = origin.open().current(NOW_S).map_status
    if isinstance(origin, FileOrigin):
        assert map_status.stale
    else:
        assert (map_status.age_s, map_status.stale) == (0, "")
