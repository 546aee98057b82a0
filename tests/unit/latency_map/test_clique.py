import pytest

from latency_map.choose.clique import BitWeights, bits, first_clique

# two triangles 0-1-2 and 2-3-4 that share node 2
EDGES = [(0, 1), (0, 2), (1, 2), (2, 3), (2, 4), (3, 4)]
NEIGHBOURS = [sum(1 << (a + b - node) for a, b in EDGES if node in (a, b)) for node in range(5)]
ONES = [1] * 5


def test_the_first_clique_in_node_order_is_found():
    assert bits(first_clique(NEIGHBOURS, ONES, 3, max_steps=100).members) == [0, 1, 2]


def test_none_is_uncertain_where_the_search_was_stopped():
    search = first_clique(NEIGHBOURS, ONES, 3, max_steps=2)
    assert search.members is None
    assert not search.complete


def test_a_clique_is_as_heavy_as_wanted_and_no_heavier_than_needed():
    # 0-1-2 weighs 3 + 2 + 2; already 0-1 weighs 5
    assert bits(first_clique(NEIGHBOURS, [3, 2, 2, 1, 1], 5, max_steps=100).members) == [0, 1]
    assert bits(first_clique(NEIGHBOURS, [3, 2, 2, 1, 1], 6, max_steps=100).members) == [0, 1, 2]
    assert first_clique(NEIGHBOURS, [3, 2, 2, 1, 1], 8, max_steps=100).complete


@pytest.mark.parametrize("weights", [[], [0], [1, 1, 1], [7, 7, 3], [1, 2, 3, 4, 5, 6, 7], [10**15, 1, 0]])
def test_the_weight_of_a_set_is_the_sum_of_its_nodes_weights(weights):
    scales = BitWeights.of(weights)
    for nodes in range(1 << len(weights)):
        assert scales.sum(nodes) == sum(weights[node] for node in bits(nodes))
