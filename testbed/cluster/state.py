"""Where a cluster keeps what it needs beyond its processes: its topology, sockets, logs, and a lock.

All is in one directory that only this user may enter. Whoever may write to the system's temporary folder, as all may,
can be there first, with a symbolic link or with a directory that others can change: such a directory is never used.
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

#: The variable that names another directory for what is kept of clusters.
STATE_ROOT = "GESSCALE_TESTBED_STATE"
_MODE = 0o700


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterRecord:
    """What is written down about a cluster that is up, or on its way.

    Attributes
    ----------
    delays: how its delays are made, ``relay-c`` or ``netem``
    complete: False while it is being brought up
    """

    delays: str
    complete: bool


def cache_directory() -> Path:
    """Return the directory for what is costly to make again."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "gesscale"


def state_root() -> Path:
    """Return the directory of all clusters of this user; `STATE_ROOT` in the environment overrides it.

    Raises
    ------
    ClusterError
        What is there is not a directory of this user's own.
    """
    default = Path(tempfile.gettempdir()) / f"gesscale-testbed-{os.geteuid()}"
    root = Path(os.environ.get(STATE_ROOT) or default)
    with contextlib.suppress(FileNotFoundError):
        _require_private(root, root.lstat())
    return root


def private_root() -> Path:
    """Return `state_root`, made if needed.

    Raises
    ------
    ClusterError
        It cannot be made, or is not this user's own.
    """
    root = state_root()
    try:
        root.mkdir(mode=_MODE, parents=True, exist_ok=True)
        return state_root()
    except OSError as error:
        raise ClusterError(f"cannot use {root}: {error}; set {STATE_ROOT} to a directory of your own") from error


def state_directory(name: str) -> Path:
    """Return the directory of one cluster, whether or not it exists.

    Raises
    ------
    InputError
        No cluster can have this name; it must never lead out of `state_root`.
    ClusterError
        `state_root` is not this user's own.
    """
    if not re.fullmatch(CLUSTER_NAME, name):
        raise InputError(f"expected the name of a cluster, at most ten lower-case letters and digits, got {name!r}")
    return state_root() / name


def cluster_names() -> tuple[str, ...]:
    """Return the clusters that have a state directory."""
    return tuple(sorted(path.name for path in state_root().glob("*/")))


def only_cluster(name: str | None) -> str:
    """Return `name`, or where it is None the one cluster there is.

    Raises
    ------
    InputError
        None is named and there is not exactly one.
    """
    if name is not None:
        return name
    names = cluster_names()
    if len(names) == 1:
        return names[0]
    raise InputError(
        f"clusters here: {', '.join(names)}; name one" if names else "no cluster is up; run: testbed up edge8"
    )


def save(record: ClusterRecord, topology: Topology) -> None:
    """Write the record and a copy of the topology, so that later edits of its file change nothing here."""
    private_root()
    directory = state_directory(topology.name)
    described = {
        "name": topology.name,
        "latency": {"file": "topology.csv", "unit": DelayUnit.MS.value, "kind": DelayKind.RTT.value},
        "driver_node": topology.driver_node,
        "subnet": str(topology.subnet),
        "node_classes": {node.name: node.node_class.value for node in topology.nodes},
        "weights": {node.node_class.value: node.weight for node in topology.nodes},
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
            f"cannot keep the state of cluster {topology.name!r}: {error}; make {directory} writable"
        ) from error


def load(name: str) -> tuple[ClusterRecord, Topology]:
    """Read the record and the topology of a cluster.

    Raises
    ------
    ClusterError
        It is not up, or its state cannot be read.
    """
    directory = state_directory(name)
    try:
        record = ClusterRecord(**json.loads((directory / "state.json").read_text(encoding="utf-8")))
        return record, read_topology(str(directory / "topology.yaml"))
    except FileNotFoundError as error:
        raise ClusterError(f"cluster {name!r} is not up; run: testbed up {name}") from error
    except (OSError, ValueError, TypeError, InputError) as error:
        raise ClusterError(
            f"the state of cluster {name!r} in {directory} cannot be read ({error}); run: testbed down {name}"
        ) from error


def forget(name: str) -> None:
    """Delete the state directory of a cluster, and that of all clusters where it was the last."""
    shutil.rmtree(state_directory(name), ignore_errors=True)
    with contextlib.suppress(OSError):  # others are still there
        state_root().rmdir()


@contextlib.contextmanager
def locked(timeout_s: float = 60.0) -> Iterator[None]:
    """Hold the lock of this user's clusters, so that two commands never build and remove at once.

    Raises
    ------
    ClusterError
        Another command holds it for longer, or the state directory cannot be written.
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
                    raise ClusterError(
                        f"another testbed command has held {root} for long; look at it or try again"
                    ) from error
                time.sleep(0.1)
        yield
    finally:
        os.close(descriptor)


def _require_private(path: Path, status: os.stat_result) -> None:
    mode = stat.S_IMODE(status.st_mode)
    if stat.S_ISLNK(status.st_mode):
        found = "is a symbolic link"
    elif not stat.S_ISDIR(status.st_mode):
        found = "is no directory"
    elif status.st_uid != os.geteuid():
        found = "belongs to another user"
    elif mode & 0o777 != _MODE:
        found = f"has mode {mode:04o}"
    else:
        return
    raise ClusterError(
        f"expected {path} to be a directory of your own with mode 0700, it {found}; remove it, or set {STATE_ROOT}"
        " to another directory"
    )
