"""Graphs in GML and GraphML: names of nodes, units, and whether their edges are links or measurements."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refused

from gesscale.common.errors import Problem
from latency_map import DelayKind, DelayUnit, ImportOptions, LatencyMapError, parse_survey

RTT, MS = DelayKind.RTT, DelayUnit.MS


def gml(nodes, edges, head=""):
    listed = "".join(f"node [ id {at} {attributes} ] " for at, attributes in enumerate(nodes))
    return f"graph [ {head} {listed}" + "".join(f"edge [ source {a} target {b} {rest} ] " for a, b, rest in edges) + "]"


DEFAULT = '"latency" attr.type="string"><default>8 ms</default></key>'


def graphml(names, edges):
    keys = '<key id="n" for="node" attr.name="name" attr.type="string"/>'
    keys += '<key id="e" for="edge" attr.name="latency" attr.type="string"/>'
    nodes = "".join(f'<node id="n{at}"><data key="n">{name}</data></node>' for at, name in enumerate(names))
    links = "".join(f'<edge source="n{a}" target="n{b}"><data key="e">{delay}</data></edge>' for a, b, delay in edges)
    graph = f'<graph edgedefault="undirected">{nodes}{links}</graph>'
    return f'<graphml xmlns="http://graphml.graphdrawing.org/xmlns">{keys}{graph}</graphml>'


def read(text, unit=None, **options):
    return parse_survey(text, unit=unit, kind=RTT, options=ImportOptions(**options))


def codes(problems):
    return [problem.code for problem in problems]


def delay_ms(imported, a, b):
    names = imported.survey.names
    return float(imported.survey.to_map().rtt_ms[names.index(a), names.index(b)])


@pytest.mark.parametrize(
    ("text", "ms"),
    [
        ("5000000 ns", 5),
        ("850 us", 0.85),
        ("850 µs", 0.85),
        ("20 ms", 20),
        ("20ms", 20),
        ("0.25 s", 250),
        ("2 seconds", 2000),
    ],
)
def test_units_of_values(text, ms):
    for graph in (gml(["", ""], [(0, 1, f'latency "{text}"')]), graphml(["0", "1"], [(0, 1, text)])):
        assert delay_ms(read(graph), "0", "1") == pytest.approx(ms)


@given(st.permutations([0, 1, 2, 3]), st.lists(st.integers(1, 900), min_size=6, max_size=6))
def test_a_complete_graph_was_measured_and_keeps_its_direct_delays(order, delays):
    pairs = [(order[a], order[b]) for a in range(4) for b in range(a)]
    edges = [(a, b, f"rtt_ms {delay}") for (a, b), delay in zip(pairs, delays, strict=True)]
    imported = read(gml([f'label "n{at}"' for at in range(4)], [*edges, (0, 0, "rtt_ms 7")]))
    for (a, b), delay in zip(pairs, delays, strict=True):
        assert delay_ms(imported, f"n{a}", f"n{b}") == delay
    assert {"import-graph-measured", "import-loops-skipped"} <= set(codes(imported.notes))


def test_a_sparse_graph_is_a_network_of_links():
    text = gml(["", "", "", ""], [(at, at + 1, "rtt_ms 5 packet_loss 0.01") for at in range(3)])
    assert delay_ms(read(text), "0", "3") == 15  # 3 links of 5 ms, whose partial loss is a property
    assert "import-paths-computed" in codes(read(text).notes)


def test_a_link_that_a_path_replaces_is_a_doubt():
    edges = [(0, 1, "rtt_ms 30"), (1, 2, "rtt_ms 5"), (0, 2, "rtt_ms 5"), (2, 3, "rtt_ms 5")]  # 4 of 6 pairs
    imported = read(gml(["", "", "", ""], edges))
    assert delay_ms(imported, "0", "1") == 10  # by way of node 2
    assert Problem("import-paths-computed", {"links": 4, "replaced": 1}) in imported.warnings


def test_a_dead_link_has_no_delay():
    text = gml(["", "", ""], [(0, 1, "rtt_ms 5"), (1, 2, "rtt_ms 0 packet_loss 1.0")])
    imported = read(text)
    assert delay_ms(imported, "0", "1") == 5
    assert delay_ms(imported, "0", "2") != delay_ms(imported, "0", "2")  # NaN
    assert "import-rows-lost" in codes(imported.notes)


def test_nodes_have_names_where_these_are_unique_and_a_note_where_not():
    assert read(graphml(["lyon", "nancy"], [(0, 1, "8 ms")])).survey.names == ("lyon", "nancy")
    twice = read(gml(['label "Paris"', 'label "Paris"', 'label "Lyon"'], [(0, 1, 'delay "1 ms"')]))
    assert twice.survey.names == ("0", "1", "2")
    assert "import-labels-dropped" in codes(twice.notes)
    some = read(gml(['label "Paris"', ""], [(0, 1, 'delay "1 ms"')]))
    assert some.survey.names == ("0", "1")
    assert "import-labels-dropped" in codes(some.notes)


def test_ids_of_a_graph_are_never_positions():
    text = "graph [ node [ id 1 ] node [ id 0 ] edge [ source 0 target 1 rtt_ms 5 ] ]"
    assert "map-ends-doubtful" not in codes(read(text).warnings)


@pytest.mark.parametrize(
    ("edge", "code"),
    [
        ("delay 5", "map-unit-missing"),
        ('delay "5 ms" rtt 5', "map-columns-ambiguous"),
        ('delay_ms "5 us"', "map-units-contradict"),
        ('delay 5 unit "s" delay_unit "ms"', "map-columns-ambiguous"),
        ('delay 5 unit "parsec"', "map-unit-unknown"),
        ("weight 5", "map-unit-missing"),
        ("capacity 5", "map-column-missing"),
        ('delay "5 ms" packet_loss 300', "map-loss-invalid"),
    ],
)
def test_edges_that_state_no_delay_or_two_are_refused(edge, code):
    with refused(code, LatencyMapError):
        read(gml(["", ""], [(0, 1, edge)]))


def test_a_key_may_be_chosen():
    text = gml(["", ""], [(0, 1, "delay_ms 5 tcp_rtt_ms 6")])
    assert delay_ms(read(text, delay_column="tcp_rtt_ms"), "0", "1") == 6
    assert "import-key-assumed" in codes(read(gml(["", ""], [(0, 1, "weight 5")]), unit=MS).notes)


def test_an_edge_of_graphml_to_no_node_is_refused_and_one_without_a_delay_has_the_default():
    text = graphml(["a", "b"], [(0, 1, "8 ms")])
    with refused("map-ends-unknown", LatencyMapError, ends=["n7"]):
        read(text.replace('target="n1"', 'target="n7"'))
    text = text.replace('<data key="e">8 ms</data>', "").replace('"latency" attr.type="string"/>', DEFAULT)
    assert delay_ms(read(text), "a", "b") == 8


def test_xml_of_others_is_named():
    with refused("map-format-unknown", LatencyMapError, looks_like="a topology of Kollaps in XML"):
        read('<?xml version="1.0"?><!-- x --><experiment><links/></experiment>')
