import numpy as np
import pytest

from latency_map import Survey
from latency_map.generate import Clusters, Span, generate_clustered
from latency_map.summary import clusters, reading_order, symmetric_map

NAN = float("nan")


def two_sites(near=2.0, far=100.0):
    """a, b, c on one site, d, e on another."""
    rtt_ms = np.full((5, 5), far)
    rtt_ms[:3, :3] = rtt_ms[3:, 3:] = near
    np.fill_diagonal(rtt_ms, 0.0)
    return rtt_ms


def test_near_nodes_are_one_cluster_the_largest_first():
    assert clusters(Survey(names=tuple("abcde"), rtt_ms=two_sites())) == (("a", "b", "c"), ("d", "e"))


@pytest.mark.parametrize("nodes", [1, 2, 5, 40])
def test_a_uniform_map_is_one_cluster(nodes):
    names = tuple(f"n{number:02d}" for number in range(nodes))
    uniform = Survey(names=names, rtt_ms=7.0 * ~np.eye(nodes, dtype=bool))
    assert clusters(uniform) == (names,)
    assert sorted(reading_order(uniform)) == list(names)


@pytest.mark.parametrize("count", [2, 5, 8])
def test_clusters_that_were_generated_are_found(count):
    parameters = Clusters(count=count, within=Span(low_ms=2, high_ms=5), between=Span(low_ms=40, high_ms=90))
    rtt_ms = generate_clustered(np.random.default_rng(3), 40, parameters)
    names = tuple(f"n{row:02d}" for row in range(40))
    groups = {tuple(names[row] for row in range(40) if row * count // 40 == group) for group in range(count)}
    assert set(clusters(Survey(names=names, rtt_ms=rtt_ms))) == groups


def test_missing_delays_are_drawn_by_the_shortest_path():
    rtt_ms = two_sites()
    rtt_ms[0, 1] = rtt_ms[1, 0] = NAN  # by way of c: 4 ms
    rtt_ms[0, 3] = rtt_ms[3, 0] = NAN
    assert clusters(Survey(names=tuple("abcde"), rtt_ms=rtt_ms)) == (("a", "b", "c"), ("d", "e"))


def test_the_larger_direction_counts_and_a_lone_one_for_both():
    rtt_ms = np.array([[5.0, 3.0, NAN], [4.0, 0.0, NAN], [7.0, NAN, 0.0]])  # a is apart from itself
    symmetric = symmetric_map(Survey(names=("a", "b", "c"), rtt_ms=rtt_ms)).rtt_ms
    np.testing.assert_array_equal(symmetric, [[0, 4, 7], [4, 0, NAN], [7, NAN, 0]])
