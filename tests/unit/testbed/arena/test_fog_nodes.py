"""Nodes of an experiment: from a topology, from a latency map, or random."""

import numpy as np
import pytest
from refusals import refused

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


def test_the_experiment_overrides_the_topology():
    fog = found(
        topology="mixed4", count=3, weights={"pi3-a": 0.25}, reported_weights={"pi4-b": 2.0}, driver_node="pi4-b"
    )
    assert list(fog.nodes) == ["nuc-a", "pi3-a", "pi4-b"]
    assert fog.nodes["pi3-a"].weight == 0.25
    assert fog.nodes["pi4-b"].reported_weight == 2.0
    assert fog.driver_node == "pi4-b"


def test_a_map_gives_nodes_of_weight_1_and_its_first_as_the_drivers(tmp_path):
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


def test_a_map_per_seed_depends_on_the_seed():
    assert np.array_equal(drawn(1, per_seed=True), drawn(1, per_seed=True))
    assert not np.array_equal(drawn(1, per_seed=True), drawn(2, per_seed=True))


@pytest.mark.parametrize(
    ("settings", "fields"),
    [
        ({"driver_node": "moon"}, {"place": "nodes.driver_node", "node": "moon"}),
        ({"weights": {"moon": 2}}, {"place": "nodes.weights", "node": "moon"}),
        ({"reported_weights": {"moon": 2}}, {"place": "nodes.reported_weights", "node": "moon"}),
        ({"prices": {"moon": 2}}, {"place": "nodes.prices", "node": "moon"}),
        ({"count": 2, "driver_node": "edge3"}, {"node": "edge3", "known": ["edge1", "edge2"]}),
    ],
)
def test_an_unknown_node_is_rejected(settings, fields):
    with refused("experiment-node-unknown", InputError, **fields):
        found(topology="edge8", **settings)


def test_more_nodes_than_the_topology_has_are_rejected():
    with refused("experiment-nodes-exceeded", InputError, place="nodes.count", available=8, got=9):
        found(topology="edge8", count=9)


@pytest.mark.parametrize(("setting", "name"), [("topology", "edge9"), ("map", "nowhere.csv")])
def test_a_missing_file_is_rejected(setting, name):
    with pytest.raises(InputError) as error:
        found(**{setting: name})
    assert name in str(error.value)
