"""Unit and kind of delays come from the file or the caller, and are never guessed."""

import numpy as np
import pytest
from refusals import refused

from gesscale.common.errors import Problem
from latency_map import DelayKind, DelayUnit, ImportOptions, LatencyMapError, MapFormat, parse_survey

RTT, ONE_WAY = DelayKind.RTT, DelayKind.ONE_WAY
US, MS, S = DelayUnit.US, DelayUnit.MS, DelayUnit.S
NAN = float("nan")

MATRIX = "{},a,b\na,0,3\nb,4,0\n"
GML = "graph [ node [ id 0 ] node [ id 1 ] edge [ source 0 target 1 {} ] ]"
PING = "PING b (10.7.0.2): 56 data bytes\n64 bytes from 10.7.0.2: seq=0 ttl=64 time=3.5 ms\n"


@pytest.mark.parametrize(
    ("corner", "unit", "kind"),
    [
        ("rtt_ms", MS, RTT),
        ("RTT (us)", US, RTT),
        ("one_way_s", S, ONE_WAY),
        ("one-way delay in ms", MS, ONE_WAY),
        ("Round trip time [ms]", MS, RTT),
    ],
)
def test_a_heading_may_state_both(corner, unit, kind):
    imported = parse_survey(MATRIX.format(corner))
    assert (imported.unit, imported.kind) == (unit, kind)


UNIT_MISSING, KIND_MISSING = "map-unit-missing", "map-kind-missing"
NEITHER = [UNIT_MISSING, KIND_MISSING]


@pytest.mark.parametrize(
    ("corner", "missing"),
    [
        ("", NEITHER),
        ("region", NEITHER),
        ("us", NEITHER),  # the United States as well as microseconds
        ("s", NEITHER),
        ("latency ms us", NEITHER),  # contradicts itself
        ("latency (ms)", [KIND_MISSING]),
        ("rtt", [UNIT_MISSING]),
        ("median latency by hop ms", NEITHER),  # a word that may change its meaning
    ],
)
def test_missing_unit_and_kind_are_reported_together(corner, missing):
    with refused(missing[0], LatencyMapError, source="map.csv") as caught:
        parse_survey(MATRIX.format(corner), source="map.csv")
    assert [problem.code for problem in caught.value.problems] == missing


@pytest.mark.parametrize(
    ("text", "unit", "code", "fields"),
    [
        ("from,to,rtt,unit\na,b,1,us\n", S, "map-unit-conflict", {"stated": "us", "given": "s"}),
        ("from,to,rtt\na,b,1 ms\n", S, "map-unit-conflict", {"stated": "ms", "given": "s"}),
        ("from,to,rtt_ms,unit\na,b,1,us\n", None, "map-units-contradict", {"units": [MS, US]}),
        ("from,to,rtt_ms\na,b,1 us\n", US, "map-units-contradict", {"units": [MS, US]}),
        (",a,b\na,0,1 us\nb,1 ms,0\n", None, "map-units-mixed", {}),
        (",a,b\na,0,1 us\nb,1,0\n", None, "map-units-mixed", {}),
        ("latency ms,a,b\na,0 us,1 us\nb,1 us,0 us\n", None, "map-units-contradict", {"units": [MS, US]}),
        ("from,to,rtt,unit\na,b,1,furlong\n", None, "map-unit-unknown", {}),
        (PING, S, "map-unit-conflict", {"stated": "ms", "given": "s"}),
        (GML.format("latency '5 ms'").replace("'", '"'), US, "map-unit-conflict", {"stated": "ms"}),
    ],
)
def test_a_unit_beside_a_delay_that_contradicts_another_is_refused(text, unit, code, fields):
    with refused(code, LatencyMapError, source="text", **fields) as caught:
        parse_survey(text, unit=unit, kind=RTT, options=ImportOptions(probed_from="a" if text is PING else None))
    assert caught.value.fields["place"]


@pytest.mark.parametrize("text", [MATRIX.format("rtt_ms"), "from,to,rtt_ms\na,b,3\nb,a,4\n"])
def test_a_caller_overrules_a_heading_and_both_are_named(text):
    # 3 us one way and 4 us back
    imported = parse_survey(text, unit=US, kind=ONE_WAY)
    assert imported.survey.rtt_ms[0, 1] == 0.007
    stated = [(each.code, each.fields["stated"], each.fields["given"]) for each in imported.warnings[:2]]
    assert stated == [("map-unit-overruled", "ms", "us"), ("map-kind-overruled", "rtt", "one-way")]


def test_one_way_delays_are_added_or_doubled():
    # there and back: a - b 3 + 4; a - c 5 and back unknown
    imported = parse_survey(",a,b,c\na,,3,5\nb,4,,\nc,,,\n", unit=MS, kind=ONE_WAY)
    np.testing.assert_array_equal(imported.survey.rtt_ms, [[0, 7, 10], [7, 0, np.nan], [np.nan, np.nan, 0]])
    assert imported.notes == (Problem("import-delays-combined", {"asymmetric_pairs": 1}),)


def test_microseconds_become_milliseconds_to_the_last_bit():
    values = range(1, 1000)
    text = "".join(f"n0,n{value},{value}\n" for value in values)
    round_trips = parse_survey(text, unit=US, kind=RTT).survey.rtt_ms[0, 1:]
    assert round_trips.tolist() == [float(f"{value}e-3") for value in values]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0 5\n5 0\n", MapFormat.MATRIX),
        # symmetric: the first row and column are equal, and yet are no names
        ("0,5,7,8\n5,0,6,9\n7,6,0,3\n8,9,3,0\n", MapFormat.MATRIX),
        ("0 5 7\n5 0 6\n7 6 0\n", MapFormat.MATRIX),
        ("0.000 5 7\n5 - 6\n7 6 0\n", MapFormat.MATRIX),
        ("0.3 5 7\n5 0.2 6\n7 6 0.1\n", MapFormat.MATRIX),  # no node is called 0.3
        ("x y\nx 0 5\ny 5 0\n", MapFormat.MATRIX),  # R
        ("1 2 7\n1 3 6\n2 3 5\n", MapFormat.PAIRS),
        ("1 2 7\n", MapFormat.PAIRS),
        ("# i j rtt\n1 2 7\n", MapFormat.PAIRS),
        (",1,2,3\n1,0,5,7\n2,5,0,6\n3,7,6,0\n", MapFormat.MATRIX),
        ("a,b,5\nb,c,6\na,c,7\n", MapFormat.PAIRS),
        ("a,b,rtt\na,b,5\nb,a,5\n", MapFormat.PAIRS),
        ("rtt,b,a\na,5,0\nb,0,5\n", MapFormat.MATRIX),
        ("from;to;delay\na;b;5\n", MapFormat.PAIRS),
        ("Source,Target,loss,Latency\na,b,0,5\n", MapFormat.PAIRS),
        ("| Source | Target | Latency |\n|---|:---:|---|\n| **a** | b | 5 |\n", MapFormat.PAIRS),
        # the heading of a list of pairs, until the reader sees the next row
        ("rtt_ms,a,b,c\na,0,2,9\nb,2,0,5\nc,9,5,0\n", MapFormat.MATRIX),
        ('Creator "x"\ngraph\n[ node [ id 0 ] node [ id 1 ] edge [ source 0 target 1 delay 5 ] ]', MapFormat.GML),
    ],
)
def test_a_format_is_detected_by_how_a_text_begins(text, expected):
    imported = parse_survey(text, unit=MS, kind=RTT)
    assert imported.map_format is expected
    assert imported.reason


OPTION = "map-option-inapplicable"


@pytest.mark.parametrize(
    ("text", "options", "code", "fields"),
    [
        (PING, ImportOptions(names=("x", "y")), OPTION, {"option": "--names", "format": "ping"}),
        ("a,b,1\n", ImportOptions(delay_column="x"), "map-column-unknown", {"option": "--delay", "name": "x"}),
        (MATRIX.format("rtt_ms"), ImportOptions(unit_column="x"), "map-column-unknown", {"option": "--unit-column"}),
        (
            "a,b,1\n",
            ImportOptions(probed_from="x"),
            OPTION,
            {"option": "--source", "formats": ["fping", "json", "ping"]},
        ),
        ("0 5\n5 0\n", ImportOptions(names=("x",)), "map-names-mismatch", {"nodes": 2, "got": 1}),
        ("0 5\n5 0\n", ImportOptions(names=("x", "x")), "map-node-duplicate", {"name": "x"}),
        ("1 2 7\n", ImportOptions(names=("x", "y")), OPTION, {"option": "--names", "format": "pairs"}),
        (PING, ImportOptions(), "map-source-missing", {"targets": ["b"]}),
    ],
)
def test_options_that_do_not_fit_are_refused(text, options, code, fields):
    with refused(code, LatencyMapError, source="text", **fields):
        parse_survey(text, unit=MS, kind=RTT, options=options)


def test_edges_may_differ_in_unit_and_count_in_milliseconds_then():
    edges = ((3, 0, "0.25 s"), (0, 1, "2 s"), (0, 1, "750 ms"), (1, 4, "500 us"), (4, 4, "1 s"), (0, 1, "1 s"))
    listed = "".join(f'edge [ source {a} target {b} latency "{delay}" ]' for a, b, delay in edges)
    imported = parse_survey(
        f"graph [ multigraph 1 {''.join(f'node [ id {n} ]' for n in range(6))} {listed} ]",
        kind=RTT,
        options=ImportOptions(links=True),
    )
    assert imported.unit is MS
    # of 2 s, 750 ms and 1 s the fastest counts; 4 to 3 goes over 1 and 0: 0.5 ms, 750 ms, 250 ms
    np.testing.assert_allclose(imported.survey.rtt_ms[:5, 3], [250, 1000, NAN, 0, 1000.5])
    assert np.isnan(imported.survey.rtt_ms[5, :5]).all()
    assert Problem("import-loops-skipped", {"count": 1}) in imported.notes


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('# measured in May, by "Bob\n#again\nfrom,to,rtt_ms\n# the last\na,b,3\n', MapFormat.PAIRS),
        ("# measured; in May\nrtt_ms;a;b\na;0;3\n # the last\nb;3;0\n", MapFormat.MATRIX),
        ("# measured in May\n0 3\n3 0\n", MapFormat.MATRIX),
        # The corner of a matrix may be this mark: a cell of its own begins no comment.
        ("#,a,b\na,0,3\nb,3,0\n", MapFormat.MATRIX),
    ],
)
def test_lines_that_begin_with_a_hash_are_comments(text, expected):
    imported = parse_survey(text, unit=MS, kind=RTT)
    assert imported.map_format is expected
    assert imported.survey.rtt_ms[0, 1] == 3


def test_columns_that_are_not_used_are_named():
    imported = parse_survey("from,to,rtt_ms,p99_ms,loss_count,reachability,seq\na,b,5,9,0,0,1\n")
    (note,) = imported.notes
    assert note == Problem("import-columns-unused", {"labels": ["reachability", "seq"]})  # p99 is another statistic


@pytest.mark.parametrize(("label", "noted"), [("duration_ms", True), ("time_ms", True), ("response_time_ms", False)])
def test_an_elapsed_time_is_a_delay_only_with_a_note(label, noted):
    imported = parse_survey(f"from,to,{label}\na,b,5\n", kind=RTT)
    assert [note.code for note in imported.notes] == ["import-key-assumed"] * noted


@pytest.mark.parametrize("label", ["uptime_ms", "clock offset ms"])
def test_another_time_is_no_delay(label):
    with refused("map-column-missing", LatencyMapError):
        parse_survey(f"from,to,{label}\na,b,5\n", kind=RTT)
