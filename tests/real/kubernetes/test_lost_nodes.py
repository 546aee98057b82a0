"""Nodes lost under a real query on a cluster of their own: it works at full rate again, and every row is there once."""

import io
import os
import shutil
from pathlib import Path

import pytest
import yaml
from rich.console import Console

from testbed.chaos.loss_results import read_losses
from testbed.chaos.losses import run_losses
from testbed.cluster.topology import Topology, read_topology
from testbed.live.node_losses import NodeLoss
from testbed.live.nodes import ProgressLog

pytestmark = [pytest.mark.real, pytest.mark.usefixtures("possible")]

TOPOLOGIES = Path(__file__).parents[3] / "testbed" / "topologies"


@pytest.fixture
def topology(tmp_path: Path, free_subnet: str) -> Topology:
    """Return the bundled topology under a name and on a subnet of this process's own."""
    shutil.copy(TOPOLOGIES / "kube5.csv", tmp_path)
    described = yaml.safe_load((TOPOLOGIES / "kube5.yaml").read_text())
    file = tmp_path / "topology.yaml"
    file.write_text(yaml.safe_dump({**described, "name": f"d{os.getpid()}", "subnet": free_subnet}))
    return read_topology(str(file))


@pytest.mark.parametrize(
    "losses",
    [
        (NodeLoss.DELETED, NodeLoss.DRAINED),
        pytest.param(tuple(NodeLoss), marks=[pytest.mark.long, pytest.mark.timeout(3600)]),
    ],
    ids=["usual", "all"],
)
def test_all_replicas_work_again_and_no_row_is_lost(
    topology: Topology, tmp_path: Path, losses: tuple[NodeLoss, ...]
) -> None:
    printed = io.StringIO()
    records = run_losses(losses, topology, tmp_path, ProgressLog(Console(file=printed)), away_s=20.0)
    assert [record.loss for record in records] == [*losses], printed.getvalue()
    for record in records:
        assert record.kept, printed.getvalue()
        assert record.rows > 0
    assert read_losses(tmp_path) == records
