from latency_map.choose.clique import bits, first_clique

# two triangles 0-1-2 and 2-3-4 that share node 2
EDGES = [(0, 1), (0, 2), (1, 2), (2, 3), (2, 4), (3, 4)]
NEIGHBOURS = [sum(1 << (a + b - node) for a, b in EDGES if node in (a, b)) for node in range(5)]


def test_the_first_clique_in_node_order_is_found():
    assert bits(first_clique(NEIGHBOURS, 3, max_steps=100).members) == [0, 1, 2]


def test_none_is_uncertain_where_the_search_was_stopped():
    search = first_clique(NEIGHBOURS, 3, max_steps=2)
    assert search.members is None
    assert not search.complete
