from collections import Counter
from math import ceil

import pytest

from latency_map.measure.neighbours import neighbours, rounds_to_cover

SIZES = [(2, 1), (5, 2), (6, 5), (6, 9), (10, 3), (31, 7), (100, 10)]


def names(n):
    return [f"edge{number}" for number in range(n)]


@pytest.mark.parametrize(("n", "k"), SIZES)
def test_a_round_probes_n_k_pairs_and_every_node_as_often_as_any_other(n, k):
    everyone = names(n)
    for turn in range(4):
        chosen = {node: neighbours(node, everyone, each=k, turn=turn) for node in everyone}
        each = min(k, n - 1)
        assert all(len(set(peers) - {node}) == len(peers) == each for node, peers in chosen.items())
        probed = Counter(peer for peers in chosen.values() for peer in peers)
        assert probed == dict.fromkeys(everyone, each)


@pytest.mark.parametrize(("n", "k"), SIZES)
@pytest.mark.parametrize("first", [0, 3, 1000])
def test_every_node_probes_every_other_one_within_n_minus_1_over_k_rounds(n, k, first):
    rounds = ceil((n - 1) / k)
    assert rounds_to_cover(n, k) == rounds
    for node in names(n):
        probed = {
            peer
            for turn in range(first, first + rounds)
            for peer in neighbours(node, names(n), each=k, turn=turn)
        }
        assert probed == set(names(n)) - {node}


def test_one_round_less_leaves_somebody_out():
    # 9 others, 2 a round: four rounds reach 8
    probed = {peer for turn in range(4) for peer in neighbours("edge0", names(10), each=2, turn=turn)}
    assert len(probed) == 8


def test_the_choice_depends_on_node_round_and_seed_and_on_nothing_else():
    def choose(everyone, *, node="edge3", turn=1, seed=0):
        return neighbours(node, everyone, each=3, turn=turn, seed=seed)

    usual = choose(names(20))
    assert choose(reversed(names(20))) == usual
    assert choose([name for name in names(20) if name != "edge3"]) == usual  # it need not be in its own list
    assert choose(names(20), turn=2) != usual
    assert choose(names(20), seed=1) != usual
    assert choose(names(20), node="edge4") != usual


def test_a_node_alone_probes_nobody():
    assert neighbours("edge0", [], each=3, turn=0) == ()
    assert rounds_to_cover(1, 3) == 1
