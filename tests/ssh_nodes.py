"""Three nodes for tests: network namespaces on a bridge, in each a real sshd for one key made on the spot."""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from latency_map.shell import command_line

NODES = ("a", "b", "c")
SUBNET = "10.93.71"
CONTROL = 254
SETTLE_S = 150  # bound of a wait, not an expectation
PROJECT = Path(__file__).parents[1]
UNPACKED = PROJECT / ".cache" / "openssh"
"""Where setup.sh unpacks the servers of a Debian that has none installed."""

_FOLDERS = ("usr/sbin", "usr/bin", "sbin", "bin")
_ACCOUNTS = "root:x:0:0:root:/:/bin/sh\nsshd:x:101:65534::/run/sshd:/bin/false\nedge:x:1009:1009::/:/bin/sh\n"
_PASSWORDS = "root:*:19000:0:99999:7:::\nsshd:!:19000::::::\nedge:*:19000:0:99999:7:::\n"
_SSHD = """\
Port 22
ListenAddress {address}
HostKey {folder}/host_key
AuthorizedKeysFile /run/key.pub
StrictModes no
PidFile none
SetEnv PATH={path}
"""
_SSH = """\
Host *
  IdentityFile {folder}/key
  IdentitiesOnly yes
  UserKnownHostsFile {folder}/known_hosts
  StrictHostKeyChecking yes
  User root
"""


def find_tool(name: str) -> str | None:
    """Return the path of an installed or unpacked program."""
    path = os.pathsep.join(["/usr/sbin", "/sbin", os.environ["PATH"], *(f"{UNPACKED}/{f}" for f in _FOLDERS)])
    return shutil.which(name, path=path)


def namespace(node: str) -> str:
    """Return the network namespace of a node; ``control`` is the one that all nodes can be reached from."""
    return f"gsapply-{node}"


def address(node: str) -> str:
    """Return the address of a node."""
    return f"{SUBNET}.{NODES.index(node) + 1}"


def execute(command: Sequence[str], *, node: str = "control") -> str:
    """Run a command in a node and return what it printed."""
    return subprocess.check_output(
        ("ip", "netns", "exec", namespace(node), *command), text=True, timeout=SETTLE_S
    )


@contextmanager
def network() -> Iterator[None]:
    """Make the namespaces and the links between them, without any sshd."""
    names = [namespace(each) for each in (*NODES, "control")]
    try:
        for name in names:
            subprocess.run(("ip", "netns", "add", name), check=True)
            subprocess.run(("ip", "-n", name, "link", "set", "lo", "up"), check=True)
        execute(("ip", "link", "add", "bridge0", "type", "bridge"))
        execute(("ip", "address", "add", f"{SUBNET}.{CONTROL}/24", "dev", "bridge0"))
        execute(("ip", "link", "set", "bridge0", "up"))
        for node in NODES:
            port, there = f"port-{node}", ("peer", "name", "eth0", "netns", namespace(node))
            execute(("ip", "link", "add", port, "type", "veth", *there))
            execute(("ip", "link", "set", port, "master", "bridge0", "up"))
            execute(("ip", "address", "add", f"{address(node)}/24", "dev", "eth0"), node=node)
            execute(("ip", "link", "set", "eth0", "up"), node=node)
        yield
    finally:
        for name in names:
            subprocess.run(("ip", "netns", "delete", name), check=False)


@dataclass(frozen=True, kw_only=True)
class SshNodes:
    """Running nodes, and the files that a client of theirs needs.

    Attributes
    ----------
    folder
        Where the files are: ``hosts.csv``, ``ssh_config``, keys, what each sshd says.
    servers
        The process of each node's sshd.
    """

    folder: Path
    servers: dict[str, int]

    @property
    def hosts(self) -> Path:
        """CSV of the nodes."""
        return self.folder / "hosts.csv"

    def testbed(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run ``testbed`` from outside the nodes."""
        inside = ("ip", "netns", "exec", namespace("control"))
        known = ("--hosts", str(self.hosts), "--ssh-config", str(self.folder / "ssh_config"))
        return subprocess.run(
            (*inside, sys.executable, "-m", "testbed", *arguments, *known),
            capture_output=True,
            text=True,
            timeout=2 * SETTLE_S,
            check=False,
        )


@contextmanager
def ssh_nodes(folder: Path, *, read_only: str = "") -> Iterator[SshNodes]:
    """Make the nodes and start their sshd.

    Parameters
    ----------
    folder
        Where keys and configuration are written.
    read_only
        A node on which nothing can be written to /run.
    """
    for key in ("key", "host_key"):
        subprocess.run(("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / key)), check=True)
    public = (folder / "host_key.pub").read_text()
    (folder / "known_hosts").write_text("".join(f"{address(node)} {public}" for node in NODES))
    (folder / "ssh_config").write_text(_SSH.format(folder=folder))
    (folder / "hosts.csv").write_text("name,address\n" + "".join(f"{n},{address(n)}\n" for n in NODES))
    (folder / "passwd").write_text(_ACCOUNTS)
    (folder / "shadow").write_text(_PASSWORDS)
    servers: list[subprocess.Popen[bytes]] = []
    with network():
        try:
            servers.extend(_start_sshd(folder, node, node == read_only) for node in NODES)
            for node in NODES:
                _await_sshd(node)
            yield SshNodes(
                folder=folder, servers=dict(zip(NODES, (server.pid for server in servers), strict=True))
            )
        finally:
            for server in servers:
                server.kill()
                server.wait(10)


def _start_sshd(folder: Path, node: str, read_only: bool) -> subprocess.Popen[bytes]:
    ping = find_tool("ping")
    path = os.pathsep.join(["/usr/sbin:/usr/bin:/sbin:/bin", str(Path(ping or "/bin/ping").parent)])
    config = folder / f"sshd-{node}"
    config.write_text(_SSHD.format(address=address(node), folder=folder, path=path))
    steps = [
        ("mount", "--bind", f"{folder}/passwd", "/etc/passwd"),
        ("mount", "--bind", f"{folder}/shadow", "/etc/shadow"),
        ("mount", "-t", "tmpfs", "tmpfs", "/run"),
        ("mkdir", "-m", "755", "/run/sshd"),
        ("cp", f"{folder}/key.pub", "/run"),
        *([("mount", "-o", "remount,ro", "/run")] if read_only else []),
        ("exec", find_tool("sshd") or "sshd", "-D", "-e", "-f", str(config)),
    ]
    libraries = ":".join(str(path) for path in (UNPACKED / "usr" / "lib").glob("*-linux-gnu*"))
    with (folder / f"sshd-{node}.log").open("wb") as log:
        return subprocess.Popen(
            ("ip", "netns", "exec", namespace(node), "sh", "-c", " && ".join(map(command_line, steps))),
            env={**os.environ, "LD_LIBRARY_PATH": libraries},
            stderr=log,
        )


def _await_sshd(node: str) -> None:
    wait = f"import socket; socket.create_connection(({address(node)!r}, 22), 10).close()"
    deadline = time.monotonic() + SETTLE_S
    while subprocess.run(
        ("ip", "netns", "exec", namespace("control"), sys.executable, "-c", wait),
        capture_output=True,
        check=False,
    ).returncode:
        if time.monotonic() > deadline:
            message = f"sshd of {node} does not listen"
            raise TimeoutError(message)
        time.sleep(0.1)
