"""Runs a virtual machine with one node for each name of a latency map, reachable by ssh from a separate network.

The network belongs to the machine's process: when the process exits, for any reason, the network is removed.
"""

import contextlib
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from image import MODULES, write_image
from packages import libraries, program, unpacked_packages

from gesscale.common.shell import command_line

HERE = Path(__file__).parent
PREFIX = 24
NETWORK = "10.92.1"
HOST, MACHINE = f"{NETWORK}.254", f"{NETWORK}.253"
KERNEL_OPTIONS = "console=ttyS0 panic=-1 quiet mitigations=off no5lvl"
"""The last two avoid work of the emulated processor that has no use here."""

MEMORY_MIB, MEMORY_WITH_PYTHON_MIB = 512, 2048
MAX_NODES = 250
BOOT_TIMEOUT_S = 180.0
SSH_TIMEOUT_S = 120.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """A running machine.

    Attributes
    ----------
    addresses
        Addresses of the nodes by name.
    config
        Configuration of ssh: the key that every node accepts, and the known hosts.
    console
        Log of the machine's console.
    boot_s
        Time from the start until ssh works, seconds.
    """

    pid: int
    addresses: Mapping[str, str]
    config: Path
    console: Path
    boot_s: float

    def inside(self, command: Sequence[str]) -> tuple[str, ...]:
        """Return the command line that runs a command of this system in the machine's network."""
        return ("nsenter", f"--target={self.pid}", "--net", "--mount", f"--wd={Path.cwd()}", "--", *command)

    def ssh(
        self, node: str | None, command: str, *, text: str = "", timeout_s: float = SSH_TIMEOUT_S
    ) -> subprocess.CompletedProcess[str]:
        """Run a shell command on a node, or on the machine itself if the node is None."""
        address = MACHINE if node is None else self.addresses[node]
        return subprocess.run(
            self.inside(("ssh", "-F", str(self.config), f"root@{address}", command)),
            input=text,
            capture_output=True,
            text=True,
            timeout=timeout_s,
            check=False,
        )

    def must(self, node: str | None, command: str, *, text: str = "") -> str:
        """Run a shell command like `ssh` and return its output; exit with its error if it fails."""
        done = self.ssh(node, command, text=text)
        if done.returncode:
            message = f"{node or 'the machine'}: {command!r} failed: {done.stderr.strip() or done.stdout.strip()}"
            raise SystemExit(message)
        return done.stdout


@contextlib.contextmanager
def running_machine(
    names: Sequence[str], scratch: Path, cache: Path, *, python: bool, deadline_s: int
) -> Iterator[Machine]:
    """Boot a machine, and shut it down when the context ends.

    Parameters
    ----------
    names
        The nodes.
    scratch
        A folder for its files: keys, image, console.
    cache
        Folder of the unpacked packages, which later runs use again.
    python
        Whether the machine includes Python and the project.
    deadline_s
        Time after which the machine shuts down, even if this process has ended, seconds.
    """
    if len(names) > MAX_NODES:
        message = f"expected at most {MAX_NODES} nodes, got {len(names)}"
        raise SystemExit(message)
    addresses = {name: f"{NETWORK}.{number}" for number, name in enumerate(names, 1)}
    root = unpacked_packages(cache)
    small, files = _small_files(scratch, root, addresses, deadline_s)
    image = scratch / "machine.cpio"
    write_image(image, root, small, python=python)
    began_s = time.monotonic()
    process = _start(root, image, files["console"], MEMORY_WITH_PYTHON_MIB if python else MEMORY_MIB)
    try:
        machine = Machine(pid=process.pid, addresses=addresses, boot_s=0.0, **files)
        _await_answer(machine, process)
        yield Machine(pid=process.pid, addresses=addresses, boot_s=time.monotonic() - began_s, **files)
    finally:
        process.kill()
        process.wait()
        image.unlink()


def _small_files(
    scratch: Path, root: Path, addresses: Mapping[str, str], deadline_s: int
) -> tuple[dict[str, bytes], dict[str, Path]]:
    identity, host_key, known_hosts = scratch / "identity", scratch / "host_key", scratch / "known_hosts"
    config, console = scratch / "ssh_config", scratch / "console.log"
    subprocess.run(("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", identity), check=True)
    generated = subprocess.check_output(
        (program(root, "dropbearkey"), "-t", "ed25519", "-f", host_key),
        env=libraries(root),
        stderr=subprocess.DEVNULL,
        text=True,
    )
    public = next(line for line in generated.splitlines() if line.startswith("ssh-ed25519")).rsplit(" ", 1)[0]
    hosts = ((address, public) for address in (MACHINE, *addresses.values()))
    known_hosts.write_text("".join(f"{address} {key}\n" for address, key in hosts), encoding="utf-8")
    config.write_text(
        f"IdentityFile {identity}\nIdentitiesOnly yes\nUserKnownHostsFile {known_hosts}\nBatchMode yes\n"
        "ConnectTimeout 20\nLogLevel ERROR\n",
        encoding="utf-8",
    )
    machine = {
        "DEADLINE_S": deadline_s,
        "PREFIX": PREFIX,
        "MACHINE": MACHINE,
        "MODULES": command_line((" ".join(MODULES),)),
    }
    texts = {
        "init": (HERE / "guest_init.sh").read_text(encoding="utf-8"),
        "bin/node": (HERE / "guest_node.sh").read_text(encoding="utf-8"),
        "etc/machine": "".join(f"{key}={value}\n" for key, value in machine.items()),
        "etc/nodes": "".join(f"{name} {address}\n" for name, address in addresses.items()),
        "etc/passwd": "root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n",
        "etc/group": "root:x:0:\nnogroup:x:65534:\n",
        "etc/shells": "/bin/sh\n",
        "root/.ssh/authorized_keys": identity.with_suffix(".pub").read_text(encoding="utf-8"),
    }
    small = {name: text.encode() for name, text in texts.items()} | {"etc/ssh_host_key": host_key.read_bytes()}
    return small, {"config": config, "console": console}


def _start(root: Path, image: Path, console: Path, memory_mib: int) -> subprocess.Popen[bytes]:
    """Start qemu in a separate network and mount namespace; it exits with this process.

    It has priority over other work of this system, which would cause errors of its clock.
    """
    emulator = program(root, "qemu-system-x86_64")
    kernel = next((root / "boot").glob("vmlinuz-*"))
    firmware = [part for folder in ("qemu", "seabios") for part in ("-L", str((root / "usr/share" / folder).resolve()))]
    command = (
        *(str(emulator), *firmware, "-nodefaults", "-no-user-config", "-nographic", "-no-reboot"),
        *("-accel", "tcg,tb-size=128", "-cpu", "max", "-m", str(memory_mib)),
        *("-kernel", str(kernel), "-initrd", str(image), "-append", KERNEL_OPTIONS),
        *("-serial", f"file:{console}", "-device", "virtio-rng-pci"),
        *("-netdev", "tap,id=net,ifname=tap0,script=no,downscript=no"),
        *("-device", "virtio-net-pci,netdev=net,romfile="),
    )
    network = (
        "ip link set lo up && ip tuntap add dev tap0 mode tap &&"
        f" ip address add {HOST}/{PREFIX} dev tap0 && ip link set tap0 up"
    )
    bounds = ("unshare", "--net", "--mount", "nice", "-n", "-10", "setpriv", "--pdeathsig=KILL")
    process = subprocess.Popen(
        (*bounds, "sh", "-c", f'{network} && exec "$@"', "qemu", *command),
        env=libraries(root),
        stdin=subprocess.DEVNULL,
        start_new_session=True,
    )
    with contextlib.suppress(OSError):  # exists if the kernel shares the processor between sessions first
        Path(f"/proc/{process.pid}/autogroup").write_text("-10", encoding="utf-8")
    return process


def _await_answer(machine: Machine, process: subprocess.Popen[bytes]) -> None:
    deadline_s = time.monotonic() + BOOT_TIMEOUT_S
    while time.monotonic() < deadline_s:
        if process.poll() is not None:
            break
        with contextlib.suppress(subprocess.TimeoutExpired):
            if machine.console.exists() and b"\nready" in machine.console.read_bytes().replace(b"\r", b""):
                answers = [machine.ssh(node, "true").returncode for node in (None, *machine.addresses)]
                if not any(answers):
                    return
        time.sleep(0.2)
    output = machine.console.read_text(errors="replace")[:4000] if machine.console.exists() else ""
    message = f"the machine did not answer within {BOOT_TIMEOUT_S:g} s; its console:\n{output}"
    raise SystemExit(message)
