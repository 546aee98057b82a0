"""The objects of scheduler-plugins: what is written is read back, rounded up, and nothing is left out."""

import json
import math

import numpy as np
import pytest
import yaml

from latency_map import LatencyMap, LatencyMapError, MapForm, MissingDelayError, parse_survey
from latency_map.formats.scheduler_plugins import between_groups, to_config_map, to_network_topology

ZONES = {
    "name": "nt",
    "namespace": "streams",
    "topology_key": "topology.kubernetes.io/zone",
    "config_map": "cm",
}
FIGURES = {"name": "netperf-metrics", "namespace": "streams"}


def a_map(names=("edge-b", "edge-a", "hub.site"), pairs=(12.000000000000002, 0.2, 7.0)):
    ab, ac, bc = pairs
    return LatencyMap(names=names, rtt_ms=np.array([[0, ab, ac], [ab, 0, bc], [ac, bc, 0]], dtype=float))


@pytest.mark.parametrize(
    ("form", "written"),
    [
        (MapForm.NETWORK_TOPOLOGY, to_network_topology(a_map(), **ZONES)),
        (MapForm.NETPERF, to_config_map(a_map(), **FIGURES)),
    ],
)
@pytest.mark.parametrize("dump", [json.dumps, lambda document: yaml.safe_dump(document, sort_keys=False)])
def test_a_map_is_read_back_with_whole_milliseconds(form, written, dump):
    imported = parse_survey(dump(written))
    assert (imported.form, imported.unit.value, imported.kind.value) == (form, "ms", "rtt")
    # 12.000000000000002 is 12 and the last digit an error of the sum; 0.2 is at least 0.2, so 1
    expected = {("edge-b", "edge-a"): 12, ("edge-b", "hub.site"): 1, ("edge-a", "hub.site"): 7}
    latencies = imported.survey.to_map()
    assert {pair: latencies.delay_ms(*pair) for pair in expected} == expected
    assert sorted(latencies.names) == sorted(a_map().names)


def test_origins_and_destinations_are_in_order_and_none_is_left_out():
    (weight,) = to_network_topology(a_map(), **ZONES)["spec"]["weights"]
    (topology,) = weight["topologyList"]
    listed = {
        origin["origin"]: [cost["destination"] for cost in origin["costList"]]
        for origin in topology["originList"]
    }
    assert list(listed) == ["edge-a", "edge-b", "hub.site"]
    assert listed == {
        "edge-a": ["edge-b", "hub.site"], "edge-b": ["edge-a", "hub.site"], "hub.site": ["edge-a", "edge-b"],
    }  # fmt: skip
    assert len(to_config_map(a_map(), **FIGURES)["data"]) == 6


@pytest.mark.parametrize(
    "write", [lambda m: to_network_topology(m, **ZONES), lambda m: to_config_map(m, **FIGURES)]
)
def test_a_map_with_a_gap_is_refused_as_the_gap_would_count_as_no_distance(write):
    with pytest.raises(MissingDelayError, match=r"edge-b - hub\.site"):
        write(a_map(pairs=(1, math.nan, 2)))


@pytest.mark.parametrize("name", ["edge one", "Zürich", "a.destination.b", "x" * 250])
def test_a_name_that_no_key_can_hold_is_refused(name):
    with pytest.raises(LatencyMapError, match="expected names of Kubernetes nodes"):
        to_config_map(a_map(names=(name, "b", "c")), **FIGURES)


def test_a_map_larger_than_an_object_may_be_is_refused():
    # each ordered pair takes more than 60 characters: 150 * 149 * 60 > 1 MiB
    names = tuple(f"n{at:03}" for at in range(150))
    with pytest.raises(LatencyMapError, match="expected an object of at most 1048576 bytes"):
        to_config_map(LatencyMap(names=names, rtt_ms=np.ones((150, 150)) - np.eye(150)), **FIGURES)


def test_zones_are_as_far_apart_as_their_farthest_nodes():
    near = between_groups(a_map(), {"edge-a": "west", "edge-b": "west", "hub.site": "east"})
    # hub.site is 0.2 ms from edge-b and 7 ms from edge-a
    assert near.names == ("east", "west")
    assert near.delay_ms("east", "west") == 7.0
    gap = between_groups(a_map(pairs=(1, math.nan, 2)), {"edge-a": "w", "edge-b": "w", "hub.site": "e"})
    assert gap.delay_ms("e", "w") is None
    with pytest.raises(LatencyMapError, match=r"none for 'hub\.site'"):
        between_groups(a_map(), {"edge-a": "west", "edge-b": "west"})
