"""The state directory where somebody was there first."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from refusals import refused

from testbed.cluster import lifecycle, state
from testbed.cluster.state import ClusterRecord
from testbed.cluster.topology import Topology
from testbed.kubernetes.cluster import KubernetesTestBed

RECORD = ClusterRecord(delays="relay-c", complete=True)


def lock(_three: Topology) -> None:
    with state.locked(0.0):
        pass


USES: dict[str, Callable[[Topology], object]] = {
    "save": lambda three: state.save(RECORD, three),
    "load": lambda _three: state.load("three"),
    "names": lambda _three: state.cluster_names(),
    "forget": lambda _three: state.forget("three"),
    "lock": lock,
    "down": lambda _three: lifecycle.down("three"),
    "kubernetes": lambda three: KubernetesTestBed(topology=three).kubeconfig,
}


@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_a_symbolic_link_is_not_followed(
    state_root: Path, tmp_path: Path, three: Topology, use: Callable[[Topology], object]
) -> None:
    precious = tmp_path / "elsewhere" / "three" / "precious"
    precious.parent.mkdir(parents=True)
    precious.write_text("")
    precious.parents[1].chmod(0o700)
    state_root.symlink_to(precious.parents[1])
    with refused("state-directory-shared", found="a symbolic link"):
        use(three)
    assert [path for path in precious.parents[1].rglob("*") if path.is_file()] == [precious]


@pytest.mark.parametrize("mode", [0o777, 0o750, 0o500])
def test_a_file_or_a_directory_that_others_may_enter_is_not_used(state_root: Path, three: Topology, mode: int) -> None:
    state_root.mkdir()
    state_root.chmod(mode)
    for use in USES.values():
        with refused("state-directory-shared", found=f"mode {mode:04o}"):
            use(three)
    state_root.rmdir()
    state_root.write_text("")
    with refused("state-directory-shared", found="a file"):
        state.private_root()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a directory away")
def test_a_directory_of_another_user_is_refused(state_root: Path) -> None:
    state_root.mkdir(mode=0o700)
    os.chown(state_root, 65534, 65534)
    with refused("state-directory-shared") as caught, state.locked():
        pass
    assert "65534" in caught.value.fields["found"]


def test_forget_removes_links_but_not_their_targets(state_root: Path, tmp_path: Path, three: Topology) -> None:
    (tmp_path / "precious").write_text("")
    state.save(RECORD, three)
    (state_root / "three" / "out").symlink_to(tmp_path)
    state.forget("three")
    assert not state_root.exists()
    assert (tmp_path / "precious").exists()
