"""What delays mean is stated by the file or the caller, and never guessed."""

import numpy as np
import pytest

from latency_map import DelayKind, DelayUnit, LatencyMapError, MapFormat, SideFiles, parse_survey

RTT, ONE_WAY = DelayKind.RTT, DelayKind.ONE_WAY
US, MS, S = DelayUnit.US, DelayUnit.MS, DelayUnit.S
NAN = float("nan")

MATRIX = "{},a,b\na,0,3\nb,4,0\n"
GML = "graph [ node [ id 0 ] node [ id 1 ] edge [ source 0 target 1 {} ] ]"
PING = "PING b (10.0.0.2): 56 data bytes\n64 bytes from 10.0.0.2: seq=0 ttl=64 time=3.5 ms\n"


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


@pytest.mark.parametrize(
    ("corner", "lacking"),
    [
        ("", "unit and kind"),
        ("region", "unit and kind"),
        ("us", "unit and kind"),  # the United States as well as microseconds
        ("s", "unit and kind"),
        ("latency ms us", "unit and kind"),  # contradicts itself
        ("latency (ms)", "kind"),
        ("rtt", "unit"),
        ("median latency by hop ms", "unit and kind"),  # a word that may turn its meaning
    ],
)
def test_what_a_heading_does_not_state_is_asked_for_in_one_message(corner, lacking):
    with pytest.raises(LatencyMapError, match=f"^map.csv: expected {lacking} of its delays") as caught:
        parse_survey(MATRIX.format(corner), source="map.csv")
    said = str(caught.value)
    assert ("unit (us, ms or s)" in said, "kind (rtt or one-way)" in said) == ("unit" in lacking, "kind" in lacking)


@pytest.mark.parametrize(
    ("text", "unit", "kind", "message"),
    [
        (MATRIX.format("rtt_ms"), S, None, "line 1, column 1: the heading says 'rtt_ms': expected 'ms' for unit"),
        (MATRIX.format("rtt"), S, ONE_WAY, "line 1, column 1: .* expected 'rtt' for kind, got 'one-way'"),
        ("from,to,rtt_ms\na,b,1\n", None, ONE_WAY, "line 1, column 3: .*: expected 'rtt' for kind"),
        (PING, S, None, "ping writes round trips in milliseconds: expected 'ms' for unit, got 's'"),
        (GML.format("latency '5 ms'").replace("'", '"'), US, RTT, "delays with their unit, .* expected 'ms'"),
        (GML.format("rtt_us 5"), MS, RTT, "the key 'rtt_us' says so: expected 'us'"),
        ('{"responses": {"p": {"OK": true}, "q": {"OK": true}}}', None, ONE_WAY, "Goldpinger .* expected 'rtt'"),
    ],
)
def test_a_caller_who_contradicts_the_file_is_refused(text, unit, kind, message):
    with pytest.raises(LatencyMapError, match=f"^text, {message}"):
        parse_survey(text, unit=unit, kind=kind, side_files=SideFiles(probed_from="a") if text is PING else SideFiles())


def test_one_way_delays_are_added_where_both_are_known_and_doubled_where_one_is():
    # there and back: a - b 3 + 4; a - c 5 and back unknown
    imported = parse_survey(",a,b,c\na,,3,5\nb,4,,\nc,,,\n", unit=MS, kind=ONE_WAY)
    np.testing.assert_array_equal(imported.survey.rtt_ms, [[0, 7, 10], [7, 0, np.nan], [np.nan, np.nan, 0]])
    assert imported.notes[-1].endswith("pairs that differ by direction: 1")


def test_microseconds_become_milliseconds_to_the_last_bit():
    values = range(1, 1000)
    text = "".join(f"n0,n{value},{value}\n" for value in values)
    round_trips = parse_survey(text, unit=US, kind=RTT).survey.rtt_ms[0, 1:]
    assert round_trips.tolist() == [float(f"{value}e-3") for value in values]


@pytest.mark.parametrize(
    ("text", "form", "reason"),
    [
        ("0 5\n5 0\n", MapFormat.BARE_MATRIX, "numbers only"),
        ("0\t5\t7\t\n5\t0\t6\t\n7\t6\t0\t\n", MapFormat.BARE_MATRIX, "numbers only"),  # a tab ends every line
        # symmetric: the first row and column are alike, and yet hold no names
        ("0,5,7,8\n5,0,6,9\n7,6,0,3\n8,9,3,0\n", MapFormat.BARE_MATRIX, "numbers only"),
        ("0 5 7\n5 0 6\n7 6 0\n", MapFormat.BARE_MATRIX, "none of a node to itself"),
        ("0.000 5 7\n5 - 6\n7 6 0\n", MapFormat.BARE_MATRIX, "none of a node to itself"),
        ("1 2 7\n1 3 6\n2 3 5\n", MapFormat.EDGES, "three numbers each"),
        ("1 2 7\n", MapFormat.EDGES, "three numbers each"),
        ("# i j rtt\n1 2 7\n", MapFormat.EDGES, "three numbers each"),
        (",1,2,3\n1,0,5,7\n2,5,0,6\n3,7,6,0\n", MapFormat.MATRIX, "the same numbers"),
        ("from;to;delay\na;b;5\n", MapFormat.EDGES, "heading begins with from,to"),
        ("Source,Target,loss,Latency\na,b,0,5\n", MapFormat.PINGS, "Source, Target and a delay among 4 columns"),
        # a heading of a list of pings until the reader looks below
        ("rtt_ms,a,b,c\na,0,2,9\nb,2,0,5\nc,9,5,0\n", MapFormat.MATRIX, "the same names"),
        ("Creator \"x\"\ngraph\n[ node [ id 0 ] node [ id 1 ] edge [ source 0 target 1 delay 5 ] ]",
         MapFormat.GML, "square brackets"),
    ],
)  # fmt: skip
def test_a_form_is_told_from_how_a_text_begins(text, form, reason):
    imported = parse_survey(text, unit=MS, kind=RTT)
    assert imported.map_format is form
    assert reason in imported.reason


@pytest.mark.parametrize(
    ("text", "side_files", "message"),
    [
        (MATRIX.format("rtt_ms"), SideFiles(names=("x", "y")),
         "no --names with a file of the form matrix; it is for bare"),
        ("a,b,1\n", SideFiles(probed_from="x"), "no --source with a file of the form edges; it is for fping, ping"),
        ("0 5\n5 0\n", SideFiles(names=("x",)), "a name for each of its 2 nodes, got 1"),
        ("0 5\n5 0\n", SideFiles(names=("x", "x")), "every node once, got 'x' twice"),
        ("1 2 7\n", SideFiles(names=("x",)), "nodes by number from 1 to 1"),
        ("a b 7\n", SideFiles(names=("x", "y")), "nodes by number from 1 to 2"),
        (PING, SideFiles(), "the name of the node that pinged 'b'; say it to import with --source"),
    ],
)  # fmt: skip
def test_what_does_not_belong_to_a_file_is_refused(text, side_files, message):
    with pytest.raises(LatencyMapError, match=f"^text: expected {message}"):
        parse_survey(text, unit=MS, kind=RTT, side_files=side_files)


def test_edges_may_differ_in_unit_and_count_in_milliseconds_then():
    edges = ((3, 0, "0.25 s"), (0, 1, "2 s"), (0, 1, "750 ms"), (1, 4, "500 us"), (4, 4, "1 s"), (0, 1, "1 s"))
    listed = "".join(f'edge [ source {a} target {b} latency "{delay}" ]' for a, b, delay in edges)
    imported = parse_survey(
        f"graph [ multigraph 1 {''.join(f'node [ id {n} ]' for n in range(6))} {listed} ]", kind=RTT
    )
    assert imported.unit is MS
    # of 2 s, 750 ms and 1 s the fastest counts; 4 to 3 goes over 1 and 0: 0.5 ms, 750 ms, 250 ms
    np.testing.assert_allclose(imported.survey.rtt_ms[:5, 3], [250, 1000, NAN, 0, 1000.5])
    assert np.isnan(imported.survey.rtt_ms[5, :5]).all()
    assert "links from a node to itself, left out: 1" in imported.notes


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ('# measured in May, by "Bob\n#again\nfrom,to,rtt_ms\n# the last\na,b,3\n', MapFormat.EDGES),
        ("# measured; in May\nrtt_ms;a;b\na;0;3\n # the last\nb;3;0\n", MapFormat.MATRIX),
        ("# measured in May\n0 3\n3 0\n", MapFormat.BARE_MATRIX),
        # The corner of a matrix may be this mark: a cell of its own begins no comment.
        ("#,a,b\na,0,3\nb,3,0\n", MapFormat.MATRIX),
    ],
)
def test_lines_that_begin_with_a_hash_are_comments(text, form):
    imported = parse_survey(text, unit=MS, kind=RTT)
    assert imported.map_format is form
    assert imported.survey.rtt_ms[0, 1] == 3
