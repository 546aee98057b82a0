"""Latency sources: a changing file, failing agents, and the age of their maps."""

import pytest
from edge import NODES, delays
from pytest_httpserver import HTTPServer
from refusals import logged_codes
from werkzeug import Response

from gesscale.common.errors import Problem
from gesscale.errors import SettingsError
from gesscale.monitor.latencies import AgentLatencies, FileLatencies, MapBounds, staleness
from gesscale.settings.latency_map import LatencyMapSettings
from latency_map import Survey, write_survey

NOW_S = 1_795_000_000.0
HOUR_S = 3600.0


def survey(*, at_s=None, rtt_ms=None, names=NODES):
    return Survey(names=names, rtt_ms=delays().rtt_ms if rtt_ms is None else rtt_ms, measured_at_s=at_s, origin="test")


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "map.json"
    write_survey(survey(at_s=NOW_S - HOUR_S), path)
    return path


# The file


def test_an_unchanged_file_is_not_read_again(file):
    source = FileLatencies(file=file)
    assert source.current(NOW_S).map is source.current(NOW_S + 10).map


def test_a_repeated_failure_is_logged_once(file, caplog):
    source, whole = FileLatencies(file=file), file.read_text("utf-8")
    logged = []
    for text in (None, None, whole, None):
        if text is None:
            file.unlink(missing_ok=True)
        else:
            file.write_text(text, "utf-8")
        caplog.clear()
        source.current(NOW_S)
        logged.append(len(caplog.records))
    assert logged == [1, 0, 0, 1]


def test_a_zero_between_two_nodes_is_reported_and_logged_once(file, caplog):
    rtt_ms = delays().rtt_ms.copy()
    rtt_ms[0, 1] = rtt_ms[1, 0] = 0.0
    write_survey(survey(at_s=NOW_S, rtt_ms=rtt_ms), file)
    source = FileLatencies(file=file, max_age_s=HOUR_S)
    zeros = Problem("map-zero-delays", {"count": 1, "pairs": [f"{NODES[0]} - {NODES[1]}"]})
    assert [source.current(NOW_S + later).map_status.problem for later in (0, 10)] == [str(zeros)] * 2
    assert logged_codes(caplog.text) == ["map-zero-delays"]


def test_a_new_map_without_a_required_node_is_rejected(file):
    def check(latencies):
        if "hub" not in latencies:
            raise SettingsError("settings-need-hub")

    source = FileLatencies(file=file, check=check)
    source.current(NOW_S)
    write_survey(survey(names=("hubb", *NODES[1:])), file)
    given = source.current(NOW_S)
    assert ("hub" in given.map, given.map_status.problem) == (True, "settings-need-hub")


def test_a_file_of_too_many_nodes_is_rejected_with_the_limiting_setting(file):
    settings = LatencyMapSettings(file=file, max_nodes=len(NODES) - 1)
    source = FileLatencies(file=file, bounds=lambda: MapBounds(limits=settings.limits()))
    assert "latency_map.max_nodes" in source.current(NOW_S).map_status.problem
    assert FileLatencies(file=file).current(NOW_S).map == delays()


# Age


@pytest.mark.parametrize(
    ("age_s", "max_age_s", "stale"),
    [
        (HOUR_S, HOUR_S, ""),
        (HOUR_S + 1, HOUR_S, "map-stale"),
        (26 * HOUR_S, 24 * HOUR_S, "map-stale"),
        (1e9, None, ""),
        (-30.0, HOUR_S, ""),  # two clocks that differ a little
        (-7200.0, HOUR_S, "map-in-future"),
    ],
)
def test_a_map_is_stale_from_its_maximum_age_on(file, age_s, max_age_s, stale):
    write_survey(survey(at_s=NOW_S - age_s), file)
    map_status = FileLatencies(file=file, max_age_s=max_age_s).current(NOW_S).map_status
    problem = staleness(age_s, max_age_s)
    assert (problem.code if problem else "") == stale
    assert map_status.stale == (str(problem) if problem else "")
    assert map_status.age_s == max(0.0, age_s)


# The agents


def page(source, *, at_s=NOW_S, **rtts_s):
    """Return the page of an agent with round trips to its peers, seconds."""
    return "".join(
        f'gesscale_latency_{gauge}{{source="{source}",target="{target}"}} {value}\n'
        for target, rtt_s in rtts_s.items()
        for gauge, value in (("rtt_seconds", rtt_s), ("measured_timestamp_seconds", at_s))
    )


PAGES = {
    "hub": page("hub", near=0.010, mid=0.050),
    "near": page("near", hub=0.012, mid=0.045, at_s=NOW_S - 100),
    "mid": page("mid", hub=0.050, near=0.045),
}


def serve(server, pages):
    server.clear()
    for node, text in pages.items():
        response = Response(text) if isinstance(text, str) else Response("broken", status=text)
        server.expect_request(f"/{node}/metrics").respond_with_response(response)


def agents(server, **changes):
    urls = tuple(server.url_for(f"/{node}") for node in PAGES)
    return AgentLatencies(**{"urls": urls, "timeout_s": 2.0, **changes})


def test_silent_agents_are_named(httpserver: HTTPServer, caplog):
    serve(httpserver, {**PAGES, "near": 500})
    given = agents(httpserver).current(NOW_S)
    assert given.map.delay_ms("near", "mid") == pytest.approx(45.0)  # as mid sees it
    assert logged_codes(caplog.text) == ["agents-unreachable"]
    assert "count=1 agents=3" in caplog.text
    assert "/near: " in given.map_status.problem


def test_a_service_name_resolves_to_agents(httpserver: HTTPServer):
    httpserver.expect_request("/metrics").respond_with_data(PAGES["hub"])
    source = AgentLatencies(service=f"localhost:{httpserver.port}", timeout_s=2.0)
    assert source.current(NOW_S).map.delay_ms("hub", "mid") == pytest.approx(50.0)


def test_agents_are_read_periodically_and_after_a_failure(httpserver: HTTPServer):
    serve(httpserver, dict.fromkeys(PAGES, 500))
    source = agents(httpserver, refresh_s=300.0)
    has_read = []
    for at_s in (0, 10, 20, 309, 310, 50):
        if at_s == 10:
            serve(httpserver, PAGES)
        before = len(httpserver.log)
        source.current(NOW_S + at_s)
        has_read.append(len(httpserver.log) > before)
    # Failed at 0, so it reads again at 10; then not before 310; and when the clock is set back.
    assert has_read == [True, True, False, False, True, True]
