import tomllib
from pathlib import Path

import pytest

from gesscale.errors import ClusterError, InputError
from testbed.cluster.topology import Topology
from testbed.kubernetes.cluster import KubernetesTestBed
from testbed.kubernetes.control_plane import Files
from testbed.kubernetes.nodes import containerd_settings, start_node
from testbed.kubernetes.tools import Tools


def test_containerd_is_told_its_tools_and_never_lowers_a_score_it_may_not(tools: Tools) -> None:
    settings = tomllib.loads(containerd_settings(Path("/n"), tools, snapshotter="native"))
    cri = settings["plugins"]["io.containerd.grpc.v1.cri"]
    assert cri["restrict_oom_score_adj"] is True
    assert cri["cni"] == {"bin_dir": "/tools/cni", "conf_dir": "/n/cni"}
    assert cri["containerd"]["snapshotter"] == "native"
    assert cri["containerd"]["runtimes"]["runc"]["options"]["BinaryName"] == "/tools/sbin/runc"


@pytest.mark.parametrize(
    ("folder", "why"), [("/run/gesscale", "/run looks different"), (f"/tmp/{'x' * 90}", "too long")]
)
def test_a_state_directory_in_which_no_node_can_live_is_refused(
    folder: str, why: str, three: Topology, tools: Tools
) -> None:
    with pytest.raises(ClusterError, match=f"{why}.*GESSCALE_TESTBED_STATE"):
        start_node(three, "a", program=Path("/p"), tools=tools, files=Files(directory=Path(folder)))


def test_only_nodes_with_pods_can_be_cut_off(three: Topology, tmp_path: Path) -> None:
    cluster = KubernetesTestBed(topology=three, state_root=tmp_path)
    with pytest.raises(InputError, match=r"expected a node that holds pods \(a, b\), got 'hub'"):
        cluster.cut_off("hub")
