import re
from pathlib import Path

import numpy as np
import pytest

from gesscale.errors import InputError
from testbed.cluster.topology import read_topology


def test_edge8_is_eight_equal_nodes_a_few_to_300_ms_apart_and_no_star() -> None:
    topology = read_topology("edge8")
    rtt = topology.map.rtt_ms
    apart = rtt[~np.eye(8, dtype=bool)]
    assert [node.weight for node in topology.nodes] == [1.0] * 8
    assert (apart.min(), apart.max()) == (4, 300)
    assert len(np.unique(apart)) == 28  # every pair has a delay of its own
    # In a star, d(i,j) + d(k,l) is the same for all pairings of four nodes; here 4 + 51 against 9 + 42.
    assert rtt[0, 1] + rtt[2, 3] != rtt[0, 2] + rtt[1, 3]


def test_a_file_is_read_whole(topology_file: Path) -> None:
    topology = read_topology(str(topology_file))
    assert [(node.name, node.address, node.host, node.weight) for node in topology.nodes] == [
        ("a", "10.77.9.1", 1, 1.0),
        ("b", "10.77.9.2", 2, 1.0),
        ("c", "10.77.9.3", 3, 4.0),
    ]
    assert topology.control_address == "10.77.9.254"
    assert topology.driver.name == "a"
    assert topology.rtt_ms("b", "c") == 300
    with pytest.raises(InputError, match="a, b, c"):
        topology.node("z")
    topology_file.write_text(topology_file.read_text() + "weights: {nuc: 2.5}\n")
    assert read_topology(str(topology_file)).node("c").weight == 2.5


@pytest.mark.parametrize(
    ("before", "after", "says"),
    [
        ("driver_node: a", "driver_node: z", "driver_node 'z' is not in the latency map"),
        ("driver_node: a", "driver_nodes: a", "driver_nodes: no such setting; nearest: driver_node"),
        ("name: three", "name: Three/..", "name: expected text that matches"),
        ("name: three", "name: elevenchars", "name: expected text that matches"),
        ("three.csv", "absent.csv", "absent.csv"),
        ("unit: ms", "unit: weeks", "latency.unit"),
        ("10.77.9.0/24", "10.77.0.0/16", "expected a private /24"),
        ("10.77.9.0/24", "8.8.8.0/24", "expected a private /24"),
        ("{c: nuc}", "{d: nuc}", "node_classes names d"),
        ("{c: nuc}", "{c: mainframe}", "node_classes.c"),
        ("{c: nuc}", "{c: nuc}\nweights: {nuc: 0}", "weights.nuc: expected greater than 0"),
        ("{c: nuc}", "{c: nuc", "three.yaml"),
        ("kind: rtt", "kind: rtt, file: [", "three.yaml"),
    ],
)
def test_a_faulty_file_is_refused_with_the_fault(topology_file: Path, before: str, after: str, says: str) -> None:
    text = topology_file.read_text()
    assert before in text
    topology_file.write_text(text.replace(before, after))
    with pytest.raises(InputError, match=re.escape(says)):
        read_topology(str(topology_file))


@pytest.mark.parametrize("source", ["nowhere", "/nowhere/at.yaml", "."])
def test_an_unknown_topology_is_refused(source: str) -> None:
    with pytest.raises(InputError, match=r"choose one of .*edge8.*, or name a YAML file"):
        read_topology(source)


@pytest.mark.parametrize(
    ("before", "after", "says"), [("300", "", "first between 'b' and 'c'"), ("b", "../b", "node '../b'")]
)
def test_a_map_that_cannot_be_emulated_is_refused(topology_file: Path, before: str, after: str, says: str) -> None:
    csv = topology_file.with_name("three.csv")
    csv.write_text(csv.read_text().replace(before, after))
    with pytest.raises(InputError, match=re.escape(says)):
        read_topology(str(topology_file))
