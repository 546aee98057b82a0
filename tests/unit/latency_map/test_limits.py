"""Limits on the size of a map, and matrices that respect them."""

import pytest
from refusals import refused

from gesscale.common.errors import InvalidValueError
from latency_map import (
    LARGEST,
    DelayKind,
    DelayUnit,
    ImportOptions,
    LatencyMapError,
    MapFormat,
    MapLimits,
    parse_survey,
)
from latency_map.measure.gather import GaugeSample, SampleCollector, gather_samples

TEXTS = {
    MapFormat.MATRIX: "rtt_ms,a,b,c\na,0,1,1\nb,1,0,1\nc,1,1,0\n",
    MapFormat.PAIRS: "from,to,rtt_ms\na,b,1\na,c,1\n",
    MapFormat.GML: "graph [ node [ id 0 ] node [ id 1 ] node [ id 2 ] edge [ source 0 target 1 delay 1 ] ]",
    MapFormat.GRAPHML: '<graphml xmlns="http://graphml.graphdrawing.org/xmlns"><key id="d" for="edge"'
    ' attr.name="delay" attr.type="double"/><graph edgedefault="undirected"><node id="a"/><node id="b"/>'
    '<node id="c"/><edge source="a" target="b"><data key="d">1</data></edge></graph></graphml>',
    MapFormat.JSON: '[["a", "b", 1], ["a", "c", 1]]',
    MapFormat.PING: "PING b (10.7.0.2)\nPING c (10.7.0.3)\n64 bytes from 10.7.0.3: time=1 ms\n",
    MapFormat.FPING: "b : 1 1\nc : 1 1\n",
    MapFormat.DOCUMENT: '{"apiVersion": "gesscale.dev/v1", "kind": "LatencyMap", "unit": "ms", "delay": "rtt",'
    ' "nodes": ["a", "b", "c"], "rtt_ms": [[0, 1, 1], [1, 0, 1], [1, 1, 0]]}',
}


def read(form, nodes):
    one_row = form in (MapFormat.PING, MapFormat.FPING)
    options = ImportOptions(probed_from="a" if one_row else None)
    limits = MapLimits(nodes=nodes, setting="the test")
    return parse_survey(
        TEXTS[form], map_format=form, unit=DelayUnit.MS, kind=DelayKind.RTT, options=options, limits=limits
    )


@pytest.mark.parametrize("form", MapFormat)
def test_every_format_is_limited_to_the_allowed_nodes(form):
    assert len(read(form, 3).survey) == 3
    with refused("map-nodes-excessive", LatencyMapError, limit=2, setting="the test"):
        read(form, 2)


@pytest.mark.parametrize("nodes", [0, 5001])
def test_there_is_no_limit_beyond_that_of_every_map(nodes):
    with refused("map-limit-invalid", InvalidValueError, limit=5000, got=nodes):
        MapLimits(nodes=nodes)
    assert LARGEST.nodes == 5000


def test_a_page_that_fails_half_way_leaves_nothing():
    def broken():
        yield GaugeSample(name="gesscale_latency_rtt_seconds", labels={"source": "x", "target": "y"}, value=1.0)
        raise ValueError("broken off")

    gathering = SampleCollector(MapLimits())
    with pytest.raises(ValueError, match="broken off"):
        gathering.add(broken())
    figure = GaugeSample(name="gesscale_latency_rtt_seconds", labels={"source": "a", "target": "b"}, value=1.0)
    assert gathering.add([figure]) == 1
    assert gathering.survey(None).names == ("a", "b")


@pytest.mark.parametrize(
    ("labels", "nodes", "bound"),
    [
        (
            ({"source": f"s{pair}", "target": f"t{pair}"} for pair in range(1200)),
            None,
            ("map-nodes-excessive", {"limit": 1000}),
        ),
        (
            ({"source": "a", "target": "b", "instance": f"i{agent}"} for agent in range(5000)),
            None,
            ("map-too-large", {"limit": 4064, "counted": "agents"}),
        ),
        (
            (
                {"source": f"n{pair % 990}", "target": f"n{pair // 990}", "job": job}
                for pair in range(100_000)
                for job in "xyz"
            ),
            None,
            ("map-too-large", {"limit": 200_000, "counted": "pairs"}),
        ),
        (({"source": f"n{node}", "target": "a"} for node in range(5000)), [f"n{node}" for node in range(9)], None),
    ],
    ids=["nodes", "agents", "claims", "nodes outside the cluster"],
)
def test_agents_cannot_enlarge_a_map(labels, nodes, bound):
    figures = (GaugeSample(name="gesscale_latency_rtt_seconds", labels=each, value=0.001) for each in labels)
    if bound:
        code, fields = bound
        with refused(code, LatencyMapError, source="agents", **fields):
            gather_samples(figures, fill_missing=True)
        return
    survey = gather_samples(figures, fill_missing=True, nodes=[*nodes, "a"]).survey
    assert set(survey.names) == {*nodes, "a"}
