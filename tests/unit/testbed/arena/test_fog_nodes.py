"""The nodes of an experiment: of a topology, of a latency map, or drawn."""

import numpy as np
import pytest

from gesscale.errors import InputError
from testbed.arena.experiments.sections import NodesSection
from testbed.arena.worlds.fog_nodes import FogNodes, fog_nodes


def found(seed: int = 0, **settings: object) -> FogNodes:
    return fog_nodes(NodesSection.model_validate(settings), seed)


def drawn(seed: int = 0, count: int = 6, **generated: object) -> np.ndarray:
    return found(seed, generated=generated, count=count).delays.rtt_ms


def pairs(matrix: np.ndarray) -> np.ndarray:
    return matrix[np.triu_indices(len(matrix), 1)]


def test_a_topology_gives_nodes_weights_and_the_drivers_node():
    fog = found(topology="mixed4")
    assert list(fog.nodes) == ["nuc-a", "pi3-a", "pi4-b", "pi4-c"]
    assert [node.weight for node in fog.nodes.values()] == [4.0, 0.5, 1.0, 1.0]
    assert fog.driver_node == "nuc-a"
    assert fog.delays.delay_ms("pi4-b", "pi4-c") == 8.0


def test_the_experiments_word_wins_over_the_topologys():
    fog = found(
        topology="mixed4", count=3, weights={"pi3-a": 0.25}, reported_weights={"pi4-b": 2.0}, driver_node="pi4-b"
    )
    assert list(fog.nodes) == ["nuc-a", "pi3-a", "pi4-b"]
    assert fog.nodes["pi3-a"].weight == 0.25
    assert fog.nodes["pi4-b"].reported_weight == 2.0
    assert fog.driver_node == "pi4-b"


def test_a_map_file_gives_nodes_of_weight_1_and_its_first_as_the_drivers(tmp_path):
    file = tmp_path / "map.csv"
    file.write_text("one_way_ms,a,b\na,0,5\nb,5,0\n", "utf-8")
    fog = found(map=str(file))
    assert fog.driver_node == "a"
    assert fog.delays.delay_ms("a", "b") == 10.0  # twice one way
    assert fog.nodes["b"].weight == 1.0


def test_a_uniform_map_draws_every_pair_within_the_range():
    delays = pairs(drawn(low_ms=20, high_ms=300))
    assert delays.min() >= 20
    assert delays.max() <= 300
    assert len(set(delays)) == 15  # each of the 6 * 5 / 2 pairs on its own


def test_a_map_per_seed_differs_by_seed_and_is_the_same_for_the_same():
    assert np.array_equal(drawn(1, per_seed=True), drawn(1, per_seed=True))
    assert not np.array_equal(drawn(1, per_seed=True), drawn(2, per_seed=True))


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"topology": "edge9"}, "edge9"),
        ({"topology": "edge8", "count": 9}, "nodes.count: expected at most the 8 nodes there are, got 9"),
        ({"topology": "edge8", "driver_node": "moon"}, "nodes.driver_node: there is no node 'moon'; there are edge1"),
        ({"topology": "edge8", "weights": {"moon": 2}}, "nodes.weights: there is no node 'moon'"),
        ({"topology": "edge8", "reported_weights": {"moon": 2}}, "nodes.reported_weights: there is no node 'moon'"),
        ({"topology": "edge8", "count": 2, "driver_node": "edge3"}, "there are edge1, edge2"),
        ({"map": "nowhere.csv"}, "nodes: nowhere.csv"),
    ],
)
def test_nodes_that_are_not_there_are_refused(settings, expected):
    with pytest.raises(InputError) as fault:
        found(**settings)
    assert expected in str(fault.value)
