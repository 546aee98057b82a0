"""Files of a cluster: its topology, sockets, logs, and a lock.

They are in one directory that only this user may enter. Its parent, the system's temporary folder, is writable for
every user. Another user may have created the directory first, as a symbolic link or with access for others: such a
directory is never used.
"""

import contextlib
import fcntl
import json
import os
import re
import shutil
import stat
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import yaml

from gesscale.errors import ClusterError, InputError
from latency_map import DelayKind, DelayUnit, LatencyMapError, write_csv
from testbed.cluster.topology import CLUSTER_NAME, Topology, read_topology

#: The variable that names another directory for the files of clusters.
STATE_ROOT = "GESSCALE_TESTBED_STATE"
_MODE = 0o700


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterRecord:
    """Stored facts of a cluster.

    Attributes
    ----------
    delays: what makes its delays, ``relay-c`` or ``netem``
    complete: False while it is being brought up
    """

    delays: str
    complete: bool


def cache_directory() -> Path:
    """Return the directory for files that are expensive to make again."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "gesscale"


def state_root() -> Path:
    """Return the directory of all clusters of this user; `STATE_ROOT` in the environment overrides it.

    Raises
    ------
    ClusterError
        If it exists and is not a private directory of this user.
    """
    default = Path(tempfile.gettempdir()) / f"gesscale-testbed-{os.geteuid()}"
    root = Path(os.environ.get(STATE_ROOT) or default)
    with contextlib.suppress(FileNotFoundError):
        _require_private(root, root.lstat())
    return root


def private_root() -> Path:
    """Return `state_root`, created if needed.

    Raises
    ------
    ClusterError
        If it cannot be created, or is not a private directory of this user.
    """
    root = state_root()
    try:
        root.mkdir(mode=_MODE, parents=True, exist_ok=True)
        return state_root()
    except OSError as error:
        raise ClusterError("state-directory-unusable", source=str(root), cause=str(error)) from error


def state_directory(name: str) -> Path:
    """Return the directory of one cluster, whether or not it exists.

    Raises
    ------
    InputError
        If no cluster can have this name; it must never lead out of `state_root`.
    ClusterError
        If `state_root` is not private.
    """
    if not re.fullmatch(CLUSTER_NAME, name):
        raise InputError("cluster-name-invalid", got=name)
    return state_root() / name


def cluster_names() -> tuple[str, ...]:
    """Return the clusters that have a state directory."""
    return tuple(sorted(path.name for path in state_root().glob("*/")))


def only_cluster(name: str | None) -> str:
    """Return `name`, or if it is None the only cluster.

    Raises
    ------
    InputError
        If none is named and there is not exactly one.
    """
    if name is not None:
        return name
    names = cluster_names()
    if len(names) == 1:
        return names[0]
    if names:
        raise InputError("cluster-ambiguous", clusters=names)
    raise InputError("cluster-missing")


def save(record: ClusterRecord, topology: Topology) -> None:
    """Write the record and a copy of the topology, so that later edits of its file do not affect the cluster."""
    private_root()
    directory = state_directory(topology.name)
    described = {
        "name": topology.name,
        "latency": {"file": "topology.csv", "unit": DelayUnit.MS.value, "kind": DelayKind.RTT.value},
        "driver_node": topology.driver_node,
        "subnet": str(topology.subnet),
        "node_classes": {node.name: node.node_class.value for node in topology.nodes},
        "weights": {node.node_class.value: node.weight for node in topology.nodes},
        "prices": {node.node_class.value: node.price for node in topology.nodes},
        "slots": {node.node_class.value: node.slots for node in topology.nodes},
    }
    try:
        directory.mkdir(exist_ok=True)
        write_csv(topology.map, directory / "topology.csv")
        (directory / "topology.yaml").write_text(yaml.safe_dump(described), encoding="utf-8")
        scratch = directory / "state.json.new"
        scratch.write_text(json.dumps(asdict(record)), encoding="utf-8")
        scratch.replace(directory / "state.json")
    except (OSError, LatencyMapError) as error:
        raise ClusterError(
            "cluster-state-unwritable", source=str(directory), cluster=topology.name, cause=str(error)
        ) from error


def load(name: str) -> tuple[ClusterRecord, Topology]:
    """Read the record and the topology of a cluster.

    Raises
    ------
    ClusterError
        If it is not up, or its state cannot be read.
    """
    directory = state_directory(name)
    try:
        record = ClusterRecord(**json.loads((directory / "state.json").read_text(encoding="utf-8")))
        return record, read_topology(str(directory / "topology.yaml"))
    except FileNotFoundError as error:
        raise ClusterError("cluster-not-up", cluster=name) from error
    except (OSError, ValueError, TypeError, InputError) as error:
        raise ClusterError("cluster-state-unreadable", source=str(directory), cluster=name, cause=str(error)) from error


def forget(name: str) -> None:
    """Delete the state directory of a cluster, and `state_root` if it was the last one."""
    shutil.rmtree(state_directory(name), ignore_errors=True)
    with contextlib.suppress(OSError):  # not empty
        state_root().rmdir()


@contextlib.contextmanager
def locked(timeout_s: float = 60.0) -> Iterator[None]:
    """Hold the lock of this user's clusters, so that no two commands build or remove at the same time.

    Raises
    ------
    ClusterError
        If another command holds it for longer than the timeout, or the state directory cannot be written.
    """
    root = private_root()
    descriptor, deadline = os.open(root, os.O_RDONLY | os.O_CLOEXEC), time.monotonic() + timeout_s
    try:
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError as error:
                if time.monotonic() > deadline:
                    raise ClusterError("cluster-locked", source=str(root), timeout_s=timeout_s) from error
                time.sleep(0.1)
        yield
    finally:
        os.close(descriptor)


def _require_private(path: Path, status: os.stat_result) -> None:
    mode = stat.S_IMODE(status.st_mode)
    if stat.S_ISLNK(status.st_mode):
        found = "a symbolic link"
    elif not stat.S_ISDIR(status.st_mode):
        found = "a file"
    elif status.st_uid != os.geteuid():
        found = f"a directory of user {status.st_uid}"
    elif mode & 0o777 != _MODE:
        found = f"mode {mode:04o}"
    else:
        return
    raise ClusterError("state-directory-shared", source=str(path), found=found)
