"""The commands of the loop with a latency map that agents measure, or that has grown old."""

import json
import time

import pytest
from edge import NODES, RTT_MS, delays

from latency_map import Survey, write_survey


def decision_of(out):
    (decision,) = json.loads(out)["decisions"]
    return decision


@pytest.fixture
def agents(site):
    """Let the driver's server answer as an agent on each node too, and take the map from these."""
    for row, source in enumerate(NODES):
        pairs = [(target, RTT_MS[row][column]) for column, target in enumerate(NODES) if column != row]
        lines = [
            f'gesscale_latency_rtt_seconds{{source="{source}",target="{target}"}} {rtt_ms / 1000}\n'
            f'gesscale_latency_measured_timestamp_seconds{{source="{source}",target="{target}"}} '
            f"{time.time() - 200}\n"
            for target, rtt_ms in pairs
        ]
        site.server.expect_request(f"/{source}/metrics").respond_with_data("".join(lines))
    urls = [site.server.url_for(f"/{node}") for node in NODES]
    site.write_settings(latency_map={"source": "agents", "agents": urls})


def write_old_map(site, *, hours):
    measured = Survey(names=NODES, rtt_ms=delays().rtt_ms, measured_at_s=time.time() - 3600 * hours)
    write_survey(measured, site.folder / "map.json")
    site.write_settings(latency_map={"file": "map.json"}, analyze={"policy": "thr-nlaware"})


@pytest.mark.usefixtures("agents")
def test_advice_is_given_by_what_the_agents_measure_and_says_how_old_it_is(gesscale, site):
    site.serve_overload()
    code, out, err = gesscale("recommend", "-c", site.config, "--output", "json")
    decision = decision_of(out)
    assert code == 0, err
    assert decision["plan"]["change"] == {"add": ["mid"], "remove": []}
    assert 200 <= decision["latency_map"]["age_s"] < 260
    assert (decision["latency_map"]["stale"], decision["latency_map"]["problem"]) == ("", "")
    _, _, err = gesscale("recommend", "-c", site.config)
    assert "latency map: measured 3 min ago" in err


def test_without_any_agent_an_overload_is_not_to_be_helped_and_exits_3(gesscale, site):
    site.serve_overload()
    site.write_settings(latency_map={"source": "agents", "agents": [site.server.url_for("/nobody")]})
    code, out, _ = gesscale("recommend", "-c", site.config, "--output", "json")
    decision = decision_of(out)
    assert (code, decision["reason"]) == (3, "LatencyMapMissing")
    assert "/nobody" in decision["plan"]["detail"]
    assert decision["plan"]["placement"] == ["hub", "near"]


@pytest.mark.usefixtures("agents")
def test_agents_are_not_asked_when_settings_are_checked(gesscale, site):
    site.server.clear()
    code, _, err = gesscale("config", "validate", site.config)
    assert (code, site.server.log) == (0, []), err


@pytest.mark.parametrize(("hours", "reason"), [(23, "Underused"), (26, "LatencyMapStale")])
def test_an_old_map_removes_nothing_and_is_explained(gesscale, site, hours, reason):
    site.serve(seconds=0.5, rows=50, offered_rows=50)  # busy 0.5 of 2.5 s: 20 %, below the 50 % of THR
    write_old_map(site, hours=hours)
    code, out, _ = gesscale("once", "-c", site.config, "--output", "json")
    decision = decision_of(out)
    assert (code, decision["reason"]) == (0, reason)
    assert bool(decision["plan"]["change"]) == (reason == "Underused")
    _, explained, _ = gesscale("explain", "-c", site.config)
    assert "latency map" in explained
    assert ("measured 23 h ago" if reason == "Underused" else "is 26 h old") in " ".join(explained.split())
