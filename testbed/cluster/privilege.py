"""Root makes network namespaces and devices; whoever is not may be root of a user namespace of their own.

`enter` either returns (this process may go on), or replaces the process by itself inside the user namespace,
or says what is missing. A holder process keeps that user namespace from one command to the next; the last
``down`` ends it.
"""

import contextlib
import os
import shutil
import sys
import tempfile
import time
from pathlib import Path

from gesscale.errors import ClusterError
from testbed.cluster import processes
from testbed.cluster.commands import run
from testbed.cluster.delays import has_netem
from testbed.cluster.state import STATE_ROOT, cluster_names, private_root, state_root

TUN = Path("/dev/net/tun")
_CAP_NET_ADMIN, _CAP_SYS_ADMIN = 12, 21
_HOLDER_TIMEOUT_S, _HOLDER_LOG = 60.0, ".holder.log"
_UNSHARE = ("unshare", "--user", "--map-root-user", "--net", "--mount", "--")
#: Prepares the user namespace, says so, and stays.
_HOLD = "mount -t tmpfs tmpfs /run && mkdir /run/netns && ip link set lo up && echo ready && exec sleep infinity"


def enter() -> None:
    """Make sure that this process may build a cluster; where needed, start it again in a user namespace.

    Raises
    ------
    ClusterError
        Where neither is possible; the message says what is missing and what to do.
    """
    needed = [tool for tool in ("ip", "nsenter", "unshare") if shutil.which(tool) is None]
    if needed:
        raise ClusterError(f"the test bed needs {', '.join(needed)}; install: apt-get install iproute2 util-linux")
    privileged = is_privileged()
    if not privileged:
        run(
            (*_UNSHARE, "true"),
            failure="network namespaces need root (CAP_NET_ADMIN and CAP_SYS_ADMIN), and this kernel gives no user "
            "namespace instead; run as root, or once: sudo sysctl kernel.unprivileged_userns_clone=1 "
            "kernel.apparmor_restrict_unprivileged_userns=0",
        )
    _require_delays(as_user=not privileged)
    if privileged:
        return
    os.environ[STATE_ROOT] = os.environ.get(STATE_ROOT) or str(
        Path(tempfile.gettempdir()) / f"gesscale-testbed-{os.geteuid()}-user"
    )
    way_in = ("nsenter", f"--target={_holder()}", "--user", "--net", "--mount", "--preserve-credentials")
    here = f"--wd={Path.cwd()}"
    os.execvp("nsenter", (*way_in, here, "--", sys.executable, *sys.orig_argv[1:]))  # noqa: S606 - no shell wanted


def is_privileged() -> bool:
    """Whether this process may administer networks and enter namespaces."""
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    effective = next(int(line.split()[1], 16) for line in status.splitlines() if line.startswith("CapEff:"))
    return all(effective >> capability & 1 for capability in (_CAP_NET_ADMIN, _CAP_SYS_ADMIN))


def release() -> None:
    """End the holder of the user namespace when no cluster is left in it."""
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
        raise ClusterError(
            f"delays between nodes need {TUN} or the kernel's netem; netem is absent and {TUN} cannot be "
            f"opened ({error.strerror}); run as root, or once: sudo modprobe tun; sudo chmod 0666 {TUN}"
        ) from error


def is_network_of_machine() -> bool:
    """Whether a browser of this machine reaches what is served here: not from within a user namespace of our own."""
    users = Path("/proc/self/uid_map").read_text(encoding="utf-8").split()
    return int(users[2]) > 1


def _holder() -> int:
    """Return the process that keeps the user namespace, started if there is none."""
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
    raise ClusterError(f"no user namespace for the cluster: {log.read_text(encoding='utf-8').strip() or 'no answer'}")
