from pathlib import Path

import numpy as np
import pytest
from refusals import refused

from gesscale.errors import InputError
from testbed.cluster.topology import read_topology


def test_edge8_has_equal_nodes_and_is_no_star() -> None:
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
    with refused("topology-node-unknown", node="z", nodes=["a", "b", "c"]):
        topology.node("z")
    topology_file.write_text(topology_file.read_text() + "weights: {nuc: 2.5}\n")
    assert read_topology(str(topology_file)).node("c").weight == 2.5


@pytest.mark.parametrize(
    ("before", "after", "code", "fields"),
    [
        ("driver_node: a", "driver_node: z", "topology-node-unmapped", {"place": "driver_node", "node": "z"}),
        ("10.77.9.0/24", "10.77.0.0/16", "topology-subnet-invalid", {"got": "10.77.0.0/16"}),
        ("10.77.9.0/24", "8.8.8.0/24", "topology-subnet-invalid", {"got": "8.8.8.0/24"}),
        ("{c: nuc}", "{d: nuc}", "topology-node-unmapped", {"place": "node_classes", "node": "d"}),
    ],
)
def test_a_topology_that_cannot_be_built_is_refused(
    topology_file: Path, before: str, after: str, code: str, fields: dict[str, object]
) -> None:
    text = topology_file.read_text()
    assert before in text
    topology_file.write_text(text.replace(before, after))
    with refused(code, InputError, source=str(topology_file), **fields):
        read_topology(str(topology_file))


@pytest.mark.parametrize(
    ("before", "after", "key"),
    [
        ("driver_node: a", "driver_nodes: a", "driver_nodes"),
        ("name: three", "name: Three/..", "name"),
        ("name: three", "name: elevenchars", "name"),
        ("unit: ms", "unit: weeks", "latency.unit"),
        ("{c: nuc}", "{c: mainframe}", "node_classes.c"),
        ("{c: nuc}", "{c: nuc}\nweights: {nuc: 0}", "weights.nuc"),
        ("{c: nuc}", "{c: nuc}\nprices: {nuc: 0}", "prices.nuc"),
        ("{c: nuc}", "{c: nuc}\nprices: {nuc: .nan}", "prices.nuc"),
        ("{c: nuc}", "{c: nuc}\nslots: {nuc: 0}", "slots.nuc"),
    ],
)
def test_an_invalid_key_is_refused_by_its_name(topology_file: Path, before: str, after: str, key: str) -> None:
    text = topology_file.read_text()
    assert before in text
    topology_file.write_text(text.replace(before, after))
    with pytest.raises(InputError) as caught:
        read_topology(str(topology_file))
    assert key in {problem.fields["place"] for problem in caught.value.problems}
    assert caught.value.fields["source"] == str(topology_file)


@pytest.mark.parametrize(
    ("before", "after", "file"),
    [
        ("three.csv", "absent.csv", "absent.csv"),
        ("{c: nuc}", "{c: nuc", "three.yaml"),
        ("kind: rtt", "kind: rtt, file: [", "three.yaml"),
    ],
)
def test_an_unreadable_file_is_named(topology_file: Path, before: str, after: str, file: str) -> None:
    text = topology_file.read_text()
    assert before in text
    topology_file.write_text(text.replace(before, after))
    with pytest.raises(InputError) as caught:
        read_topology(str(topology_file))
    assert file in str(caught.value)


@pytest.mark.parametrize("source", ["nowhere", "/nowhere/at.yaml", "."])
def test_an_unknown_topology_is_refused(source: str) -> None:
    with refused("topology-unreadable", InputError, source=source) as caught:
        read_topology(source)
    assert "edge8" in caught.value.fields["bundled"]


def test_a_map_that_cannot_be_emulated_is_refused(topology_file: Path) -> None:
    csv = topology_file.with_name("three.csv")
    complete = csv.read_text()
    csv.write_text(complete.replace("300", ""))
    with refused("topology-delays-missing", count=1, first="b", second="c"):
        read_topology(str(topology_file))
    csv.write_text(complete.replace("b", "../b"))
    with refused("node-name-invalid", got="../b"):
        read_topology(str(topology_file))
