"""The commands of the loop with a latency map from agents, and with an old one."""

import json
import time

import pytest
from edge import NODES, RTT_MS


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


@pytest.mark.usefixtures("agents")
def test_a_recommendation_uses_the_agents_map_and_prints_its_age(gesscale, site):
    site.serve_overload()
    code, out, err = gesscale("recommend", "-c", site.config, "--output", "json")
    decision = decision_of(out)
    assert code == 0, err
    assert decision["plan"]["change"] == {"add": ["mid"], "remove": []}
    assert 200 <= decision["latency_map"]["age_s"] < 260
    assert (decision["latency_map"]["stale"], decision["latency_map"]["problem"]) == ("", "")
    assert "measured 3 min ago" in gesscale("recommend", "-c", site.config)[1]


def test_an_overload_without_agents_exits_3(gesscale, site):
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
