"""Files that cannot be used are refused in one line that says where; never by a traceback."""

import json

import pytest

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


def refusal(text, **options):
    with pytest.raises(LatencyMapError) as caught:
        parse_survey(text, source="file", **({"unit": MS, "kind": RTT} | options))
    said = str(caught.value)
    assert said.startswith("file")
    assert said.isprintable()
    return said


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        ("0 5\n5 0 1\n", 2, 3),
        ("0 5 1 7\n5 0 2 7\n", 2, 1),
        ("0 5\n5 0\n1 2\n", 3, 1),
        ("0 5\n5 x\n", 2, 2),
        ("0 5\n5 nan\n", 2, 2),
        ("0 5\n1_0 0\n", 2, 1),
        ("0 5\n٣ 0\n", 2, 1),
        ("0 5\n-5 0\n", 2, 1),
        ("0 5\n1e999 0\n", 2, 1),
        ("0 " * 1002, 1, 1001),
        ("0,0;12,5\n12,5;0,0\n", 2, 2),
        ("hello", 1, 2),
        ("rtt_ms,a,b\n", 1, 1),
        (MATRIX[:-8], 3, 1),
        (MATRIX + "d,1,1,1\n", 5, 1),
        (MATRIX.replace("b,2", "x,2"), 3, 1),
        (MATRIX.replace("0,5", "0"), 3, 4),
        (MATRIX.replace("0,5", "0,5,6"), 3, 5),
        (MATRIX.replace("9", "inf"), 2, 4),
        (MATRIX.replace("9", "1e99"), 2, 4),
        (MATRIX.replace("c", "a"), 1, 4),
        (MATRIX.replace("b,2", "a,2"), 3, 1),
        (MATRIX.replace(",b,", ",,", 1), 1, 3),
        ("a b 3\na b\n", 2, 3),
        (EDGES.replace("9", "9,9"), 3, 4),
        (EDGES + "a,b,2", 5, 1),
        (EDGES + ",a,3", 5, 1),
        ("from,to,rtt_ms", 1, 1),
        ("a;b;3\nb;c;12,5\n", 2, 3),
        ("source,destination,x,avg\na,b,1\n", 2, 4),
        (PINGS + "a,b,1,-4\n", 3, 4),
        (PINGS + "a,b,1,1e30\n", 3, 4),
        (PINGS + "a,,1,5\n", 3, 2),
        (PINGS + "a,b,1,5 ms\n", 3, 4),
    ],
)
def test_bad_sheets_are_refused_with_line_and_column(text, line, column):
    assert refusal(text).startswith(f"file, line {line}, column {column}: ")


@pytest.mark.parametrize("text", ["", " \n,,\n", 'a,"b,2\n', "12,5;7"])
def test_what_is_no_sheet_is_refused(text):
    refusal(text)


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ({"apiVersion": "gesscale.dev/v2"}, ", apiVersion"),
        ({"apiVersion": None}, ", apiVersion"),
        ({"kind": "Map"}, ", kind"),
        ({"unit": "s"}, ", unit"),
        ({"delay": "one-way"}, ", delay"),
        ({"extra": 1}, ""),
        ({"nodes": "ab"}, ", nodes"),
        ({"nodes": ["a", 2]}, ", nodes[1]"),
        ({"nodes": ["a", "a"]}, ", nodes"),
        ({"nodes": []}, ", nodes"),
        ({"rtt_ms": [[0, 1]]}, ", rtt_ms"),
        ({"rtt_ms": [[0, 1], [1]]}, ", rtt_ms[1]"),
        ({"rtt_ms": [[0, 1], "x"]}, ", rtt_ms[1]"),
        ({"rtt_ms": [[0, "1"], [1, 0]]}, ", rtt_ms[0]"),
        ({"rtt_ms": [[0, True], [1, 0]]}, ", rtt_ms[0]"),
        ({"rtt_ms": [[0, -1], [1, 0]]}, ", rtt_ms[0][1]"),
        ({"rtt_ms": [[0, 10**400], [1, 0]]}, ", rtt_ms[0]"),
        ({"origin": 5}, ", origin"),
        ({"measured_at_s": "now"}, ", measured_at_s"),
        ({"changes": [1]}, ", changes[0]"),
        ({"estimated": [[2], []]}, ", estimated[0]"),
        ({"estimated": [[]]}, ", estimated"),
    ],
)
def test_every_field_of_our_own_form_is_checked(change, place):
    assert refusal(json.dumps(DOCUMENT | change)).startswith(f"file{place}: ")


@pytest.mark.parametrize(
    ("text", "place", "word"),
    [
        ("{", "", "JSON"),
        ('{"a": NaN}', "", "NaN"),
        ('{"a": 1, "a": 2}', "", "'a' twice"),
        ("[" * 100_000, "", "nesting"),
        (f'{{"a": {"9" * 5000}}}', "", "limit"),
        ('{"rtt": 5}', "", "an object of 1 keys"),
        ("[5]", "", "a list of 1"),
        ('{"responses": {}}', ", responses", "none"),
        ('{"responses": {"p": 5}}', ", responses.p", "5"),
        (
            '{"responses": {"p": {"response": {"podResults": {"q": {"OK": true, "response-time-ms": "5"}}}}}}',
            ", responses.p.response.podResults.q",
            "'5'",
        ),
    ],
)
def test_bad_json_is_refused_with_the_place(text, place, word):
    said = refusal(text)
    assert said.startswith(f"file{place}: ")
    assert word in said


@pytest.mark.parametrize(
    "text",
    [
        "graph [",
        "graph [ node [ id 0 ] node [ id 0 ] ]",
        "graph [ edge [ source 0 target 1 ] ]",
        GML.format("edge [ source 0 target 1 ]"),
        GML.format(""),
        GML.format("edge [ source 0 target 1 hops 5 ]"),
        GML.format("edge [ source 0 target 1 delay 5 rtt 3 ]"),
        GML.format("edge [ source 0 target 1 delay 5 ] edge [ source 1 target 1 ]"),
        GML.format('edge [ source 0 target 1 delay "5 furlongs" ]'),
        GML.format("edge [ source 0 target 1 delay -1 ]"),
        GML.format('edge [ source 0 target 1 delay "5 ms" ] edge [ source 1 target 1 delay 7 ]'),
        "graph [ " * 5000,
        "graph [ ]",
        "<graphml",
        "<graphml></graphml>",
        "<?xml version='1.0'?><a/>",
        GRAPHML.format('<node id="a"/><edge source="a" target="b"/>'),
        '<!DOCTYPE g [<!ENTITY a "aaaa">]><graphml>&a;</graphml>',
        GRAPHML.format("<graph>" * 30_000),
        GRAPHML.format('<node id="a"/>' * 100_000),  # longer than a graph may be
    ],
)
def test_bad_graphs_are_refused(text):
    refusal(text)
