import math
from functools import partial

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st
from thoroughness import examples

from latency_map import (
    Asymmetry,
    DelayKind,
    DelayUnit,
    LatencyMap,
    LatencyMapError,
    Method,
    NoChoiceError,
    farthest,
    least_nd_max_subset,
    nearest,
    parse_map,
    read_map,
    write_csv,
)

greedy_nd_max_subset = partial(least_nd_max_subset, method=Method.GREEDY, max_steps=0)

node_names = st.text(min_size=1, max_size=6).filter(lambda text: text == text.strip() and text.isprintable())
round_trips = st.one_of(st.integers(0, 4).map(float), st.floats(0, 1e9), st.just(math.nan))


@st.composite
def latency_maps(draw, *, min_size=1, max_size=8, delays=round_trips):
    names = draw(st.lists(node_names, min_size=min_size, max_size=max_size, unique=True))
    count = len(names)
    upper = draw(st.lists(delays, min_size=count * (count - 1) // 2, max_size=count * (count - 1) // 2))
    matrix = np.zeros((count, count))
    matrix[np.triu_indices(count, 1)] = upper
    return LatencyMap(names=tuple(names), rtt_ms=matrix + matrix.T)


complete_maps = latency_maps(min_size=3, delays=st.one_of(st.integers(0, 4).map(float), st.floats(0, 1e9)))


def chosen(latencies, size, **options):
    try:
        choice = least_nd_max_subset(latencies, size, **options)
    except NoChoiceError:
        return None
    return choice


@given(latency_maps(min_size=3), st.data())
def test_the_order_of_the_nodes_changes_nothing(latencies, data):
    shuffled = latencies.subset(data.draw(st.permutations(latencies.names)))
    members, others = latencies.names[:2], latencies.names[2:]
    assert nearest(shuffled, members, others) == nearest(latencies, members, others)
    assert farthest(shuffled, others, others) == farthest(latencies, others, others)
    assert chosen(shuffled, 2, keep=members[:1]) == chosen(latencies, 2, keep=members[:1])
    assert chosen(shuffled, 3) == chosen(latencies, 3)


@given(complete_maps, st.data())
def test_renaming_the_nodes_renames_the_results_and_nothing_else(latencies, data):
    new_names = data.draw(st.permutations([f"n{index}" for index in range(len(latencies))]))
    renamed = LatencyMap(names=tuple(new_names), rtt_ms=latencies.rtt_ms)
    new_name = dict(zip(latencies.names, new_names, strict=True))
    members, others = latencies.names[:2], latencies.names[2:]

    def keys(ranking):
        return [(item.distance_ms, item.mean_ms) for item in ranking.ranked]

    before = nearest(latencies, members, others)
    after = nearest(renamed, [new_name[node] for node in members], [new_name[node] for node in others])
    assert keys(before) == keys(after)
    measured = {item.node: (item.distance_ms, item.mean_ms) for item in after.ranked}
    assert all(measured[new_name[item.node]] == (item.distance_ms, item.mean_ms) for item in before.ranked)
    best, best_renamed = least_nd_max_subset(latencies, 3), least_nd_max_subset(renamed, 3)
    assert best.nd_max_ms == best_renamed.nd_max_ms
    assert renamed.nd_max_ms(new_name[node] for node in best.nodes) == best.nd_max_ms


@given(complete_maps)
def test_adding_a_node_never_lowers_nd_max(latencies):
    grown = [latencies.nd_max_ms(latencies.names[:count]) for count in range(len(latencies) + 1)]
    assert grown == sorted(grown)


@given(complete_maps)
def test_the_first_of_the_nearest_gives_the_least_nd_max_of_one_addition(latencies):
    members, others = latencies.names[:2], latencies.names[2:]
    first = nearest(latencies, members, others).ranked[0].node
    least = min(latencies.nd_max_ms([*members, node]) for node in others)
    assert latencies.nd_max_ms([*members, first]) == least


@given(complete_maps, st.data())
def test_exact_is_at_most_greedy_and_within_its_gap(latencies, data):
    size = data.draw(st.integers(1, len(latencies)))
    keep = latencies.names[: data.draw(st.integers(0, size))]
    exact = least_nd_max_subset(latencies, size, keep=keep)
    greedy = greedy_nd_max_subset(latencies, size, keep=keep)
    assert exact.optimal
    assert 0 <= greedy.nd_max_ms - exact.nd_max_ms <= greedy.gap_ms
    assert set(keep) <= set(exact.nodes)
    assert latencies.nd_max_ms(exact.nodes) == exact.nd_max_ms


@given(complete_maps, st.data())
def test_a_larger_set_is_never_closer_together(latencies, data):
    size = data.draw(st.integers(2, len(latencies)))
    assert (
        least_nd_max_subset(latencies, size - 1).nd_max_ms <= least_nd_max_subset(latencies, size).nd_max_ms
    )


@given(latency_maps())
def test_a_written_map_is_read_back_exactly(tmp_path_factory, latencies):
    path = tmp_path_factory.getbasetemp() / "round_trip.csv"
    write_csv(latencies, path)
    assert read_map(path, DelayUnit.MS, DelayKind.RTT).latencies == latencies


marks = [",", ";", "\t", "\n", "\r\n", '"', " ", "\ufeff", "\0"]
words = ["a", "b", "é", "from", "to", "rtt_ms", "0", "1", "-1", "2.5", "1e999", "NaN"]
garbage = st.one_of(st.text(max_size=80), st.lists(st.sampled_from(marks + words), max_size=40).map("".join))


def refusal(read, *arguments) -> str | None:
    """What the error says, None where there is a map; any other error is the test's."""
    try:
        read(*arguments)
    except LatencyMapError as error:
        return str(error)
    return None


@settings(max_examples=examples(400))
@given(garbage, st.sampled_from(DelayUnit), st.sampled_from(DelayKind), st.sampled_from(Asymmetry))
@example("\0", DelayUnit.MS, DelayKind.RTT, Asymmetry.REFUSE)
@example('"' + "x" * 200_000, DelayUnit.MS, DelayKind.RTT, Asymmetry.REFUSE)
@example("a,b," + "1" * 100_000 + "x", DelayUnit.MS, DelayKind.RTT, Asymmetry.REFUSE)
@example("a,b," + "9" * 400, DelayUnit.MS, DelayKind.RTT, Asymmetry.MEAN)
def test_no_text_is_more_than_refused(text, unit, kind, asymmetry):
    said = refusal(parse_map, text, unit, kind, asymmetry)
    assert said is None or said.startswith("text")


@given(st.binary(max_size=60))
def test_no_file_is_more_than_refused(tmp_path_factory, content):
    path = tmp_path_factory.getbasetemp() / "garbage.csv"
    path.write_bytes(content)
    said = refusal(read_map, path, DelayUnit.MS, DelayKind.RTT)
    assert said is None or said.startswith(str(path))
