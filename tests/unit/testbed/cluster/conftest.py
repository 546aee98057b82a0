"""A small topology, and a state directory of the test's own."""

from pathlib import Path

import pytest

from testbed.cluster.state import STATE_ROOT
from testbed.cluster.topology import Topology, read_topology

THREE = """,a,b,c
a,0,10,25
b,10,0,300
c,25,300,0
"""


@pytest.fixture
def topology_file(tmp_path: Path) -> Path:
    (tmp_path / "three.csv").write_text(THREE)
    file = tmp_path / "three.yaml"
    file.write_text(
        "name: three\nlatency: {file: three.csv, unit: ms, kind: rtt}\ndriver_node: a\n"
        "subnet: 10.77.9.0/24\nnode_classes: {c: nuc}\n"
    )
    return file


@pytest.fixture
def three(topology_file: Path) -> Topology:
    return read_topology(str(topology_file))


@pytest.fixture
def state_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = tmp_path / "state"
    monkeypatch.setenv(STATE_ROOT, str(root))
    return root
