"""Files that cannot be used are refused in words that say where and what to do; never by a traceback."""

import json
import re

import pytest

from latency_map import DelayKind, DelayUnit, LatencyMapError, MapForm, SideFiles, parse_survey

RTT, MS = DelayKind.RTT, DelayUnit.MS
LINK = {"from": "a", "to": "b", "delay": 5}
DOCUMENT = {
    "apiVersion": "gesscale.dev/v1",
    "kind": "LatencyMap",
    "unit": "ms",
    "delay": "rtt",
    "nodes": ["a", "b"],
    "rtt_ms": [[0, 1], [1, 0]],
}
GRAPHML = '<graphml xmlns="http://graphml.graphdrawing.org/xmlns"><graph edgedefault="undirected">{}</graph></graphml>'


def refusal(text, **options):
    with pytest.raises(LatencyMapError) as caught:
        parse_survey(text, source="file", **({"unit": MS, "kind": RTT} | options))
    return str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0 5\n5 0 1\n", "file, line 2, column 3: expected 2 cells as in the first row, got 3"),
        ("0 5 1 7\n5 0 2 7\n", "file, line 2, column 1: expected a square matrix, got 4 cells .* and 2 rows"),
        ("0 5\n5 0\n1 2\n", "file, line 3, column 1: expected as many rows as the first one has cells, 2"),
        ("0 5\n5 x\n", "file, line 2, column 2: expected a delay such as 12.5.*got 'x'"),
        ("0 5\n5 nan\n", "file, line 2, column 2: expected a delay .*got 'nan'"),
        ("0 5\n1_0 0\n", "file, line 2, column 1: expected a delay .*got '1_0'"),
        ("0 5\n٣ 0\n", "file, line 2, column 1: expected a delay .*got '٣'"),
        ("0 5\n-5 0\n", "file, line 2, column 1: n002 to n001: expected a delay of at least 0, got -5"),
        ("0 5\n1e999 0\n", "file, line 2, column 1: .* at most 1e\\+09 ms, got inf"),
        ("0 " * 1002, "file, line 1, column 1001: expected at most 1000 nodes .*max-nodes.*, got 1002 cells"),
        ("a b 3\na b\n", "file, line 2, column 3: expected three cells"),
        (
            "1 2 3\n2 3 4\n\n1 2 9\n",
            "file, line 4, column 1: expected every pair once, got this one on line 1",
        ),
        (
            ",a,b\nb,0,1\nb,1,0\n",
            "file, line 3, column 1: expected every node once, got 'b' on line 2 already",
        ),
        (
            "0,0;12,5\n12,5;0,0\n",
            "file, line 2, column 2: expected a delay .*; write decimals with a point",
        ),
        ("a;b;3\nb;c;12,5\n", "file, line 2, column 3: .*got '12,5'; write decimals with a point"),
        ("node 1\n1,2 x\n", "file, line 2: expected 'node 1' or '1,2 55123', got '1,2 x'"),
        ("node 1\n1,2 5\n1,2 6\n", "file, line 3, column 1: expected every pair once"),
        (
            "source,destination,x,avg\na,b,1\n",
            "file, line 2, column 4: expected 4 cells as in the heading, got 3",
        ),
        (
            "source,destination,x,avg\na,b,1,5\na,b,1,-4\n",
            "file, line 3, column 4: expected .* at least 0, got -4",
        ),
        ("source,destination,x,avg\na,b,1,5\na,b,1,1e30\n", "file, line 3, column 4: a to b: .* at most"),
        ("source,destination,x,avg\na,b,1,5\na,,1,5\n", "file, line 3, column 2: expected a node name"),
        ("source,destination,x,avg\na,b,1,5 ms\n", "file, line 2, column 4: expected a delay .*got '5 ms'"),
    ],
)
def test_bad_sheets_are_refused_with_line_and_column(text, message):
    said = refusal(text)
    assert re.match(message, said), said


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"apiVersion": "gesscale.dev/v2"}, "file, apiVersion: expected gesscale.dev/v1, got 'gesscale.dev/v2'; read"),
        ({"apiVersion": None}, "file, apiVersion: expected gesscale.dev/v1, got null"),
        ({"kind": "Map"}, "file, kind: expected 'LatencyMap', got 'Map'"),
        ({"unit": "s"}, "file, unit: expected 'ms', got 's'"),
        ({"delay": "one-way"}, "file, delay: expected 'rtt'"),
        ({"extra": 1}, "file: expected one of apiVersion, .*, got the key 'extra'"),
        ({"nodes": "ab"}, "file, nodes: expected a list of texts, got 'ab'"),
        ({"nodes": ["a", 2]}, r"file, nodes\[1\]: expected text, got 2"),
        ({"nodes": ["a", "a"]}, "file, nodes: expected every node once"),
        ({"nodes": []}, "file, nodes: expected 1 to 5000 nodes, got 0"),
        ({"rtt_ms": [[0, 1]]}, "file, rtt_ms: expected 2 rows, one for each node, got a list of 1"),
        ({"rtt_ms": [[0, 1], [1]]}, r"file, rtt_ms\[1\]: expected 2 cells, one for each node, got 1"),
        ({"rtt_ms": [[0, 1], "x"]}, r"file, rtt_ms\[1\]: expected a list of cells, got 'x'"),
        ({"rtt_ms": [[0, "1"], [1, 0]]}, r"file, rtt_ms\[0\]\[1\]: expected a number or null, got '1'"),
        ({"rtt_ms": [[0, True], [1, 0]]}, r"file, rtt_ms\[0\]\[1\]: expected a number or null, got true"),
        ({"rtt_ms": [[0, -1], [1, 0]]}, r"file, rtt_ms\[0\]\[1\]: expected a number from 0 to 1e\+09.*, got -1"),
        ({"rtt_ms": [[0, 10**400], [1, 0]]}, r"file, rtt_ms\[0\]: expected delays, got a number beyond all"),
        ({"origin": 5}, "file, origin: expected text, got 5"),
        ({"measured_at_s": "now"}, "file, measured_at_s: expected seconds since 1970 or null, got 'now'"),
        ({"changes": [1]}, r"file, changes\[0\]: expected text, got 1"),
        ({"estimated": [[2], []]}, r"file, estimated\[0\]: expected columns from 0 to 1, got 2"),
        ({"estimated": [[]]}, "file, estimated: expected 2 rows"),
        ({"spread": {"p95_ms": [[0, 1]] * 2}}, "file, spread: expected an object of jitter_ms, loss_ratio, p95_ms"),
        (
            {"spread": {"unit": "ms", "p95_ms": [[0, 1]] * 2, "jitter_ms": [[0, 1]] * 2, "loss_ratio": [[0, 2]] * 2}},
            r"file, spread.loss_ratio\[0\]\[1\]: expected a number from 0 to 1, .*, got 2",
        ),
    ],
)  # fmt: skip
def test_every_field_of_our_own_form_is_checked(change, message):
    said = refusal(json.dumps(DOCUMENT | change))
    assert re.match(message, said), said


def test_a_field_that_is_not_there_is_named():
    for key in ("kind", "unit", "delay", "nodes", "rtt_ms"):
        assert key in refusal(json.dumps({name: DOCUMENT[name] for name in DOCUMENT if name != key}))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "file: expected JSON, got: Expecting"),
        ('{"a": NaN}', "file: expected JSON, got: NaN where a number or null is expected"),
        ('{"a": 1, "a": 2}', "file: expected JSON, got: the key 'a' twice in one object"),
        ("[" * 100_000, "file: expected JSON, got: nesting of thousands of levels"),
        ('{"a": ' * 100_000, "file: expected JSON, got: nesting of thousands of levels"),
        (f'{{"a": {"9" * 5000}}}', "file: expected JSON, got: Exceeds the limit"),
        ("{}", "file: expected JSON that is a map of this project .*, got an object of 0 keys"),
        ('{"rtt": 5}', "file: .*, got an object of 1 keys with rtt"),
        ("[]", "file: expected 1 to 5000 nodes, got 0"),
        ("[5]", r"file, \[0\]: expected a link such as .*, got 5"),
        ('[{"x": "a"}]', r"file, \[0\]: expected a link such as .*, got the keys 'x'"),
        ('[{"from": "a", "to": null, "delay": 5}]', r"file, \[0\].to: expected the name of a node, got null"),
        ('{"links": [], "nodes": ["a"]}', "file: expected links between nodes, got none"),
        (json.dumps([{"from": "a", "to": "b", "hops": 5}]), "file: expected links with a delay .* keys 'hops'; name"),
        (json.dumps([LINK | {"rtt": 3}]), "file: expected one key for the delay of links, got 'delay' and 'rtt'"),
        (json.dumps([LINK, {"from": "b", "to": "c"}]), r"file, \[1\]: expected a delay such as 12.5.*, got none"),
        (json.dumps([LINK | {"delay": "5 furlongs"}]), r"file, \[0\]: expected a delay .*, got '5 furlongs'"),
        (json.dumps([LINK | {"delay": True}]), r"file, \[0\]: expected a delay .*, got 'True'"),
        (json.dumps([LINK | {"delay": -1}]), r"file, \[0\]: expected a delay of 0 to 1e\+09, got -1"),
        (json.dumps([LINK | {"delay": 10**400}]), r"file, \[0\]: expected a delay .*, got '1000"),
        (json.dumps([LINK | {"delay": "5 ms"}, {"from": "b", "to": "c", "delay": 7}]),
         r"file, \[1\]: expected a delay with its unit as other links have"),
        ('{"responses": {}}', "file, responses: expected the answers of pods, got none"),
        ('{"responses": {"p": 5}}', "file, responses.p: expected an object, got 5"),
        ('{"responses": {"p": {"response": {"podResults": {"q": {"OK": true, "response-time-ms": "5"}}}}}}',
         "file, responses.p.response.podResults.q: expected response-time-ms of at least 0, got '5'"),
    ],
)  # fmt: skip
def test_bad_json_is_refused_with_the_place(text, message):
    said = refusal(text)
    assert re.match(message, said), said


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("graph [", "file: expected a graph in GML, got: "),
        ("graph [ node [ id 0 ] node [ id 0 ] ]", "file: expected a graph in GML, got: "),
        ("graph [ edge [ source 0 target 1 ] ]", "file: expected a graph in GML, got: "),
        (
            "graph [ node [ id 0 ] node [ id 1 ] edge [ source 0 target 1 ] ]",
            "file: expected links with a delay",
        ),
        ("graph [ " * 5000, "file: expected a graph in GML, got: "),
        ("graph [ ]", "file: expected 1 to 5000 nodes, got 0"),
        ("<graphml", "file: expected a graph in GraphML, got: "),
        ("<graphml></graphml>", "file: expected a graph in GraphML, got: "),
        ("<?xml version='1.0'?><a/>", "file: expected a graph in GraphML, got: "),
        (GRAPHML.format('<node id="a"/><edge source="a" target="b"/>'), "file: expected links with a delay"),
        (
            '<!DOCTYPE g [<!ENTITY a "aaaa">]><graphml>&a;</graphml>',
            "file: expected GraphML without a document type",
        ),
        (GRAPHML.format("<graph>" * 30_000), "file: expected a graph in GraphML"),
    ],
)
def test_bad_graphs_are_refused(text, message):
    assert refusal(text).startswith(message)


def test_output_of_ping_without_a_target_is_refused():
    for form in (MapForm.PING, MapForm.FPING):
        said = refusal(
            "ping: connect: Network is unreachable\n", form=form, side_files=SideFiles(probed_from="a")
        )
        assert said == f"file: expected the output of {form.value}, got no target in it"


ALTO = '{"meta": {"cost-type": {"cost-mode": "%s", "cost-metric": "%s"}}, "cost-map": {"a": {"b": %s}}}'
TOPOLOGY = "kind: NetworkTopology\nspec: {weights: [{topologyList: [{originList: %s}]}]}"
ANSWER = '{"status": "success", "data": {"resultType": "vector", "result": [%s]}}'
FIGURE = '{"metric": {"cluster_id": "b"}, "value": [1, "%s"]}'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"cost-map": {"a": {"b": 1}}}', "file, meta: expected the cost-type of the map, got none"),
        ('{"meta": {}, "cost-map": {"a": {"b": 1}}}', "file, meta.cost-type: expected an object, got null"),
        (ALTO % ("ordinal", "delay-rt", 1), "file, meta.cost-type.cost-mode: expected numerical, got 'ordinal'"),
        (ALTO % ("numerical", "routingcost", 1), "file, .*: expected delay-rt or delay-ow, got 'routingcost'"),
        (ALTO % ("numerical", "delay-rt", "[1, 2]"), "file, cost-map.a.b: expected a delay .*, got a list of 2"),
        (ALTO % ("numerical", "delay-rt", -1), "file, cost-map.a.b: expected a delay of at least 0, got -1"),
        ('{"cost-map": {"a": 5}}', "file, cost-map.a: expected an object of costs, got 5"),
        ("# TYPE liqo_peer_latency_us gauge\n", "file: expected figures of liqo_peer_latency_us, got none"),
        ('liqo_peer_latency_us{cluster_id="b"} fast\n', "file, line 1: expected a figure of liqo_peer"),
        ("liqo_peer_latency_us 5\n", "file, line 1: expected a label cluster_id, got none"),
        ('liqo_peer_latency_us{cluster_id="b"} -5\n', "file, line 1: expected microseconds of at least 0, got -5"),
        ('liqo_peer_latency_us{cluster_id="b"} 5\n' * 2, "file, line 2: expected every peer once, got 'b' twice"),
        ('liqo_peer_latency_us{cluster_id="here"} 5\n', "file: expected --source to be another cluster than its peers"),
        ('{"status": "success", "data": {"resultType": "matrix"}}', "file, data.resultType: .* got 'matrix'"),
        (ANSWER % FIGURE % "fast", r"file, data.result\[0\]: expected a number, got 'fast'"),
        (ANSWER % '{"metric": {"__name__": "up"}, "value": [1, "1"]}', r"file, .*: expected liqo_peer_.*, got 'up'"),
        (ANSWER % "5", r"file, data.result\[0\]: expected a metric and its value, got 5"),
        (TOPOLOGY % "[]", "file, spec.weights: expected one list of costs, of zones or of regions, got none"),
        (TOPOLOGY % "5", r"file, spec.weights\[0\].topologyList\[0\].originList: expected a list of mappings, got 5"),
        (TOPOLOGY % "[{costList: [{destination: b}]}]", r"file, .*originList\[0\].origin: expected the name of a zone"),
        (TOPOLOGY % "[{origin: a, costList: [{destination: b, networkCost: 1.5}]}]",
         r"file, .*costList\[0\].networkCost: expected a whole number of at least 0, got 1.5"),
        (TOPOLOGY % "[{origin: a, costList: [{destination: b}, {destination: b}]}]",
         r"file, .*costList\[1\]: expected every pair once, got this one twice"),
        ("kind: ConfigMap\ndata: {a: b}", "file, data: expected keys such as netperf.p90."),
        ("kind: ConfigMap\ndata: {netperf.p90.latency.milliseconds.origin.a.destination.b: near}",
         "file, data.netperf.*: expected milliseconds, got 'near'"),
        ('{"apiVersion": "v1", "kind": "Pod"}', "file, kind: expected ConfigMap, got 'Pod'"),
    ],
)  # fmt: skip
def test_bad_maps_of_other_systems_are_refused_with_the_place(text, message):
    of_liqo = "liqo" in text or "vector" in text
    said = refusal(text, side_files=SideFiles(probed_from="here" if of_liqo else None))
    assert re.match(message, said), said
