import numpy as np

from latency_map.choose.clique import bits, first_clique, threshold_graph

# two triangles 0-1-2 and 2-3-4 that share node 2
EDGES = [(0, 1), (0, 2), (1, 2), (2, 3), (2, 4), (3, 4)]
NEIGHBOURS = [sum(1 << (a + b - node) for a, b in EDGES if node in (a, b)) for node in range(5)]


def test_a_threshold_graph_joins_what_lies_within_the_delay():
    delays = np.array([[0, 5, 7], [5, 0, np.inf], [7, np.inf, 0]])
    assert threshold_graph(delays, 5.0) == [0b010, 0b001, 0b000]
    assert threshold_graph(delays, 7.0) == [0b110, 0b001, 0b001]


def test_more_nodes_than_a_byte_holds_are_kept_apart():
    delays = np.full((11, 11), 9.0)
    delays[0, 10] = delays[10, 0] = 1.0
    assert threshold_graph(delays, 1.0) == [1 << 10, *[0] * 9, 1]


def test_the_first_clique_in_node_order_is_found():
    assert bits(first_clique(NEIGHBOURS, 0b11111, 3, max_steps=100).members) == [0, 1, 2]
    assert bits(first_clique(NEIGHBOURS, 0b11110, 3, max_steps=100).members) == [2, 3, 4]


def test_none_is_certain_where_the_search_ended():
    search = first_clique(NEIGHBOURS, 0b11111, 4, max_steps=100)
    assert search.members is None
    assert search.complete


def test_none_is_uncertain_where_the_search_was_stopped():
    search = first_clique(NEIGHBOURS, 0b11111, 3, max_steps=2)
    assert search.members is None
    assert not search.complete


def test_nobody_wanted_is_found_at_once():
    assert first_clique(NEIGHBOURS, 0, 0, max_steps=1).members == 0


def test_a_ring_of_five_has_no_triangle_though_every_node_has_two_neighbours():
    ring = [1 << ((node + 1) % 5) | 1 << ((node - 1) % 5) for node in range(5)]
    assert first_clique(ring, 0b11111, 3, max_steps=100).complete
