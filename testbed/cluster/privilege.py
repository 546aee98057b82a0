"""Privileges to create network namespaces and devices: root, or root of a user namespace.

`enter` returns if the process has them. Otherwise it restarts the process inside a user namespace, or raises an error
that names what is missing. A holder process keeps that user namespace alive between commands; the last ``down`` ends
it.
"""

import contextlib
import os
import shutil
import sys
import tempfile
import time
from pathlib import Path

from gesscale.common.errors import Problem
from gesscale.errors import ClusterError
from testbed.cluster import processes
from testbed.cluster.commands import run
from testbed.cluster.delays import has_netem
from testbed.cluster.state import STATE_ROOT, cluster_names, private_root, state_root

TUN = Path("/dev/net/tun")
_CAP_NET_ADMIN, _CAP_SYS_ADMIN = 12, 21
_HOLDER_TIMEOUT_S, _HOLDER_LOG = 60.0, ".holder.log"
_UNSHARE = ("unshare", "--user", "--map-root-user", "--net", "--mount", "--")
#: Prepares the user namespace, prints "ready", and stays.
_HOLD = "mount -t tmpfs tmpfs /run && mkdir /run/netns && ip link set lo up && echo ready && exec sleep infinity"


def enter() -> None:
    """Ensure that this process has the privileges to build a cluster; if needed, restart it in a user namespace.

    Raises
    ------
    ClusterError
        If neither is possible; the message names what is missing and what to do.
    """
    missing = [tool for tool in ("ip", "nsenter", "unshare") if shutil.which(tool) is None]
    if missing:
        raise ClusterError("network-tools-missing", tools=missing)
    privileged = is_privileged()
    if not privileged:
        run((*_UNSHARE, "true"), failure=Problem("root-required"))
    _require_delays(as_user=not privileged)
    if privileged:
        return
    os.environ[STATE_ROOT] = os.environ.get(STATE_ROOT) or str(
        Path(tempfile.gettempdir()) / f"gesscale-testbed-{os.geteuid()}-user"
    )
    enter_namespaces = ("nsenter", f"--target={_holder()}", "--user", "--net", "--mount", "--preserve-credentials")
    here = f"--wd={Path.cwd()}"
    os.execvp("nsenter", (*enter_namespaces, here, "--", sys.executable, *sys.orig_argv[1:]))  # noqa: S606 - no shell needed


def is_privileged() -> bool:
    """Return whether this process may administer networks and enter namespaces."""
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    effective = next(int(line.split()[1], 16) for line in status.splitlines() if line.startswith("CapEff:"))
    return all(effective >> capability & 1 for capability in (_CAP_NET_ADMIN, _CAP_SYS_ADMIN))


def release() -> None:
    """End the holder of the user namespace if no cluster is left in it."""
    root = state_root()
    if cluster_names():
        return
    processes.stop(processes.find(str(root)), grace_s=2.0)
    with contextlib.suppress(OSError):
        (root / _HOLDER_LOG).unlink(missing_ok=True)
        root.rmdir()


def _require_delays(*, as_user: bool) -> None:
    try:
        os.close(os.open(TUN, os.O_RDWR | os.O_CLOEXEC))
    except OSError as error:
        if has_netem(as_user=as_user):
            return
        raise ClusterError("delay-backend-missing", device=str(TUN), cause=error.strerror) from error


def is_network_of_machine() -> bool:
    """Return whether a browser of this machine reaches a server of this process, which a user namespace prevents."""
    users = Path("/proc/self/uid_map").read_text(encoding="utf-8").split()
    return int(users[2]) > 1


def _holder() -> int:
    """Return the process that keeps the user namespace alive; start one if none runs."""
    root = private_root()
    running = [process for process in processes.find(str(root)) if process.started]
    if running:
        return running[0].pid
    log = root / _HOLDER_LOG
    holder = processes.start(
        (*_UNSHARE, "sh", "-c", _HOLD),
        processes.Mark(cluster=str(root), role=processes.Role.HOLDER),
        environment=processes.base_environment(),
        log=log,
    )
    deadline = time.monotonic() + _HOLDER_TIMEOUT_S
    while time.monotonic() < deadline and holder in processes.find(str(root)):
        if "ready" in log.read_text(encoding="utf-8"):
            return holder.pid
        time.sleep(0.05)
    processes.stop([holder], grace_s=1.0)
    raise ClusterError("user-namespace-failed", output=log.read_text(encoding="utf-8").strip() or "empty")
