"""Tables of delays: any usual heading, order and spelling gives the same map, and what contradicts it is refused."""

from datetime import UTC, datetime
from io import BytesIO

import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refused

from latency_map import DelayKind, DelayUnit, ImportOptions, LatencyMapError, parse_survey, read_survey

NODES = ("edge1", "edge2", "edge3", "edge4")
ENDS = [
    *(("from", "to"), ("source", "target"), ("Source", "Destination"), ("SRC", "DST"), ("src_ip", "dst_ip")),
    *(("client", "server"), ("node1", "node2"), ("City1", "City2"), ("sending_region", "receiving_region")),
    *(("probe", "target"), ("sourceNode", "targetNode"), ("origin", "dest"), ("local host", "remote host")),
    *(("host_a", "host_b"), ("a", "b"), ("i", "j"), ("u", "v"), ("exported_source", "exported_target")),
]
DELAYS = ["rtt", "RTT", "latency", "avg", "avg_rtt", "Median latency", "p50", "mean", "ping time", "delay"]
#: Columns that have no bearing on a delay, with a value.
OTHERS = {"seq": "7", "ttl": "64", "max_rtt_ms": "9", "stddev": "1", "p99": "8", "bandwidth": "5", "elapsed_s": "12.5"}
#: Columns that say whether a probe was lost: the label, a value for a reply and one for a lost probe.
LOSSES = [
    *(("loss_pct", "0", "100"), ("Packet loss (%)", "25", "100"), ("packet loss", "0%", "100%")),
    *(("loss", "0", "1"), ("loss_ratio", "0.5", "1.0"), ("success_rate", "1", "0"), ("received", "3", "0")),
    *(("lost", "false", "true"), ("Lost", "no", "yes"), ("status", "ok", "timeout"), ("Status", "Success", "Failed")),
    *(("state", "up", "down"), ("alive", "1", "0"), ("reachable", "True", "False"), ("success", "yes", "no")),
    *(("error", "", "i/o timeout"), ("timeout", "0", "1")),
    *(("result", "reply", "Destination host unreachable"), ("outcome", "ok", "lost"), ("failed", "false", "true")),
    *(("is_lost", "0", "1"), ("failure rate", "0.2", "1"), ("link_state", "up", "down"), ("drop_pct", "9", "100")),
    *(("reply", "Y", "N"), ("Verlust", "none", "100"), ("err", "", "EHOSTUNREACH"), ("sent", "5", "0")),
]
#: What stands for the delay of a lost probe.
PLACEHOLDERS = ["", "0", "0.00", "-1", "9999", "lost", "timeout", "Request timed out", "*", "nan", "inf"]
IN_MS = {DelayUnit.NS: 1e-6, DelayUnit.US: 1e-3, DelayUnit.MS: 1.0, DelayUnit.S: 1e3}


@st.composite
def tables(draw, *columns):
    """Labels in any order, rows of all pairs of nodes in any order, and their delays."""
    source, target = draw(st.sampled_from(ENDS))
    others = draw(st.lists(st.sampled_from(sorted(OTHERS)), unique=True, max_size=3))
    pairs = draw(st.permutations([(a, b) for a in NODES for b in NODES if a != b]))
    rows = [{source: a, target: b} | {label: OTHERS[label] for label in others} for a, b in pairs]
    delays = {pair: draw(st.integers(1, 90_000)) / 10 for pair in pairs}
    return draw(st.permutations([source, target, *columns, *others])), rows, delays


def written(labels, rows, delimiter=","):
    lines = [labels, *([row[label] for label in labels] for row in rows)]
    return "".join(delimiter.join(map(str, line)) + "\n" for line in lines)


def read(text, unit=DelayUnit.MS, **options):
    return parse_survey(text, unit=unit, kind=DelayKind.RTT, options=ImportOptions(**options))


def delays_of(survey):
    cells = {(a, b): survey.rtt_ms[x, y] for x, a in enumerate(survey.names) for y, b in enumerate(survey.names)}
    return {pair: delay for pair, delay in cells.items() if pair[0] != pair[1] and delay == delay}  # noqa: PLR0124 NaN


@given(st.data(), st.sampled_from(DELAYS), st.sampled_from(",;\t"), st.sampled_from(["utf-8", "utf-8-sig", "utf-16"]))
def test_a_table_with_any_usual_heading_is_read_as_it_stands(data, label, delimiter, encoding):
    labels, rows, delays = data.draw(tables(label))
    for row, delay in zip(rows, delays.values(), strict=True):
        row[label] = delay
    content = BytesIO(written(labels, rows, delimiter).encode(encoding))
    survey = read_survey(content, unit=DelayUnit.MS, kind=DelayKind.RTT).survey
    assert delays_of(survey) == delays  # measured completely, so no detour replaces a delay


@given(st.data(), st.sampled_from(LOSSES), st.sampled_from(PLACEHOLDERS))
def test_a_lost_probe_never_gives_a_delay(data, loss, placeholder):
    label, reply, lost = loss
    labels, rows, delays = data.draw(tables("rtt_ms", label))
    gone = data.draw(st.sets(st.sampled_from(list(delays)), max_size=len(delays) - 1))
    for row, pair in zip(rows, delays, strict=True):
        row.update({"rtt_ms": placeholder, label: lost} if pair in gone else {"rtt_ms": delays[pair], label: reply})
    imported = read(written(labels, rows))
    assert delays_of(imported.survey) == {pair: delay for pair, delay in delays.items() if pair not in gone}
    counts = [note.fields["count"] for note in imported.notes if note.code == "import-rows-lost"]
    assert counts == ([len(gone)] if gone else [])


@given(st.data(), st.sampled_from([label for label, _, _ in LOSSES if label not in ("err", "error", "Lost", "lost")]))
def test_a_state_that_is_not_understood_is_refused(data, label):
    labels, rows, _ = data.draw(tables("rtt_ms", label))
    for row in rows:
        row |= {"rtt_ms": 5, label: "perhaps"}
    with pytest.raises(LatencyMapError) as caught:
        read(written(labels, rows))
    assert caught.value.code in ("map-status-unknown", "map-loss-invalid")


@given(st.data(), st.sampled_from(["exit_code", "http_status", "metric", "Direction", "quantile", "loss reason"]))
def test_a_column_that_could_contradict_a_delay_is_refused_by_name(data, label):
    labels, rows, delays = data.draw(tables("rtt_ms", label))
    for row, delay in zip(rows, delays.values(), strict=True):
        row |= {"rtt_ms": delay, label: "1"}
    with refused("map-column-doubtful", LatencyMapError, found=[label]):
        read(written(labels, rows))


@given(st.data(), st.sampled_from(["unit", "Units", "latency_unit", ""]), st.data())
def test_units_by_row_equal_the_converted_table(data, label, more):
    labels, rows, delays = data.draw(tables("latency", *([label] if label else [])))
    for row, delay in zip(rows, delays.values(), strict=True):
        unit = more.draw(st.sampled_from(DelayUnit))
        figure = f"{delay / IN_MS[unit]:.12g}"
        row |= {"latency": figure if label else f"{figure} {unit}", label: unit}
    found = delays_of(read(written(labels, rows), unit=None).survey)
    assert found == pytest.approx(delays)
    rows[0] |= {"latency": 5 if label else "5 us", label: "us"}
    with refused("map-unit-conflict", stated="us", given="ns"):
        read(written(labels, rows[:1]), unit=DelayUnit.NS)


@given(st.data(), st.sampled_from(DELAYS), st.sampled_from(["latency_ms", "owd", "rtt_us", "average", "median"]))
def test_two_columns_that_fit_are_refused_until_one_is_named(data, label, second):
    labels, rows, delays = data.draw(tables(label, second))
    for row, delay in zip(rows, delays.values(), strict=True):
        row |= {label: delay, second: 0}
    text = written(labels, rows)
    with refused("map-columns-ambiguous", LatencyMapError, option="--delay", wanted="a delay"):
        read(text)
    assert delays_of(read(text, delay_column=label).survey) == delays
    source, target = (next(each for each in labels if rows[0][each] == node) for node in next(iter(delays)))
    ends = ["from", "to"] if source != "from" else ["source", "target"]  # times of a window, say
    text = written([*ends, *labels], [row | dict.fromkeys(ends, "2026-05-01") for row in rows])
    with refused("map-columns-ambiguous", LatencyMapError, wanted="ends of a pair"):
        read(text, delay_column=label)
    again = read(text, delay_column=label, from_column=source, to_column=target)
    assert delays_of(again.survey) == delays


@given(
    st.data(), st.sampled_from(["min_ms", "max_rtt_ms", "p95", "jitter_ms", "stddev", "best", "distance_km", "cost"])
)
def test_another_statistic_is_no_delay(data, label):
    source, target = data.draw(st.sampled_from(ENDS))
    text = written([source, target, label, "seq"], [{source: "x", target: "y", label: 5, "seq": 1}])
    with pytest.raises(LatencyMapError) as caught:
        read(text)
    assert (caught.value.code, caught.value.fields["option"]) in [
        ("map-columns-ambiguous", "--delay"),
        ("map-column-missing", "--delay"),
    ]
    assert delays_of(read(text, delay_column=label).survey) == {("x", "y"): 5}


@given(st.sampled_from(["0", "9999", "65535"]), st.permutations(["5", "6", "7"]), st.booleans())
def test_what_a_median_hides_is_warned_of(figure, others, between):
    rows = [*others, figure] if between else [figure, *others]
    imported = read("from,to,rtt_ms\n" + "".join(f"a,b,{each}\n" for each in rows))
    # of 0, 5, 6, 7 and of 5, 6, 7, 9999
    assert delays_of(imported.survey) == {("a", "b"): 5.5 if figure == "0" else 6.5}
    warned = [each.code for each in imported.warnings]
    assert ("map-zero-delays" if figure == "0" else "map-delays-as-lost") in warned


def test_pairs_are_links_only_if_the_caller_says_so():
    text = "from,to,rtt_ms\na,b,5\nc,b,6\na,c,50\n"
    assert delays_of(read(text).survey) == {("a", "b"): 5, ("c", "b"): 6, ("a", "c"): 50}
    imported = read(text, links=True)
    assert imported.survey.rtt_ms.tolist() == [[0, 5, 11], [5, 0, 6], [11, 6, 0]]  # a to c by b
    warned = [each.fields for each in imported.warnings if each.code == "import-paths-computed"]
    assert warned == [{"links": 3, "replaced": 1}]


TIMES = [
    str,
    lambda at_s: str(at_s * 1000),
    lambda at_s: datetime.fromtimestamp(at_s, UTC).isoformat(),
    lambda at_s: f"{datetime.fromtimestamp(at_s, UTC):%Y-%m-%d %H:%M:%S} UTC",
    lambda at_s: f"{datetime.fromtimestamp(at_s, UTC):%Y-%m-%dT%H:%M:%SZ}",
]


@given(st.data(), st.sampled_from(["timestamp", "time", "measured_at", "Date", "ts", "created_at"]))
def test_the_age_is_that_of_the_oldest_delay_and_repeated_rows_give_their_median(data, label):
    labels, rows, delays = data.draw(tables("rtt_ms", label))
    times_s = [data.draw(st.integers(1_000_000_000, 2_000_000_000)) for _ in rows]
    for row, at_s, delay in zip(rows, times_s, delays.values(), strict=True):
        row |= {label: data.draw(st.sampled_from(TIMES))(at_s), "rtt_ms": delay}
    lost = [row | {label: "1999-01-01", "rtt_ms": ""} for row in rows[:3]]
    again = [row | {"rtt_ms": 0.05} for row in rows] + [row | {"rtt_ms": 9000.5} for row in rows]
    imported = read(written(labels, data.draw(st.permutations([*rows, *lost, *again]))))
    assert imported.survey.measured_at_s == min(times_s)
    assert delays_of(imported.survey) == delays  # of 0.05, the delay and 9000.5
    unread = read(written(labels, [row | {label: "9/30/2026 10:00"} for row in rows]))
    assert unread.survey.measured_at_s is None
    counts = [note.fields["count"] for note in unread.notes if note.fields.get("label") == label.lower()]
    assert counts == [len(rows)]


@given(st.data(), st.sampled_from(";\t"))
def test_decimal_commas_are_read_where_the_delimiter_leaves_no_doubt(data, delimiter):
    labels, rows, delays = data.draw(tables("rtt_ms"))
    for row, delay in zip(rows, delays.values(), strict=True):
        row["rtt_ms"] = str(delay).replace(".", ",")
    assert delays_of(read(written(labels, rows, delimiter)).survey) == delays
    for change in ({"rtt_ms": "7.5"}, {"rtt_ms": "1.234,5"}):
        with pytest.raises(LatencyMapError):
            read(written(labels, [*rows, rows[0] | change], delimiter))
    with refused("map-decimals-doubtful"):
        read(written(labels, [row | {"rtt_ms": "1,234"} for row in rows], delimiter))


@given(st.lists(st.integers(1, 999), min_size=12, max_size=12), st.permutations(range(4)))
def test_a_matrix_is_the_same_in_every_form(tenths, order):
    cells = iter(tenths)
    table = [["" if a == b else next(cells) / 10 for b in NODES] for a in NODES]
    forms = {
        "names": [["rtt_ms", *NODES], *([a, *row] for a, row in zip(NODES, table, strict=True))],
        "rows in another order": [["", *NODES], *([NODES[at], *table[at]] for at in order)],
        "no corner": [list(NODES), *([a, *row] for a, row in zip(NODES, table, strict=True))],
    }
    delays = delays_of(
        read(
            written(forms["names"][0], [dict(zip(forms["names"][0], x, strict=True)) for x in forms["names"][1:]])
        ).survey
    )
    assert delays == {(a, b): table[x][y] for x, a in enumerate(NODES) for y, b in enumerate(NODES) if a != b}
    for name, lines in forms.items():
        for delimiter in ",;\t":
            text = "".join(delimiter.join(map(str, line)) + "\n" for line in lines)
            assert delays_of(read(text).survey) == delays, name
        head, *body = ["| " + " | ".join(map(str, line)) + " |\n" for line in lines]
        rule = "|" + "---|" * len(lines[0]) + "\n"
        if name != "no corner":
            assert delays_of(read(head + rule + "".join(body)).survey) == delays, name
