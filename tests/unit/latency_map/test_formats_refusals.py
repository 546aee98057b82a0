"""Invalid files are refused with a code and the place; never with a traceback."""

import json

import pytest
from refusals import refused

from latency_map import DelayKind, DelayUnit, LatencyMapError, parse_survey

RTT, MS = DelayKind.RTT, DelayUnit.MS
DOCUMENT = {
    "apiVersion": "gesscale.dev/v1",
    "kind": "LatencyMap",
    "unit": "ms",
    "delay": "rtt",
    "nodes": ["a", "b"],
    "rtt_ms": [[0, 1], [1, 0]],
}
GML = "graph [ node [ id 0 ] node [ id 1 ] {} ]"
GRAPHML = '<graphml xmlns="http://graphml.graphdrawing.org/xmlns"><graph edgedefault="undirected">{}</graph></graphml>'
MATRIX = "rtt_ms,a,b,c\na,0,2,9\nb,2,0,5\nc,9,5,0\n"
EDGES = "from,to,rtt_ms\na,b,2\na,c,9\nb,c,5\n"
PINGS = "source,destination,x,avg\na,b,1,5\n"


def parse(text, **options):
    return parse_survey(text, source="file", **({"unit": MS, "kind": RTT} | options))


RANGE = "map-delay-invalid"
TEXT = "map-cell-invalid"
SHAPE = "map-not-square"
LENGTH = "map-row-ragged"


@pytest.mark.parametrize(
    ("text", "code", "line", "column"),
    [
        ("0 5\n5 0 1\n", LENGTH, 2, 3),
        ("0 5 1 7\n5 0 2 7\n", SHAPE, 2, 1),
        ("0 5\n5 0\n1 2\n", SHAPE, 3, 1),
        ("0\t5\t7\t\n5\t0\t6\t\n7\t6\t0\t\n", SHAPE, 3, 1),  # a tab ends every line
        (",a,b,\na,0,5,\nb,5,0,\n", "map-name-invalid", 1, 4),
        ("0 5\n5 x\n", TEXT, 2, 2),
        ("0 5\n1_0 0\n", TEXT, 2, 1),
        ("0 5\n٣ 0\n", TEXT, 2, 1),
        ("0 5\n-5 0\n", RANGE, 2, 1),
        ("0 5\n1e999 0\n", RANGE, 2, 1),
        ("0 " * 1002, "map-nodes-excessive", 1, 1001),
        ("0;12,5\n12.5;0\n", "map-decimals-doubtful", 2, 1),
        (MATRIX[:-8], SHAPE, 3, 1),
        (MATRIX + "d,1,1,1\n", SHAPE, 5, 1),
        (MATRIX.replace("b,2", "x,2"), "map-row-unknown", 3, 1),
        (MATRIX.replace("0,5", "0"), LENGTH, 3, 4),
        (MATRIX.replace("0,5", "0,5,6"), LENGTH, 3, 5),
        (MATRIX.replace("9", "<1"), TEXT, 2, 4),
        (MATRIX.replace("9", "1e99"), RANGE, 2, 4),
        (MATRIX.replace("c", "a"), "map-node-duplicate", 1, 4),
        (MATRIX.replace("b,2", "a,2"), "map-row-duplicate", 3, 1),
        (MATRIX.replace(",b,", ",,", 1), "map-name-invalid", 1, 3),
        ("a b 3\na b\n", LENGTH, 2, 3),
        (EDGES.replace("9", "9,9"), LENGTH, 3, 4),
        ("a;b;3\nb;c;12,500\n", "map-decimals-doubtful", 2, 3),
        ("source,destination,x,avg\na,b,1\n", LENGTH, 2, 4),
        (PINGS + "a,b,1,-4\n", RANGE, 3, 4),
        (PINGS + "a,b,1,1e30\n", RANGE, 3, 4),
        (PINGS + "a,b,1,5 parsecs\n", TEXT, 3, 4),
    ],
)
def test_bad_sheets_are_refused_with_line_and_column(text, code, line, column):
    with refused(code, LatencyMapError, source="file") as caught:
        parse(text)
    assert caught.value.fields["place"].partition(", n")[0].partition(", a to")[0] == f"line {line}, column {column}"


#: Output of programs that is not read.
TOOLS = (
    "64 bytes from b (10.7.0.2): icmp_seq=1 ttl=64 time=5.00 ms\n64 bytes from b: icmp_seq=2 ttl=64 time=7.00 ms\n",
    "2026-01-01T00:00:00 PING b (10.7.0.2) 56(84) bytes of data.\n2026-01-01T00:00:00 64 bytes from b: time=5 ms\n",
    "seq 0: tcp response from b (10.7.0.2) [open]  5.1 ms\nseq 1: tcp response from b (10.7.0.2) [open]  7.1 ms\n",
    '# HELP rtt_seconds x\nrtt_seconds{target="b"} 0.005\n',
)
#: Columns that may contradict a delay, with a cell.
CONTRADICTING = (
    ("hop", 2),
    ("percentile", 99),
    ("availability", 0),
    ("type", "p99"),
    ("type", "one-way"),
    ("note", "lost"),
)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "map-empty"),
        (" \n,,\n", "map-empty"),
        ('a,"b,2\n', "map-format-unknown"),
        ("12,5;7", "map-not-square"),
        ("rtt_ms,a,b\n", "map-empty"),
        ("from,to,rtt_ms", "map-empty"),
        (EDGES + ",a,3", "map-name-invalid"),
        (PINGS + "a,,1,5\n", "map-name-invalid"),
        ("hello", "map-format-unknown"),
        ("name,latitude\na,5\n", "map-format-unknown"),
        ("1 5,5\n5,5 1\n", "map-decimal-comma"),
        ('a,b,"1,234"\n', "map-decimal-comma"),
        ("0 1 5\n1 0 5\n0 2 0\n", "map-format-ambiguous"),
        ("1 5 7\n5 2 6\n7 6 3\n", "map-format-ambiguous"),
        ("x,y,z\n0,5,7\n5,0,6\n7,6,0\n", "map-format-unknown"),  # names across only
        ("a,b,c\n0,5,7\n5,0,6\n7,6,0\n", "map-column-missing"),
        ("0,1,2\n0,5,7\n5,0,6\n7,6,0\n", "map-format-ambiguous"),  # pandas without its index
        ("0\t5\t\n5\t0\t\n", "map-format-ambiguous"),
        ("from|to|rtt_ms\na|b|5\n", "map-format-unknown"),  # bars, and no table in Markdown
        ("a b 5\n#c d 6\n", "map-comment-doubtful"),
        ("from,to,rtt_ms\n#1,#2,5\n", "map-comment-doubtful"),
        ("|a|b|\n|-|-|\n|1|2|\n\n|a|b|\n|-|-|\n|1|2|\n", "map-tables-several"),
        ("0,1,2\n0.0,5,7\n5,0.0,6\n7,6,0.0\n", "map-format-ambiguous"),  # pandas without its index numbers the nodes
        ("1.0,5,7\n5,1.0,6\n7,6,1.0\n", "map-format-ambiguous"),
        ("from,to,rtt_ms\na,b,5\n\nfrom,to,loss\na,b,100\n", "map-tables-several"),
        ("mbps,a,b\na,0,5\nb,5,0\n", "map-column-doubtful"),
        *((f"from,to,rtt_ms,{label}\na,b,5,{cell}\n", "map-column-doubtful") for label, cell in CONTRADICTING),
        *((text, "map-format-unknown") for text in TOOLS),
    ],
)
def test_other_text_is_refused(text, code):
    with refused(code, LatencyMapError, source="file"):
        parse(text)


VALUE = "map-value-invalid"


@pytest.mark.parametrize(
    ("change", "code", "place"),
    [
        ({"apiVersion": "gesscale.dev/v2"}, "map-version-unknown", "apiVersion"),
        ({"apiVersion": None}, "map-version-unknown", "apiVersion"),
        ({"kind": "Map"}, VALUE, "kind"),
        ({"unit": "s"}, VALUE, "unit"),
        ({"delay": "one-way"}, VALUE, "delay"),
        ({"extra": 1}, VALUE, "extra"),
        ({"nodes": "ab"}, VALUE, "nodes"),
        ({"nodes": ["a", 2]}, VALUE, "nodes[1]"),
        ({"nodes": ["a", "a"]}, "map-node-duplicate", "nodes"),
        ({"nodes": []}, "map-size-invalid", "nodes"),
        ({"rtt_ms": [[0, 1]]}, VALUE, "rtt_ms"),
        ({"rtt_ms": [[0, 1], [1]]}, VALUE, "rtt_ms[1]"),
        ({"rtt_ms": [[0, 1], "x"]}, VALUE, "rtt_ms[1]"),
        ({"rtt_ms": [[0, "1"], [1, 0]]}, VALUE, "rtt_ms[0][1]"),
        ({"rtt_ms": [[0, True], [1, 0]]}, VALUE, "rtt_ms[0][1]"),
        ({"rtt_ms": [[0, -1], [1, 0]]}, RANGE, "rtt_ms[0][1]"),
        ({"rtt_ms": [[0, 10**400], [1, 0]]}, VALUE, "rtt_ms[0][1]"),
        ({"origin": 5}, VALUE, "origin"),
        ({"measured_at_s": "now"}, VALUE, "measured_at_s"),
        ({"changes": [1]}, VALUE, "changes[0]"),
        ({"estimated": [[2], []]}, VALUE, "estimated[0]"),
        ({"estimated": [[]]}, VALUE, "estimated"),
    ],
)
def test_every_field_of_the_native_format_is_checked(change, code, place):
    with refused(code, LatencyMapError, source="file", place=place):
        parse(json.dumps(DOCUMENT | change))


@pytest.mark.parametrize(
    ("text", "code", "fields"),
    [
        ("{", "json-invalid", {}),
        ('{"a": NaN}', "json-constant-refused", {"got": "NaN"}),
        ('{"a": 1, "a": 2}', "json-key-duplicate", {"key": "a"}),
        ("[" * 100_000, "json-too-deep", {}),
        (f'{{"a": {"9" * 5000}}}', "json-invalid", {}),
        ('{"rtt": 5}', "map-format-unknown", {"looks_like": "JSON: an object of 1 keys"}),
        ("[5]", "map-format-unknown", {"looks_like": "JSON: a list of 1"}),
        (
            '{"responses": {"p": {"response": {"podResults": {"q": {"response-time-ms": 5}}}}}}',
            "map-format-unknown",
            {},
        ),
    ],
)
def test_bad_json_is_refused_with_the_place(text, code, fields):
    with refused(code, LatencyMapError, source="file", **fields):
        parse(text)


GRAPH = "map-graph-invalid"


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("graph [", GRAPH),
        ("graph [ node [ id 0 ] node [ id 0 ] ]", GRAPH),
        ("graph [ edge [ source 0 target 1 ] ]", GRAPH),
        (GML.format("edge [ source 0 target 1 ]"), "map-column-missing"),
        (GML.format(""), "map-empty"),
        (GML.format("edge [ source 0 target 1 hops 5 ]"), "map-column-missing"),
        (GML.format("edge [ source 0 target 1 delay 5 rtt 3 ]"), "map-columns-ambiguous"),
        (GML.format('edge [ source 0 target 1 delay "5 furlongs" ]'), "map-cell-invalid"),
        (GML.format("edge [ source 0 target 1 delay -1 ]"), RANGE),
        ("graph [ " * 5000, GRAPH),
        ("graph [ ]", "map-empty"),
        ("<graphml", GRAPH),
        ("<graphml></graphml>", GRAPH),
        ("<?xml version='1.0'?><a/>", "map-format-unknown"),
        (GRAPHML.format('<node id="a"/><node id="b"/><edge source="a" target="b"/>'), "map-column-missing"),
        (GRAPHML.format("</graph><graph edgedefault='undirected'>"), GRAPH),  # networkx reads the first one
        (GRAPHML.format('<node id="a"/><edge source="a" target="b"/>'), "map-ends-unknown"),
        ('<!DOCTYPE g [<!ENTITY a "aaaa">]><graphml>&a;</graphml>', "map-doctype-refused"),
        (GRAPHML.format("<graph>" * 30_000), GRAPH),
        (GRAPHML.format('<node id="a"/>' * 100_000), "map-too-large"),  # longer than a graph may be
    ],
)
def test_bad_graphs_are_refused(text, code):
    with refused(code, LatencyMapError, source="file"):
        parse(text)
