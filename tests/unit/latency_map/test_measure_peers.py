import json

import pytest
from refusals import refused

from latency_map import LatencyMapError
from latency_map.measure.peers import AgentsByName, agent_url, parse_peers, split_host_port


@pytest.mark.parametrize(
    ("listing", "peers"),
    [
        ("", {}),
        ("a=10.7.0.1", {"a": "10.7.0.1"}),
        (" b = host , a=fd00::1,", {"b": "host", "a": "fd00::1"}),
        ("# all of them\na=10.7.0.1\n\nb=10.7.0.2\n", {"a": "10.7.0.1", "b": "10.7.0.2"}),
    ],
)
def test_peers_are_pairs_by_commas_or_lines(listing, peers):
    assert parse_peers(listing) == peers


@pytest.mark.parametrize(
    ("listing", "code"),
    [
        ("a", "peer-invalid"),
        ("a=", "peer-invalid"),
        ("=10.7.0.1", "peer-invalid"),
        ("a=1 2", "peer-invalid"),
        ("a=1,a=2", "map-node-duplicate"),
        ("\x07=10.7.0.1", "peer-invalid"),
        ("a=fe80::1%eth0", "address-zone-refused"),
    ],
)
def test_other_listings_are_refused(listing, code):
    with refused(code, LatencyMapError, source="peers"):
        parse_peers(listing)


@pytest.mark.parametrize(
    ("place", "host", "port"),
    [
        ("edge1", "edge1", 9109),
        ("edge1:80", "edge1", 80),
        ("10.7.0.1:0", "10.7.0.1", 0),
        ("fd00::1", "fd00::1", 9109),
        ("[fd00::1]", "fd00::1", 9109),
        ("[::]:9110", "::", 9110),
    ],
)
def test_places_are_split_into_host_and_port(place, host, port):
    assert split_host_port(place) == (host, port)


@pytest.mark.parametrize(
    "place", ["", ":9109", "a:b", "a:65536", "a:-1", "a b:1", "[]", "fe80::1%eth0", "[fe80::1%eth0]:80"]
)
def test_other_places_are_refused(place):
    with refused("address-zone-refused" if "%" in place else "host-port-invalid", LatencyMapError, address=place):
        split_host_port(place)


def test_an_agent_is_named_by_host_place_or_url():
    assert agent_url("edge1") == "http://edge1:9109"
    assert agent_url("fd00::1") == "http://[fd00::1]:9109"
    assert agent_url("http://edge1:80/") == "http://edge1:80"


@pytest.mark.parametrize("url", ["http://[fe80::1%eth0]:9109", "http://[fe80::1%25eth0]:9109", "http://a b"])
def test_a_url_with_a_zone_or_blanks_is_refused(url):
    with refused("address-zone-refused" if "%" in url else "host-port-invalid", LatencyMapError):
        agent_url(url)


@pytest.fixture
def by_name(httpserver):
    """Agents behind the one address of the test's server, asked as the agent of edge1."""
    reported = []
    found = AgentsByName(
        f"127.0.0.1:{httpserver.port}", default_port=1, own=("edge1", "me"), timeout_s=60, report=reported.append
    )
    return found, reported


def answer(httpserver, text, status=200):
    httpserver.clear()
    httpserver.expect_request("/node").respond_with_data(text, status=status)


def test_an_agent_is_asked_once_for_the_name_of_its_node(httpserver, by_name):
    find, _ = by_name
    answer(httpserver, json.dumps({"node": "edge2", "instance": "x"}))
    assert find() == find() == {"edge2": "127.0.0.1"}
    assert len(httpserver.log) == 1


def test_another_agent_of_the_same_node_is_skipped_with_a_warning(httpserver, by_name):
    find, reported = by_name
    answer(httpserver, json.dumps({"node": "edge1", "instance": "x"}))
    assert find() == {}
    assert [(each.code, each.fields["node"]) for each in reported] == [("agent-node-duplicate", "edge1")]


@pytest.mark.parametrize(
    "text", ["", "{}", "[]", '{"node": "", "instance": "x"}', '{"node": 1}', "x" * 5000, "[" * 4000]
)
def test_an_agent_without_a_name_is_skipped_and_asked_again(httpserver, by_name, text):
    find, _ = by_name
    answer(httpserver, text)
    assert find() == {}
    answer(httpserver, "busy", status=503)
    assert find() == {}
    answer(httpserver, json.dumps({"node": "edge2", "instance": "x"}))
    assert find() == {"edge2": "127.0.0.1"}
