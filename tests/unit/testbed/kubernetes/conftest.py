"""A small topology: the control plane on ``hub``, pods on ``a`` and ``b``."""

from pathlib import Path

import pytest

from testbed.cluster.topology import Topology, read_topology
from testbed.kubernetes.tools import Tools


def topology_on(subnet: str, folder: Path) -> Topology:
    (folder / "map.csv").write_text(",hub,a,b\nhub,0,10,25\na,10,0,40\nb,25,40,0\n")
    file = folder / "topology.yaml"
    file.write_text(
        f"name: three\nlatency: {{file: map.csv, unit: ms, kind: rtt}}\ndriver_node: hub\nsubnet: {subnet}\n"
    )
    return read_topology(str(file))


@pytest.fixture
def three(tmp_path: Path) -> Topology:
    return topology_on("10.77.9.0/24", tmp_path)


@pytest.fixture
def far_three(tmp_path: Path) -> Topology:
    """Return the same nodes on another subnet."""
    return topology_on("10.77.10.0/24", tmp_path)


@pytest.fixture
def tools() -> Tools:
    here = Path("/tools")
    return Tools(
        containerd=here / "bin/containerd",
        ctr=here / "bin/ctr",
        runc=here / "sbin/runc",
        plugins=here / "cni",
        busybox=here / "busybox",
    )
