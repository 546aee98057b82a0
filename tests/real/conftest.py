"""What real tests share: three emulated nodes, and one worker for all tests against Kubernetes."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from xdist.scheduler import LoadScopeScheduling

from testbed.cluster import privilege, state

#: Starts a cluster for itself, so any worker can run it.
_OWN_CLUSTER = "test_lost_nodes"


class _ByModuleOrCluster(LoadScopeScheduling):
    def _split_scope(self, nodeid: str) -> str:
        shares_cluster = "/kubernetes/" in nodeid and _OWN_CLUSTER not in nodeid
        return "kubernetes" if shares_cluster else super()._split_scope(nodeid)


def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> LoadScopeScheduling | None:
    by_module = config.getoption("dist") == "loadscope"
    return _ByModuleOrCluster(config, log) if by_module else None


@pytest.fixture
def three_nodes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, int], str]:
    """Write topologies of nodes home, near and far, by name and subnet: one below 220, where drawn ones begin."""
    if not (privilege.is_privileged() and os.access(privilege.TUN, os.R_OK | os.W_OK)):
        pytest.skip("needs root and /dev/net/tun to make network namespaces")
    monkeypatch.setenv(state.STATE_ROOT, str(tmp_path / "state"))

    def write(name: str, subnet: int) -> str:
        (tmp_path / f"{name}.csv").write_text(",home,near,far\nhome,0,8,60\nnear,8,0,55\nfar,60,55,0\n")
        file = tmp_path / f"{name}.yaml"
        file.write_text(
            f"name: {name}\nlatency: {{file: {name}.csv, unit: ms, kind: rtt}}\n"
            f"driver_node: home\nsubnet: 10.77.{subnet}.0/24\n"
        )
        return str(file)

    return write
