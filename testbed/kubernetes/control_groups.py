"""Manages control groups: one per node, created before its kubelet starts and removed after it has ended."""

import contextlib
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

from gesscale.errors import ClusterError
from testbed.cluster.namespaces import namespace

ROOT = Path("/sys/fs/cgroup")
_REMOVAL_TIMEOUT_S = 10.0


def are_writable() -> bool:
    """Check whether this process can create control groups, by creating one."""
    trial = next(_hierarchies(), ROOT) / f"gesscale-trial-{os.getpid()}"
    try:
        trial.mkdir(exist_ok=True)
        trial.rmdir()
    except OSError:
        return False
    return True


def create(cluster: str, node: str) -> str:
    """Create the group of a node in every hierarchy; return its name, the root for its kubelet.

    Raises
    ------
    ClusterError
        If it cannot be created.
    """
    name = namespace(cluster, node)
    try:
        if _is_cgroup_v2():
            _delegate(ROOT)
        for hierarchy in _hierarchies():
            group = hierarchy / name
            group.mkdir(exist_ok=True)
            for setting in ("cpuset.cpus", "cpuset.mems"):
                if not _is_cgroup_v2() and (group / setting).exists():  # version 1 starts these empty
                    (group / setting).write_bytes((hierarchy / setting).read_bytes())
            if _is_cgroup_v2():
                _delegate(group)
    except OSError as error:
        raise ClusterError(
            "control-group-not-created", group=name, node=node, root=str(ROOT), cause=str(error)
        ) from error
    return f"/{name}"


def find_groups(cluster: str) -> tuple[Path, ...]:
    """Return the groups of a cluster's nodes, in every hierarchy."""
    pattern = namespace(cluster, "*")
    return tuple(found for hierarchy in _hierarchies() for found in hierarchy.glob(pattern) if found.is_dir())


def kill_container(cluster: str, container: str) -> int:
    """Kill the processes of a container with SIGKILL, like a crash, and return their number.

    Raises
    ------
    ClusterError
        If no node of the cluster has this container.
    """
    group = next((found for node in find_groups(cluster) for found in node.rglob(container)), None)
    if group is None:
        raise ClusterError("container-not-found", cluster=cluster, container=container)
    members = (group / "cgroup.procs").read_text(encoding="ascii").split()
    for member in members:
        with contextlib.suppress(ProcessLookupError):  # the end of the first process may end the others
            os.kill(int(member), signal.SIGKILL)
    return len(members)


def remove(cluster: str) -> int:
    """Remove the groups of a cluster whose processes have ended, and return their number.

    Raises
    ------
    ClusterError
        If a process is still in one of them.
    """
    found = find_groups(cluster)
    deadline = time.monotonic() + _REMOVAL_TIMEOUT_S
    while (left := find_groups(cluster)) and time.monotonic() < deadline:
        for group in left:
            _remove_tree(group)
        time.sleep(0.05)
    if left:
        raise ClusterError("control-groups-not-removed", groups=[str(group) for group in left])
    return len(found)


def _remove_tree(group: Path) -> None:
    for child in [*(path for path in group.rglob("*") if path.is_dir())][::-1]:
        with contextlib.suppress(OSError):  # its processes are ending
            child.rmdir()
    with contextlib.suppress(OSError):
        group.rmdir()


def _is_cgroup_v2() -> bool:
    return (ROOT / "cgroup.controllers").exists()


def _hierarchies() -> Iterator[Path]:
    if _is_cgroup_v2():
        yield ROOT
        return
    if ROOT.is_dir():
        yield from (at for at in sorted(ROOT.iterdir()) if not at.is_symlink() and at.is_mount())


def _delegate(group: Path) -> None:
    controllers = (group / "cgroup.controllers").read_text(encoding="ascii").split()
    (group / "cgroup.subtree_control").write_text(" ".join(f"+{each}" for each in controllers), encoding="ascii")
