"""JSON of links, samples, graphs and programs: what is read of each form, and what is refused."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from json_maps import PING_EXPORTER, PROGRAMS, RIPE, prometheus
from refusals import refused

from latency_map import DelayKind, DelayUnit, ImportOptions, LatencyMapError, MapFormat, parse_survey

RTT, MS = DelayKind.RTT, DelayUnit.MS
NAN = float("nan")


def read(content, unit=None, kind=RTT, **options):
    text = content if isinstance(content, str) else json.dumps(content)
    return parse_survey(text, unit=unit, kind=kind, options=ImportOptions(**options))


def codes(problems):
    return [problem.code for problem in problems]


def round_trips(imported):
    """Return the round trips by pair, in one order of its nodes."""
    names, rtt_ms = imported.survey.names, imported.survey.rtt_ms
    pairs = ((a, b) for a in range(len(names)) for b in range(len(names)) if a != b and not np.isnan(rtt_ms[a, b]))
    return {f"{names[a]}-{names[b]}": float(rtt_ms[a, b]) for a, b in pairs}


@pytest.mark.parametrize("text", PROGRAMS.values(), ids=PROGRAMS)
def test_results_of_a_program_state_unit_and_kind(text):
    options = {"probed_from": "a"} if "probe_icmp" in text else {}
    imported = read(text, kind=None, **options)
    assert imported.map_format is MapFormat.JSON
    assert imported.kind is RTT
    # the median of 4, 5 and 101 is 5; of 8 and 10, whose duplicate is left out, 9
    assert round_trips(imported) == {"a-b": 5, "a-c": pytest.approx(9)}
    assert set(imported.survey.names) >= {"a", "b", "c", "d"}


OTHER_VARIANTS = ({"quantile": "0.99"}, {"phase": "resolve"}, {"type": "worst"}, {"le": "0.1"})
LINK = {"source": "a", "target": "b", "delay": "5 ms"}
ENDS = {"source": "a", "target": "b"}
NAMED = [{"id": 0, "name": "a"}, {"id": 1, "name": "b"}]
FORMS = {
    "list": [LINK],
    "lines": json.dumps(LINK) + "\n" + json.dumps({**LINK, "target": "c"}),
    "under a key": {"measurements": [LINK]},
    "deep": {"result": {"data": {"samples": [LINK]}}},
    "lists": [["a", "b", "5 ms"]],
    "lists with a heading": [["from", "to", "rtt_ms", "loss"], ["a", "b", 5, 0]],
    "lists with an object": {"links": [["a", "b", {"delay": "5ms"}]]},
    "other ends": [{"client": "a", "server": "b", "latency_us": 5000}],
    "numbered ends": [{"node1": "a", "node2": "b", "rttMs": 5}],
    "ends as objects": [{"source": {"name": "a", "ip": "x"}, "target": {"name": "b", "ip": "y"}, "rtt_ms": 5}],
    "statistics inside": [{"src": "a", "dst": "b", "rtt": {"min": 1, "avg": 5, "max": 9}, "unit": "ms"}],
    "unit by row": [{"src": "a", "dst": "b", "rtt": 0.005, "unit": "s"}],
    "unit at the root": {"unit": "us", "links": [{"src": "a", "dst": "b", "rtt": 5000}]},
    "unit in the metadata": {"metadata": {"units": "seconds"}, "data": {"a": {"b": 0.005, "a": 0}, "b": {"b": None}}},
    "by node": {"rtt_ms": {"a": {"b": 5, "c": None}, "b": {"c": None}}},
    "by node with samples": {"rtt_ms": {"a": {"b": [4, 5, 101]}, "b": {"a": []}}},
    "by node with statistics": {"a": {"b": {"avg": 5, "loss": 0, "unit": "ms"}}, "b": {"b": None}},
    "matrix": {"nodes": ["a", "b", "c"], "rtt_ms": [[0, 5, None], [None, 0, None], [None, None, 0]]},
    "table of pandas": {"columns": ["a", "b"], "index": ["a", "b"], "data": [[0, 0.005], [None, 0]], "unit": "s"},
    "unit next to the nodes": {"unit": "ms", "a": {"b": 5}, "b": {"b": 0}},
    "value and unit": [{"source": "a", "target": "b", "latency": {"value": 5000, "unit": "us"}}],
    "Cytoscape": {"elements": {"nodes": [{"data": {"id": "a"}}, {"data": {"id": "b"}}], "edges": [{"data": LINK}]}},
    "several figures of a pair": [{"source": "a", "target": "b", "rtt_ms": [4, 5, 101, None]}],
    "nanoseconds": [{"source": "a", "target": "b", "latency": "5000000 ns"}],
    "nodes with names": {"nodes": NAMED, "links": [{**LINK, "source": 0, "target": 1}]},
    "nodes by position": {"nodes": [{"id": "a"}, {"id": "b"}], "links": [{**LINK, "source": 0, "target": 1}]},
    "links by name": {"nodes": NAMED, "edges": [LINK]},
    "nodes as an object": {"nodes": {"a": {}, "b": {}}, "links": [LINK]},
    "empty links": {"links": [], "edges": [LINK]},
    "networkx": {"directed": False, "graph": {}, "nodes": [{"id": "a"}, {"id": "b"}], "edges": [LINK]},
}  # fmt: skip


@pytest.mark.parametrize("content", FORMS.values(), ids=FORMS)
def test_every_form_of_a_list_gives_its_delay(content):
    found = round_trips(read(content))
    assert found.pop("a-b") == pytest.approx(5)
    assert set(found) <= {"a-c"}


@pytest.mark.parametrize(
    ("content", "code"),
    [
        ({"nodes": ["a", "b"], "links": [{**LINK, "target": "bb"}]}, "map-ends-unknown"),
        ({"source": "a", "results": [{"target": "b", "rtt_ms": 5}]}, "map-column-missing"),
        ([{"from": "a", "pings": [{"to": "b", "rtt_ms": 5}]}], "map-column-missing"),
        ({"nodes": [{"id": 1}, {"id": 2}], "links": [{**LINK, "source": 0, "target": 1}]}, "map-ends-unknown"),
        ({"nodes": [{"id": "a"}, {"id": "b"}], "links": [{**LINK, "source": 0, "target": 2}]}, "map-ends-unknown"),
        ({"links": [LINK], "edges": [LINK]}, "map-lists-ambiguous"),
        ({"rtt_ms": {"a": {"b": 5, "a": 0}}, "loss": {"a": {"b": 1, "a": 0}}}, "map-lists-ambiguous"),
        ({"rtt_ms": [[0, 1, 2], [1, 0, 2], [2, 2, 0]]}, "map-format-unknown"),  # a matrix without names
        ({"from": ["a", "b"], "to": ["b", "c"], "rtt_ms": [[0, 1], [1, 0]]}, "map-format-unknown"),
        ({"p10": {"a": {"b": 1, "a": 0}}, "p90": {"a": {"b": 5, "a": 0}}}, "map-lists-ambiguous"),
        ([{**LINK, "rtt_ms": 5}], "map-columns-ambiguous"),
        ([{"source": "a", "target": "b", "rtt_max_ms": 5}], "map-columns-ambiguous"),
        ([{"source": "a", "target": "b", "bandwidth": 5}], "map-column-missing"),
        ([{"from": "1", "to": "2", "source": "a", "target": "b", "rtt_ms": 5}], "map-columns-ambiguous"),
        ([{**LINK, "unit": "s"}], "map-units-contradict"),
        ([{"source": "a", "target": "b", "rtt_ms": "5 us"}], "map-units-contradict"),
        ({"unit": "s", "links": [{"source": "a", "target": "b", "rtt_ms": 5}]}, "map-units-contradict"),
        ([{**LINK, "unit": "furlongs"}], "map-unit-unknown"),
        ([{**LINK, "status": "purple"}], "map-status-unknown"),
        ([{**LINK, "loss": 300}], "map-loss-invalid"),
        ([{**LINK, "delay": "12,5 ms"}], "map-decimal-comma"),
        ([{**LINK, "delay": "soon"}], "map-cell-invalid"),
        ([{**LINK, "delay": -1}], "map-unit-missing"),
        ([{**LINK, "delay": "-1 ms"}], "map-delay-invalid"),
        ([{**LINK, "source": None}], "map-value-invalid"),
        ([{**LINK, "source": True}], "map-value-invalid"),
        ({"directed": "maybe", "links": [LINK]}, "map-value-invalid"),
        ({"links": [{"source": "a", "target": "b", "weight": 5}]}, "map-unit-missing"),
        ({"entity": [], "link": [{"s": 0, "d": 1, "PR": 10}]}, "map-format-unknown"),
        ({"hosts": [], "switches": [], "controllers": [], "links": [{"src": "a", "dest": "b"}]}, "map-format-unknown"),
        ({"apiVersion": "v1", "kind": "List", "items": []}, "map-format-unknown"),
        ({"stats": {"count": 5}}, "map-format-unknown"),
        ([{**each, "type": "traceroute"} for each in RIPE], "map-format-unknown"),
        ([{"type": "ping", "target": "b", "results": [{"probe": {"city": "a"}, "result": {}}]}], "map-format-unknown"),
        ([{**RIPE[0], "avg": 5}], "map-ping-mean-contradicted"),
        ([{**RIPE[0], "rcvd": 2}], "map-ping-replies-unread"),
        ({"bandwidth_mbps": {"a": {"b": 5, "a": 0}}}, "map-column-doubtful"),
        ({"nodes": ["a", "b"], "loss": [[0, 1], [1, 0]]}, "map-column-doubtful"),
        ({"throughput": [{"from": "a", "to": "b", "value": 5}]}, "map-column-doubtful"),
        ({"a": {"b": 5, "avg": 5}, "b": {"a": 5, "avg": 5}}, "map-format-unknown"),  # no node is called avg
        (prometheus("ping_rtt_seconds", [({"instance": "b"}, "5")]), "map-column-missing"),
        (prometheus("ping_jitter_seconds", [(ENDS, "5")]), "map-column-missing"),
        *((prometheus("rtt_seconds", [(ENDS | label, "5")]), "map-columns-ambiguous") for label in OTHER_VARIANTS),
        (prometheus("probe_duration_seconds", [({"instance": "b"}, "5")]), "map-source-missing"),
        (prometheus("rtt_seconds", [(ENDS | {"type": each}, "5") for each in "xy"]), "map-columns-ambiguous"),
    ],
)  # fmt: skip
def test_what_contradicts_itself_or_is_something_else_is_refused(content, code):
    with refused(code, LatencyMapError, source="text"):
        read(content)


def test_lost_and_missing_delays_are_missing_whatever_stands_for_them():
    values = [None, "timeout", "*", "lost", "", "N/A", False]
    listed = [{"source": "a", "target": f"n{at}", "rtt_ms": value} for at, value in enumerate(values)]
    listed += [
        {"source": "a", "target": "x", "rtt_ms": 0, "loss_pct": 100},
        {"source": "a", "target": "y", "rtt_ms": 7},
    ]
    assert round_trips(read(listed)) == {"a-y": 7}
    status = [
        {"source": "a", "target": "x", "rtt_ms": 0, "status": "failed"},
        {"source": "a", "target": "y", "rtt_ms": 7, "status": "ok"},
    ]
    assert round_trips(read(status)) == {"a-y": 7}


@given(st.lists(st.floats(0.1, 900), min_size=1, max_size=9), st.permutations(["a", "b", "c"]))
def test_samples_of_a_pair_give_their_median_and_are_never_a_path(delays, nodes):
    first, middle, last = nodes
    listed = [
        {"source": first, "target": last, "rtt_ms": delay, "timestamp": 1.7e9 + at} for at, delay in enumerate(delays)
    ]
    listed += [{"source": first, "target": middle, "rtt_ms": 0.01}, {"source": middle, "target": last, "rtt_ms": 0.01}]
    imported = read(listed)
    # not 0.02, the detour
    assert round_trips(imported)[f"{first}-{last}"] == pytest.approx(np.median(delays))
    assert imported.survey.measured_at_s == 1.7e9


def test_a_sparse_graph_is_a_network_and_a_complete_one_was_measured():
    chain = [{"source": str(at), "target": str(at + 1), "delay_ms": 5} for at in range(4)]
    nodes = [{"id": str(at)} for at in range(5)]
    assert round_trips(read({"nodes": nodes, "links": chain}))["0-4"] == 20  # 4 links of 5 ms
    lossy = [{**link, "loss": 0.01} for link in chain]  # of a link, not of a measurement
    assert round_trips(read({"nodes": nodes, "links": lossy}))["0-4"] == 20
    assert "0-4" not in round_trips(read(chain))  # a bare list has samples
    assert round_trips(read(chain, links=True))["0-4"] == 20
    triangle = [("a", "b", 5), ("b", "c", 5), ("a", "c", 80)]
    links = [{"source": a, "target": b, "delay_ms": delay} for a, b, delay in triangle]
    assert round_trips(read({"nodes": ["a", "b", "c"], "links": links}))["a-c"] == 80
    assert round_trips(read({"nodes": ["a", "b", "c"], "links": links}, links=True))["a-c"] == 10


@pytest.mark.parametrize("directed", [True, 1, "true", "True"])
def test_a_directed_graph_has_no_way_back(directed):
    links = [{"source": a, "target": b, "owd_ms": 5} for a, b in ("ab", "bc", "cd")]
    imported = read({"directed": directed, "links": links}, kind=None)
    assert imported.kind is DelayKind.ONE_WAY
    assert round_trips(imported) == {"a-b": 10, "a-c": 20, "a-d": 30, "b-c": 10, "b-d": 20, "c-d": 10}


def test_ids_that_could_be_positions_are_doubtful():
    nodes = [{"id": 3}, {"id": 1}, {"id": 0}, {"id": 2}]
    links = [{"source": a, "target": b, "delay_ms": 10} for a, b in ((0, 1), (1, 2), (2, 3))]
    imported = read({"nodes": nodes, "links": links})
    assert round_trips(imported)["0-1"] == 10
    assert "map-ends-doubtful" in codes(imported.warnings)
    ordered = read({"nodes": [{"id": at} for at in range(4)], "links": links})
    assert "map-ends-doubtful" not in codes(ordered.warnings)


def test_a_source_that_a_list_names_itself_is_refused():
    with refused("map-option-inapplicable", LatencyMapError, option="--source"):
        read([LINK], probed_from="a")


def test_a_weight_is_a_delay_only_with_a_note():
    imported = read({"links": [{"source": "a", "target": "b", "weight": 1000}]}, unit=MS)
    assert "import-key-assumed" in codes(imported.notes)


def test_loss_of_a_pair_in_prometheus_makes_its_delay_missing():
    loss = prometheus(
        "ping_loss_ratio", [({"instance": "a:9427", "target": b}, v) for b, v in (("b", "0"), ("c", "1"))]
    )
    answer = json.loads(json.dumps(PING_EXPORTER))
    answer["data"]["result"] += loss["data"]["result"]
    assert round_trips(read(answer)) == {"a-b": 5}


def test_a_failed_probe_of_blackbox_has_no_delay():
    delays = prometheus(
        "probe_icmp_duration_seconds", [({"node": "a", "instance": "b", "phase": "rtt"}, "0")], "matrix"
    )
    success = prometheus("probe_success", [({"node": "a", "instance": "b"}, "0")], "matrix")
    (series,), (states,) = delays["data"]["result"], success["data"]["result"]
    series["values"][1][1], states["values"][1][1] = "0.005", "1"  # the first probe failed, the second took 5 ms
    delays["data"]["result"].append(states)
    assert round_trips(read(delays, kind=None)) == {"a-b": 5}


def test_a_list_of_lists_has_its_heading_beside_it():
    rows = [["a", "b", 5000, 0], ["b", "c", 7000, 0], ["a", "c", 1, 1]]
    content = {"columns": ["src", "dst", "rtt_us", "loss"], "index": [0, 1, 2], "data": rows}  # pandas, orient="split"
    assert round_trips(read(content, kind=None)) == {"a-b": 5, "b-c": 7}


def test_the_oldest_time_of_a_list_is_its_age():
    content = {"generated_at": "2023-11-14T22:13:30Z", "ts": 1_700_000_000, "time": "soon", "data": [LINK]}
    assert read(content).survey.measured_at_s == 1_700_000_000  # 2023-11-14T22:13:20Z


def test_probes_of_ripe_that_ping_each_other_are_one_node_each():
    ends = {"a": "198.51.100.1", "b": "198.51.100.2"}
    mesh = [
        {"msm_id": 1, "prb_id": 1, "src_name": a, "from": ends[a], "dst_name": ends[b], "dst_addr": ends[b], "avg": avg}
        for a, b, avg in (("a", "b", 5), ("b", "a", 6))
    ]
    assert round_trips(read(mesh)) == {"a-b": 5, "b-a": 6}


def test_a_result_of_ripe_without_addresses_keeps_its_target():
    alone = {"msm_id": 1, "prb_id": 7, "dst_name": "b", "avg": 5}
    assert round_trips(read([alone])) == {"7-b": 5}


def test_delays_of_a_file_may_be_chosen_by_their_key():
    content = {"p10": {"a": {"b": 1, "a": 0}}, "p90": {"a": {"b": 5, "a": 0}}}
    assert round_trips(read(content, unit=MS, delay_column="p90")) == {"a-b": 5}
    two = [{"source": "a", "target": "b", "rtt_ms": 5, "tcp_rtt_ms": 6}]
    assert round_trips(read(two, delay_column="tcp_rtt_ms")) == {"a-b": 6}
