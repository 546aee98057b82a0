import unicodedata

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from gesscale.common.errors import Problem
from latency_map import DelayUnit, Survey, parse_survey
from latency_map.plausibility import find_implausible

NS, US, MS, S = DelayUnit
GAPS = [np.nan, np.nan]


def survey(rtt_ms):
    matrix = np.array(rtt_ms, dtype=float)
    np.fill_diagonal(matrix, 0.0)
    return Survey(names=tuple(f"n{index}" for index in range(len(matrix))), rtt_ms=matrix)


def spread_out(count, low_ms, high_ms):
    """Round trips of a whole network: logarithmically even from low to high."""
    rng = np.random.default_rng(1)
    return survey(np.exp(rng.uniform(np.log(low_ms), np.log(high_ms), (count, count))))


@pytest.mark.parametrize(
    ("round_trips", "unit", "code", "fields"),
    [
        # Seattle's 0.01 to 9 s read as ms
        (spread_out(99, 0.01, 9), MS, "map-delays-unequal", {"nodes": 99, "likely_unit": "s"}),
        # PlanetLab's ms read as s
        (spread_out(50, 1_000, 3_000_000), S, "map-delays-long", {"likely_unit": "ms"}),
        (spread_out(50, 10_000, 300_000), MS, "map-delays-long", {"likely_unit": "us"}),
        (spread_out(50, 10_000, 300_000), US, "map-delays-implausible", {"unit": "us"}),
        # milliseconds read as microseconds
        (spread_out(5, 0.0005, 0.009), US, "map-delays-short", {"likely_unit": "ms"}),
        (survey(np.full((4, 4), 20.0)), MS, "map-delays-equal", {"count": 12, "rtt_ms": 20.0}),
        # of 6 pairs, 4 known in no direction
        (
            survey([[0, 5, *GAPS], [*GAPS, *GAPS], [*GAPS, 0, 7], [*GAPS, *GAPS]]),
            MS,
            "map-mostly-missing",
            {"missing": 4, "pairs": 6},
        ),
    ],
)
def test_implausible_delays_are_warned_of(round_trips, unit, code, fields):
    (warning,) = find_implausible(round_trips, unit=unit)
    assert (warning.code, {**warning.fields, **fields}) == (code, warning.fields)
    assert str(warning)


@pytest.mark.parametrize(
    "round_trips",
    [
        spread_out(40, 1, 400),  # a continent and beyond
        spread_out(40, 0.15, 0.6),  # a room
        spread_out(10, 0.05, 9),  # few nodes: a room and a house
        survey([[0, 20], [20, 0]]),  # one pair
        survey([[0]]),
        survey([[0, np.nan, 3], [2, 0, 4], [np.nan, np.nan, 0]]),  # every pair known in some direction
        survey([[0, 10, 500], [10, 0, 20], [500, 20, 0]]),  # one satellite, written by hand
        survey([[0, 99, 1], [99, 0, 2], [1, 2, 0]]),
    ],
)
def test_plausible_delays_are_not_warned_of(round_trips):
    assert find_implausible(round_trips, unit=MS) == ()


def test_nothing_known_is_only_missing():
    warnings = find_implausible(survey(np.full((3, 3), np.nan)), unit=MS)
    assert warnings == (Problem("map-mostly-missing", {"missing": 3, "pairs": 3}),)


NODES = 5
PAIRS = [(a, b) for a in range(NODES) for b in range(a + 1, NODES)]
some_pairs = st.sets(st.sampled_from(PAIRS), min_size=2, max_size=4)
both_ways = st.booleans()


def ordinary(both=True):
    """Round trips of 3 to 90 ms, all different; one way only unless both."""
    rtt_ms = np.full((NODES, NODES), np.nan)
    np.fill_diagonal(rtt_ms, 0.0)
    for number, (a, b) in enumerate(PAIRS):
        rtt_ms[a, b] = 3.1 + 9.3 * number
        if both:
            rtt_ms[b, a] = rtt_ms[a, b] + 0.2
    return rtt_ms


def surveyed(rtt_ms, names=None):
    return Survey(names=names or tuple(f"n{row}" for row in range(len(rtt_ms))), rtt_ms=rtt_ms)


def put(rtt_ms, pairs, figure_ms, both):
    for a, b in pairs:
        rtt_ms[a, b] = figure_ms
        if both:
            rtt_ms[b, a] = figure_ms
    return surveyed(rtt_ms)


def named(warning):
    """The pairs that a warning names: at most three of them."""
    assert len(warning.fields["pairs"]) == min(3, warning.fields["count"])
    return {tuple(int(name[1:]) for name in pair.split(" - ")) for pair in warning.fields["pairs"]}


@given(some_pairs, both_ways, both_ways)
def test_zeros_between_nodes_are_counted_by_pair(pairs, both, written_twice):
    (warning,) = find_implausible(put(ordinary(both), pairs, 0.0, written_twice), unit=MS)
    assert (warning.code, warning.fields["count"]) == ("map-zero-delays", len(pairs))
    assert named(warning) <= pairs


#: Figures for a lost probe: those of 9 in any unit, limits of integers, and timeouts of half and whole seconds in ms.
IN_UNIT = [999, 9999, 99999, 999.99, 65535]
TIMEOUTS_MS = [1000, 1500, 2000, 4000, 5000, 10000, 60000]


@given(some_pairs, both_ways, st.sampled_from(IN_UNIT), st.sampled_from([MS, S]), st.sampled_from([1, 2]))
def test_figures_of_lost_probes_are_named_in_any_unit_and_direction(pairs, both, figure, unit, trips):
    rtt_ms = figure * trips * (1000 if unit is S else 1)
    warnings = find_implausible(put(ordinary(both), pairs, rtt_ms, both), unit=unit)
    (lost,) = (each for each in warnings if each.code == "map-delays-as-lost")
    assert (lost.fields["count"], lost.fields["delays_ms"]) == (len(pairs), [rtt_ms])
    assert named(lost) <= pairs


@pytest.mark.parametrize("limit", [2**31 - 1, 2**32 - 1])
def test_limits_of_32_bits_are_named(limit):
    imported = parse_survey(f"from,to,rtt_ns\na,b,{limit}\nb,c,700000\na,c,910000\n")
    assert [(each.code, each.fields["pairs"]) for each in imported.warnings] == [("map-delays-as-lost", ["a - b"])]


@given(some_pairs, both_ways, st.sampled_from(TIMEOUTS_MS), st.sampled_from(list(DelayUnit)))
def test_repeated_timeouts_are_named(pairs, both, timeout_ms, unit):
    warnings = find_implausible(put(ordinary(both), pairs, timeout_ms, both), unit=unit)
    # the unit is not doubted because of them
    assert [each.code for each in warnings if each.code != "map-delays-short"] == ["map-delays-as-lost"]


@pytest.mark.parametrize(("figure", "code"), [(0, "map-zero-delays"), (9999, "map-delays-as-lost")])
def test_a_figure_in_one_direction_is_named_before_both_are_added(figure, code):
    imported = parse_survey(f"one_way_ms,a,b,c\na,0,{figure},7.5\nb,12.5,0,8.1\nc,7.6,8.2,0\n")
    (doubt,) = imported.warnings
    assert (doubt.code, doubt.fields["count"], doubt.fields["pairs"]) == (code, 1, ["a - b"])
    assert imported.survey.rtt_ms[0, 1] == figure + 12.5


@pytest.mark.parametrize(
    ("figures_ms", "count"),
    [
        ([120.4, 80.3, 999], 1),  # 8 times the next, but no network takes 999 ms by chance
        ([12.5, 20.25, 5000], 1),
        ([12, 20, 4294967.295], 1),  # the largest integer of 32 bits in us
        ([120.4, 80.3, 1000, 1000, 60.2, 60.3], 2),
        ([120.4, 80.3, 1000], 0),  # once, and 8 times the next
        ([120, 80, 1000, 1000, 60, 61], 0),  # written by hand
        ([12, 20, 1000, 1000, 15, 16], 2),
        ([400.5, 1001.5, 999], 0),
        ([400.5, 380.5, 999], 0),  # less than three times the next
        ([9999, 9999, 9999], 0),  # there is nothing to compare with: all are equal
    ],
)
def test_what_stands_for_a_lost_probe(figures_ms, count):
    nodes = 3 if len(figures_ms) == 3 else 4
    rtt_ms = np.full((nodes, nodes), np.nan)
    rtt_ms[np.triu_indices(nodes, 1)] = figures_ms
    lost = [each.fields["count"] for each in find_implausible(survey(rtt_ms), unit=MS) if "lost" in each.code]
    assert lost == [count] * (count > 0)


def test_several_figures_of_lost_probes_are_named_together():
    # B05: 9999 ms for three pairs, 5000 ms for one, 10.1 and 25 ms for the others
    rtt_ms = np.full((4, 4), np.nan)
    rtt_ms[np.triu_indices(4, 1)] = [10.1, 9999, 5000, 25, 9999, 9999]
    warnings = find_implausible(survey(rtt_ms), unit=MS)
    (warning,) = warnings
    assert (warning.code, warning.fields["count"]) == ("map-delays-as-lost", 4)
    assert warning.fields["delays_ms"] == [9999, 5000]


@given(st.lists(st.floats(0.3, 900), min_size=len(PAIRS), max_size=len(PAIRS), unique=True))
def test_measured_round_trips_cause_no_warning_of_zeros_and_lost_probes(figures_ms):
    assume(not any(figure % 1 == 0 for figure in figures_ms))
    rtt_ms = ordinary()
    for (a, b), figure in zip(PAIRS, figures_ms, strict=True):
        rtt_ms[a, b] = rtt_ms[b, a] = figure
    assert find_implausible(surveyed(rtt_ms), unit=MS) == ()


def test_a_node_without_any_delay_and_delays_to_itself_are_named():
    rtt_ms = ordinary()
    rtt_ms[2, :] = rtt_ms[:, 2] = np.nan
    (unreached,) = find_implausible(surveyed(rtt_ms), unit=MS)
    assert unreached == Problem("map-nodes-unreached", {"count": 1, "nodes": ["n2"]})
    rtt_ms = ordinary()
    rtt_ms[3, 3], rtt_ms[1, 1] = 0.04, 0.01
    (to_itself,) = find_implausible(surveyed(rtt_ms), unit=MS)
    assert to_itself == Problem("map-self-delays", {"count": 2, "node": "n3", "rtt_ms": 0.04})


SPELLINGS = {
    "decomposed": lambda name: unicodedata.normalize("NFD", name),
    "upper case": str.upper,
    "dot at the end": "{}.".format,
    "en dash": lambda name: name.replace("-", "\u2013"),
    "non-breaking hyphen": lambda name: name.replace("-", "\u2011"),
    "two blanks": lambda name: name.replace(" ", "  "),
    "full width": lambda name: name.replace("1", "\uff11"),
}


@pytest.mark.parametrize("respell", SPELLINGS.values(), ids=SPELLINGS)
@given(st.permutations(range(NODES)))
def test_two_spellings_of_a_name_are_named(respell, order):
    name = "s\u00e3o-paulo rack 1"
    names = [name, respell(name), "rio", "s\u00e3o-paulo rack 2", "sao-paulo rack 1"]
    (warning,) = find_implausible(surveyed(ordinary(), tuple(names[place] for place in order)), unit=MS)
    assert (warning.code, warning.fields["count"]) == ("map-names-alike", 1)
    assert {warning.fields["first"], warning.fields["second"]} == {name, respell(name)}


def test_leading_zeros_make_two_spellings_of_a_number():
    (warning,) = find_implausible(surveyed(ordinary(), ("01", "10", "1", "0", "100")), unit=MS)
    assert (warning.code, warning.fields["first"], warning.fields["second"]) == ("map-names-alike", "01", "1")
