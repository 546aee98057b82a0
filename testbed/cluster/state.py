"""Where a cluster keeps what it needs beyond its processes: its topology, sockets, logs, and a lock."""

import contextlib
import fcntl
import json
import os
import re
import shutil
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import yaml

from gesscale.errors import ClusterError, InputError
from latency_map import DelayKind, DelayUnit, LatencyMapError, write_csv
from testbed.cluster.private import STATE_ROOT, make_private, open_private, require_private
from testbed.cluster.topology import CLUSTER_NAME, Topology, read_topology


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterRecord:
    """What is written down about a cluster that is up, or on its way.

    Attributes
    ----------
    source
        The topology as the user named it.
    delays
        How its delays are made: ``relay-c`` or ``netem``.
    complete
        False while it is being brought up.
    """

    source: str
    delays: str
    complete: bool


def state_root() -> Path:
    """Return the directory of all clusters of this user; `STATE_ROOT` in the environment overrides it.

    Raises
    ------
    ClusterError
        Where what is there is not this user's own.
    """
    if STATE_ROOT in os.environ:
        return require_private(Path(os.environ[STATE_ROOT]))
    return require_private(Path(tempfile.gettempdir()) / f"gesscale-testbed-{os.geteuid()}")


def private_root() -> Path:
    """Return `state_root`, made if needed.

    Raises
    ------
    ClusterError
        Where it cannot be made, or is not this user's own.
    """
    return make_private(state_root())


def state_directory(name: str) -> Path:
    """Return the directory of one cluster, whether or not it exists.

    Raises
    ------
    InputError
        Where no cluster can have this name; it must never lead out of `state_root`.
    ClusterError
        Where what is there is not this user's own.
    """
    _check_name(name)
    return require_private(state_root() / name)


def cluster_names() -> tuple[str, ...]:
    """Return the clusters that have a state directory."""
    root = state_root()
    if not root.is_dir():
        return ()
    return tuple(sorted(path.name for path in root.iterdir() if path.is_dir() and not path.is_symlink()))


def only_cluster(name: str | None) -> str:
    """Return `name`, or where it is None the one cluster there is.

    Raises
    ------
    InputError
        Where none is named and there is not exactly one.
    """
    names = cluster_names()
    if name is not None:
        return name
    if len(names) == 1:
        return names[0]
    message = (
        f"clusters here: {', '.join(names)}; name one" if names else "no cluster is up; run: testbed up edge8"
    )
    raise InputError(message)


def save(record: ClusterRecord, topology: Topology) -> None:
    """Write the record and a copy of the topology, so that later edits of its file change nothing here."""
    private_root()
    directory = make_private(state_directory(topology.name))
    try:
        write_csv(topology.map, directory / "topology.csv")
        described = {
            "name": topology.name,
            "latency": {"file": "topology.csv", "unit": DelayUnit.MS.value, "kind": DelayKind.RTT.value},
            "driver_node": topology.driver_node,
            "subnet": str(topology.subnet),
            "node_classes": {node.name: node.node_class.value for node in topology.nodes},
            "weights": {node.node_class.value: node.weight for node in topology.nodes},
        }
        (directory / "topology.yaml").write_text(yaml.safe_dump(described), encoding="utf-8")
        scratch = directory / "state.json.new"
        scratch.write_text(json.dumps(asdict(record)), encoding="utf-8")
        scratch.replace(directory / "state.json")
    except (OSError, LatencyMapError) as error:
        message = f"cannot keep the state of cluster {topology.name!r}: {error}; make {directory} writable"
        raise ClusterError(message) from error


def load(name: str) -> tuple[ClusterRecord, Topology]:
    """Read the record and the topology of a cluster.

    Raises
    ------
    ClusterError
        Where it is not up, or its state cannot be read.
    """
    directory = state_directory(name)
    try:
        record = ClusterRecord(**json.loads((directory / "state.json").read_text(encoding="utf-8")))
        return record, read_topology(str(directory / "topology.yaml"))
    except FileNotFoundError as error:
        message = f"cluster {name!r} is not up; run: testbed up {name}"
        raise ClusterError(message) from error
    except (OSError, ValueError, TypeError, InputError) as error:
        message = (
            f"the state of cluster {name!r} in {directory} cannot be read ({error}); run: testbed down {name}"
        )
        raise ClusterError(message) from error


def forget(name: str) -> None:
    """Delete the state directory of a cluster, and that of all clusters where it was the last.

    Nothing outside of `state_root` is deleted: a symbolic link goes without what it leads to.

    Raises
    ------
    InputError
        Where no cluster can have this name.
    ClusterError
        Where `state_root` is not this user's own.
    """
    _check_name(name)
    root = state_root()
    try:
        descriptor = open_private(root)
    except FileNotFoundError:
        return
    try:
        shutil.rmtree(name, ignore_errors=True, dir_fd=descriptor)
        with contextlib.suppress(OSError):  # only where it is a link
            os.unlink(name, dir_fd=descriptor)
    finally:
        os.close(descriptor)
    with contextlib.suppress(OSError):  # others are still there
        root.rmdir()


@contextlib.contextmanager
def locked(timeout_s: float = 60.0) -> Iterator[None]:
    """Hold the lock of this user's clusters, so that two commands never build and remove at once.

    Raises
    ------
    ClusterError
        Where another command holds it for longer, or the state directory cannot be written.
    """
    descriptor = open_private(private_root())
    try:
        _lock(descriptor, time.monotonic() + timeout_s)
        yield
    finally:
        os.close(descriptor)


def _check_name(name: str) -> None:
    if not re.fullmatch(CLUSTER_NAME, name):
        message = f"expected the name of a cluster, at most ten lower-case letters and digits, got {name!r}"
        raise InputError(message)


def _lock(descriptor: int, deadline: float) -> None:
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            if time.monotonic() > deadline:
                message = f"another testbed command has held {state_root()} for long; look at it or try again"
                raise ClusterError(message) from error
            time.sleep(0.1)
        else:
            return
