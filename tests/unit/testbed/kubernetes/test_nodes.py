import tomllib
from pathlib import Path

import pytest
from refusals import refused

from testbed.cluster.topology import Topology
from testbed.kubernetes.cluster import KubernetesTestBed
from testbed.kubernetes.control_plane import Files
from testbed.kubernetes.nodes import containerd_settings, start_node
from testbed.kubernetes.tools import Tools


def test_containerd_gets_its_tools_and_restricts_oom_scores(tools: Tools) -> None:
    settings = tomllib.loads(containerd_settings(Path("/n"), tools, snapshotter="native"))
    cri = settings["plugins"]["io.containerd.grpc.v1.cri"]
    assert cri["restrict_oom_score_adj"] is True
    assert cri["cni"] == {"bin_dir": "/tools/cni", "conf_dir": "/n/cni"}
    assert cri["containerd"]["snapshotter"] == "native"
    assert cri["containerd"]["runtimes"]["runc"]["options"]["BinaryName"] == "/tools/sbin/runc"


@pytest.mark.parametrize(
    ("folder", "code"), [("/run/gesscale", "node-directory-hidden"), (f"/tmp/{'x' * 90}", "socket-path-long")]
)
def test_a_state_directory_that_no_node_can_use_is_refused(
    folder: str, code: str, three: Topology, tools: Tools
) -> None:
    with refused(code, source=f"{folder}/nodes/a"):
        start_node(three, "a", program=Path("/p"), tools=tools, files=Files(directory=Path(folder)))


def test_only_nodes_with_pods_can_be_cut_off(three: Topology, tmp_path: Path) -> None:
    cluster = KubernetesTestBed(topology=three, state_root=tmp_path)
    with refused("kubelet-node-unknown", node="hub", nodes=("a", "b")):
        cluster.cut_off("hub")
