"""The relay as this process sees it: it is compiled when needed, started, asked, and given new delays."""

import contextlib
import hashlib
import os
import shutil
import socket
import time
from pathlib import Path

from gesscale.errors import ClusterError
from testbed.cluster import processes
from testbed.cluster.commands import run
from testbed.cluster.namespaces import DEVICE, NAMED, control_device, namespace
from testbed.cluster.netem import one_way_us
from testbed.cluster.state import state_directory
from testbed.cluster.topology import EdgeNode, Topology

SOURCE = Path(__file__).with_name("relay.c")
COMPILE_TIMEOUT_S = 60
START_TIMEOUT_S = 60.0
CONTROL_HOST = 254


def cache_directory() -> Path:
    """Return the directory for what is costly to make again."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "gesscale"


def compiled_relay(compiler: str | None) -> Path:
    """Return the relay as a program, compiled unless this source has been already.

    Parameters
    ----------
    compiler
        The C compiler to use; None for none.

    Raises
    ------
    ClusterError
        There is neither a compiler nor a program compiled earlier, or the compiler fails.
    """
    program = cache_directory() / f"relay-{hashlib.sha256(SOURCE.read_bytes()).hexdigest()[:16]}"
    if program.exists():
        return program
    if compiler is None:
        message = (
            "expected a C compiler for the relay, as this kernel has no netem to delay packets: install gcc, on Debian "
            "apt-get install gcc libc6-dev"
        )
        raise ClusterError(message)
    program.parent.mkdir(parents=True, exist_ok=True)
    scratch = program.with_name(f"{program.name}.{os.getpid()}")
    command = (compiler, "-O2", "-o", str(scratch), str(SOURCE))
    failure = f"cannot compile the relay with {compiler}"
    try:
        run(command, failure=failure, timeout_s=COMPILE_TIMEOUT_S)
        scratch.replace(program)
    finally:
        scratch.unlink(missing_ok=True)
    return program


def find_compiler() -> str | None:
    """Return the C compiler of this machine; None without one."""
    return shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")


def relay_config(topology: Topology) -> str:
    """Return the relay's configuration: devices, and half the round trip for either direction of a pair."""
    lines = [
        f"node {node.host} {NAMED / namespace(topology.name, node.name)} {DEVICE}" for node in topology.nodes
    ]
    lines.append(f"node {CONTROL_HOST} - {control_device(topology.name)}")
    lines.extend(
        f"delay {first.host} {second.host} {one_way_us(topology, first, second)}"
        for first in topology.nodes
        for second in topology.nodes
        if first.name != second.name
    )
    return "\n".join(lines) + "\n"


def start_relay(topology: Topology) -> None:
    """Start the relay and wait until it answers.

    Raises
    ------
    ClusterError
        Where it cannot be compiled, ends at once or never answers.
    """
    directory = state_directory(topology.name)
    config, log = directory / "relay.conf", directory / "logs" / "relay.log"
    config.write_text(relay_config(topology), encoding="utf-8")
    process = processes.start(
        (str(compiled_relay(find_compiler())), str(config), str(_socket_path(topology.name))),
        processes.Mark(cluster=str(directory), role=processes.Role.RELAY),
        environment=processes.base_environment(),
        log=log,
    )
    deadline = time.monotonic() + START_TIMEOUT_S
    while time.monotonic() < deadline:
        if relay_answers(topology.name):
            return
        if process not in processes.find(str(directory)):
            break
        time.sleep(0.05)
    written = log.read_text(encoding="utf-8", errors="replace").strip() or "nothing"
    message = f"the relay of cluster {topology.name!r} does not work; it wrote: {written}"
    raise ClusterError(message)


def relay_answers(cluster: str) -> bool:
    """Whether the relay of a cluster is alive and well."""
    return _ask(cluster, "ping") == "ok"


def set_delay(cluster: str, first: EdgeNode, second: EdgeNode, *, rtt_ms: float) -> None:
    """Change the round trip between two nodes while everything runs.

    Raises
    ------
    ClusterError
        Where the relay does not take it.
    """
    for source, target in ((first, second), (second, first)):
        answer = _ask(cluster, f"delay {source.host} {target.host} {round(rtt_ms * 500)}")
        if answer != "ok":
            message = (
                f"the relay of cluster {cluster!r} did not take {rtt_ms} ms for {source.name} to "
                f"{target.name} (it answered {answer!r}); expected 0 to 120000 ms and a relay that is up: "
                f"testbed status {cluster}"
            )
            raise ClusterError(message)


def _socket_path(cluster: str) -> Path:
    return state_directory(cluster) / "relay.socket"


def _ask(cluster: str, message: str) -> str:
    """Send the relay a message and return its answer; empty where there is none."""
    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as asker:
        asker.bind("")  # an address of the kernel's choice, to be answered at
        asker.settimeout(1.0)
        asker.connect(str(_socket_path(cluster)))
        asker.send(message.encode())
        return asker.recv(64).decode()
    return ""
