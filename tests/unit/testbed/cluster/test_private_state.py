"""The state directory where somebody was there first."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from gesscale.errors import ClusterError
from testbed.cluster import lifecycle, private, state
from testbed.cluster.state import ClusterRecord
from testbed.cluster.topology import Topology
from testbed.kubernetes.cluster import KubernetesTestBed

RECORD = ClusterRecord(source="three.yaml", delays="relay-c", complete=True)


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


def contents(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


@pytest.fixture
def elsewhere(tmp_path: Path) -> Path:
    """A directory of the same user, with what a cluster of this name would have."""
    folder = tmp_path / "elsewhere"
    (folder / "three").mkdir(parents=True)
    folder.chmod(0o700)
    (folder / "three" / "precious").write_text("")
    return folder


@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_a_symbolic_link_is_not_followed(
    state_root: Path, elsewhere: Path, three: Topology, use: Callable[[Topology], object]
) -> None:
    state_root.symlink_to(elsewhere)
    with pytest.raises(ClusterError, match=f"{state_root} .*symbolic link.*rm {state_root}"):
        use(three)
    assert contents(elsewhere) == ["three", "three/precious"]


@pytest.mark.parametrize("mode", [0o777, 0o750, 0o701, 0o500])
def test_a_file_or_a_directory_that_others_may_enter_is_not_used(
    state_root: Path, three: Topology, mode: int
) -> None:
    state_root.mkdir()
    state_root.chmod(mode)
    for use in USES.values():
        with pytest.raises(ClusterError, match=f"mode {mode:04o}.*chmod 700"):
            use(three)
    state_root.chmod(0o700)
    state_root.rmdir()
    state_root.write_text("")
    with pytest.raises(ClusterError, match="no directory"):
        state.private_root()


@pytest.mark.parametrize("use", ["save", "load", "down", "kubernetes"])
def test_a_link_in_the_place_of_a_cluster_is_not_followed(
    state_root: Path, elsewhere: Path, three: Topology, use: str
) -> None:
    state.private_root()
    (state_root / "three").symlink_to(elsewhere / "three")
    with pytest.raises(ClusterError, match=f"expected {state_root}/three .* it is a symbolic link"):
        USES[use](three)
    assert state.cluster_names() == ()
    assert contents(elsewhere) == ["three", "three/precious"]


def test_a_descriptor_is_of_the_very_directory_that_was_looked_at(tmp_path: Path) -> None:
    mine = private.make_private(tmp_path / "mine")
    descriptor = private.open_private(mine)
    try:
        assert os.path.samestat(os.fstat(descriptor), mine.lstat())
    finally:
        os.close(descriptor)
    with pytest.raises(FileNotFoundError):
        private.open_private(tmp_path / "none")


def test_to_forget_takes_links_and_leaves_what_they_lead_to(
    state_root: Path, elsewhere: Path, three: Topology
) -> None:
    state.private_root()
    (state_root / "three").symlink_to(elsewhere / "three")
    state.forget("three")
    assert not state_root.exists()
    state.save(RECORD, three)
    (state_root / "three" / "out").symlink_to(elsewhere)
    state.forget("three")
    assert not state_root.exists()
    assert contents(elsewhere) == ["three", "three/precious"]
