"""Processes of a cluster: started in a node's namespace, found again by a marker in their environment.

No list of processes is stored: ``/proc`` shows which are alive, their cluster and their role. So a crash of the
starting process loses nothing, and a process of another program is never mistaken for one of ours.
"""

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from gesscale.errors import ClusterError

MARKER = "GESSCALE_TESTBED"
_ROLE, _OPERATOR, _NODE, _SERIAL = ("GESSCALE_ROLE", "GESSCALE_OPERATOR", "GESSCALE_NODE_NAME", "GESSCALE_SERIAL")
_PLACES = ("PATH", "HOME", "TMPDIR", "JAVA_HOME", "PYTHONPATH", "VIRTUAL_ENV", "XDG_CACHE_HOME")
_INHERITED = (*_PLACES, "LANG", "LC_ALL")

_EXEC_S, _KILLED_S, _POLL_S = 10.0, 5.0, 0.02
#: Positions in /proc/PID/stat after the program's name (fields 26, 50 and 51 of proc(5)).
_START_CODE, _ENV_START, _ENV_END = 23, 47, 48

_children: list[subprocess.Popen[bytes]] = []


class Role(StrEnum):
    """The role of a process of the cluster."""

    HOLDER = "holder"
    RELAY = "relay"
    DRIVER = "driver"
    EXECUTOR = "executor"
    BROKER = "broker"
    PRODUCER = "producer"
    CONTROL_PLANE = "control-plane"
    NODE = "node"
    CONTROLLER = "controller"


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """Identity of a process, stored in its environment; its children inherit it."""

    #: The state directory of its cluster: one per cluster and user.
    cluster: str
    role: Role
    node: str = ""
    operator: str = ""
    #: Distinguishes processes of one role; 0 if there is only one.
    serial: int = 0

    def environment(self) -> dict[str, str]:
        """Return the variables that carry the mark."""
        return {
            MARKER: self.cluster,
            _ROLE: self.role.value,
            _NODE: self.node,
            _OPERATOR: self.operator,
            _SERIAL: str(self.serial),
        }

    @classmethod
    def read(cls, environment: Mapping[str, str]) -> "Mark | None":
        """Return the mark that an environment carries; None without one."""
        try:
            return cls(
                cluster=environment[MARKER],
                role=Role(environment[_ROLE]),
                node=environment[_NODE],
                operator=environment[_OPERATOR],
                serial=int(environment[_SERIAL]),
            )
        except (KeyError, ValueError):
            return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Process:
    """A live process of a cluster."""

    pid: int
    mark: Mark
    #: Whether the cluster started it itself, rather than one of its processes.
    started: bool


def base_environment() -> dict[str, str]:
    """Return the variables that the cluster's processes inherit: locations of programs, home and caches only."""
    return {name: os.environ[name] for name in _INHERITED if name in os.environ}


def start(
    command: Sequence[str], mark: Mark, *, environment: Mapping[str, str], log: Path, directory: Path | None = None
) -> Process:
    """Start a process in a new session; it outlives this one.

    Raises
    ------
    ClusterError
        If the program cannot be started.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    if directory is not None:
        directory.mkdir(parents=True, exist_ok=True)
    try:
        with log.open("wb") as output:
            child = subprocess.Popen(
                command,
                cwd=directory,
                env={**environment, **mark.environment()},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
    except OSError as error:
        raise ClusterError(
            "process-not-started", role=mark.role.value, node=mark.node, program=command[0], cause=str(error)
        ) from error
    _children.append(child)
    return Process(pid=child.pid, mark=mark, started=True)


def find(cluster: str) -> tuple[Process, ...]:
    """Return the live processes of a cluster, without this process and its ancestors."""
    _reap()
    own = _ancestry()
    marker, found = _marker(cluster), []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdecimal() or int(entry.name) in own:
            continue
        with contextlib.suppress(OSError):  # already gone, or of another user
            content = _environment(entry)
            if marker not in content:
                continue
            pairs = (item.decode(errors="replace").partition("=") for item in content.split(b"\0"))
            mark = Mark.read({name: value for name, _, value in pairs})
            if mark is not None and mark.cluster == cluster:
                pid = int(entry.name)
                found.append(Process(pid=pid, mark=mark, started=os.getsid(pid) == pid))
    return tuple(sorted(found, key=lambda process: process.pid))


def stop(
    processes: Iterable[Process], *, grace_s: float, first: signal.Signals = signal.SIGTERM
) -> tuple[Process, ...]:
    """End processes: send a signal, wait, then kill the rest; return those that were killed.

    Parameters
    ----------
    grace_s
        Time for them to exit after the signal, seconds.
    """
    left = [process for process in processes if _send(process, first)]
    left = _wait_gone(left, grace_s)
    for process in left:
        _send(process, signal.SIGKILL)
    _wait_gone(left, _KILLED_S)
    _reap()
    return tuple(left)


def kill(processes: Iterable[Process]) -> None:
    """End processes by SIGKILL, like a crash."""
    stop(processes, grace_s=0.0, first=signal.SIGKILL)


def send_signal(processes: Iterable[Process], number: signal.Signals) -> None:
    """Send processes a signal without waiting; ignore those that have ended."""
    for process in processes:
        _send(process, number)


def stop_all(cluster: str, *, grace_s: float = 3.0) -> int:
    """End every process of a cluster, including those that start during this call, and return their number.

    Raises
    ------
    ClusterError
        If some cannot be ended.
    """
    ended: set[int] = set()
    for _ in range(5):
        processes = find(cluster)
        if not processes:
            return len(ended)
        ended.update(process.pid for process in processes)
        stop(processes, grace_s=grace_s)
    raise ClusterError("processes-not-ended", pids=[process.pid for process in find(cluster)], cluster=cluster)


def _send(process: Process, number: signal.Signals) -> bool:
    """Send a process a signal, and never to a later process with its pid; return False if it has ended."""
    try:
        fd = os.pidfd_open(process.pid)
    except OSError:
        return False
    try:
        if not _is_alive(process):
            return False
        signal.pidfd_send_signal(fd, number)
    except ProcessLookupError:
        return False
    finally:
        os.close(fd)
    return True


def _is_alive(process: Process) -> bool:
    try:
        return _marker(process.mark.cluster) in _environment(Path(f"/proc/{process.pid}"))
    except OSError:
        return False


def _wait_gone(processes: Sequence[Process], seconds: float) -> list[Process]:
    """Wait for processes to end; return those that have not."""
    deadline = time.monotonic() + seconds
    while (left := [each for each in processes if _is_alive(each)]) and time.monotonic() < deadline:
        time.sleep(_POLL_S)
    return left


def _marker(cluster: str) -> bytes:
    return f"{MARKER}={cluster}\0".encode()


def _environment(entry: Path) -> bytes:
    """Read a process's environment; retry while it is empty because the process is in exec()."""
    deadline = time.monotonic() + _EXEC_S
    while not (content := (entry / "environ").read_bytes()):
        if time.monotonic() > deadline or _has_no_environment(entry):
            break
        time.sleep(0.001)
    return content


def _has_no_environment(entry: Path) -> bool:
    """Return whether a process has no environment; raises OSError for zombies and kernel threads.

    During exec() the environment is empty until the kernel has copied it, and the code address is 0 until then.
    """
    (entry / "exe").readlink()
    fields = (entry / "stat").read_bytes().rpartition(b")")[2].split()
    return fields[_START_CODE] != b"0" and fields[_ENV_START] == fields[_ENV_END] != b"0"


def _ancestry() -> set[int]:
    own, pid = set(), os.getpid()
    while pid > 0 and pid not in own:
        own.add(pid)
        try:
            pid = int(Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[1])
        except OSError:
            break
    return own


def _reap() -> None:
    """Reap ended children, so that none stays a zombie."""
    _children[:] = [child for child in _children if child.poll() is None]
