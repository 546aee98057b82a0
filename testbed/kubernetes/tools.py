"""The programs of a cluster: built from Go sources, installed, or unpacked by setup.sh."""

import fcntl
import hashlib
import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from gesscale.common.errors import Problem
from gesscale.errors import ClusterError
from testbed.cluster import privilege
from testbed.cluster.commands import run
from testbed.kubernetes import control_groups

SOURCES = Path(__file__).parent / "control_plane"
#: Configuration files and scripts of the parts.
CONFIG = Path(__file__).parent / "config"
POLICY_SOURCES = Path(__file__).parent / "network_policies"
HELM_SOURCES = Path(__file__).parents[2] / "deploy" / "release" / "helm"
CACHE = Path(__file__).parents[2] / ".cache" / "kubernetes"
VERSION = "v1.36.3"
BUILD_TIMEOUT_S = 1500
#: Parts that users run by name, through a link to the program.
LINKS = ("kubectl",)

_STAMP = "k8s.io/component-base/version"
_FLAGS = (
    "-trimpath",
    "-buildvcs=false",
    "-gcflags=all=-dwarf=false",  # without debug information the build cache has 2.7 GB instead of 3.3
    f"-ldflags=-s -w -X {_STAMP}.gitVersion={VERSION} -X {_STAMP}.gitMajor=1 -X {_STAMP}.gitMinor=36",
)
#: The compiler collects garbage a quarter as often, which saves a seventh of the time.
_COMPILER_MEMORY = {"GOGC": "400"}


def program_path(sources: Path | None = None) -> Path:
    """Return the path of the program for the current sources, whether it is built or not.

    Parameters
    ----------
    sources
        Its folder; None for Kubernetes itself.
    """
    folder = sources or SOURCES
    digest = hashlib.sha256("\n".join(_FLAGS).encode())
    for source in sorted(folder.iterdir()):
        digest.update(f"{source.name}\n".encode() + source.read_bytes())
    name = "kubernetes" if sources is None else sources.name.replace("_", "-")
    return CACHE / digest.hexdigest()[:16] / name


def is_built(sources: Path | None = None) -> bool:
    """Return whether the program of these sources is built; None for Kubernetes itself."""
    return program_path(sources).exists()


def find_go() -> str | None:
    """Return the go command of this machine; None if Go is not installed."""
    return shutil.which("go") or shutil.which("go", path="/usr/local/go/bin:/usr/lib/go/bin")


def build(sources: Path | None = None) -> Path:
    """Build a program if needed; the first time takes minutes and the Go module proxy.

    Parameters
    ----------
    sources
        Its folder; None for Kubernetes itself.

    Raises
    ------
    ClusterError
        If there is no Go, or the build fails.
    """
    program = program_path(sources)
    if program.exists():
        return program
    go = find_go()
    if go is None:
        raise ClusterError("go-missing")
    program.parent.mkdir(parents=True, exist_ok=True)
    with (CACHE / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # a second process waits, then finds the program
        if not program.exists():
            _compile(go, sources or SOURCES, program)
    return program


def _compile(go: str, sources: Path, program: Path) -> None:
    for name in LINKS if sources == SOURCES else ():
        (program.parent / name).unlink(missing_ok=True)
        (program.parent / name).symlink_to(program.name)
    scratch = program.with_name(f"{program.name}.new")
    package = "." if any(sources.glob("*.go")) else "tool"
    command = (go, "build", *_FLAGS, "-o", str(scratch), package)
    try:
        run(
            command,
            failure=Problem("go-build-failed", {"program": program.name, "source": str(sources)}),
            directory=sources,
            environment={**_COMPILER_MEMORY, **os.environ, "CGO_ENABLED": "0"},
            timeout_s=BUILD_TIMEOUT_S,
        )
        scratch.replace(program)
    finally:
        scratch.unlink(missing_ok=True)


UNPACKED = Path(__file__).parents[2] / ".cache" / "containerd"
#: Folders of installed programs and plugins, in addition to PATH.
SYSTEM = ("/usr/sbin", "/usr/local/sbin", "/usr/lib/cni", "/opt/cni/bin")


@dataclass(frozen=True, slots=True, kw_only=True)
class Tools:
    """Programs that the nodes run."""

    containerd: Path
    ctr: Path
    runc: Path
    #: The directory of network plugins.
    plugins: Path
    #: Linked statically: the small images contain nothing else.
    busybox: Path

    @property
    def path(self) -> str:
        """The value of PATH by which containerd finds its shim and runc."""
        folders = dict.fromkeys(str(each.parent) for each in (self.containerd, self.runc))
        return ":".join((*folders, os.environ.get("PATH", os.defpath)))


def find_tools() -> Tools:
    """Return the tools of this machine.

    Raises
    ------
    ClusterError
        If one is missing; the message names all that are.
    """
    programs = {name: _program(name) for name in ("containerd", "ctr", "runc", "busybox")}
    folders = [*map(Path, SYSTEM), UNPACKED / "usr/lib/cni"]
    plugins = next((at for at in folders if (at / "host-local").exists()), None)
    missing = [name for name, path in programs.items() if path is None]
    if plugins is None or missing:
        raise ClusterError("node-tools-missing", tools=[*missing, *([] if plugins else ["CNI plugins"])])
    installed = {name: path for name, path in programs.items() if path is not None}
    return Tools(plugins=plugins, **installed)


def missing_rights() -> Problem | None:
    """Return the permission that this process lacks to run a Kubernetes cluster; None if it has all."""
    if os.geteuid() != 0 or not privilege.is_privileged():
        return Problem("kubernetes-needs-root")
    if not control_groups.are_writable():
        return Problem("control-groups-not-writable", {"root": str(control_groups.ROOT)})
    return None


def missing_requirement() -> Problem | None:
    """Return the reason why no Kubernetes cluster can be brought up here; None if one can."""
    if (missing := missing_rights()) is not None:
        return missing
    if not is_built() and find_go() is None:
        return Problem("go-missing")
    try:
        find_tools()
    except ClusterError as error:
        return error.problem
    return None


def _program(name: str) -> Path | None:
    at_hand = shutil.which(name, path=os.pathsep.join((os.environ.get("PATH", ""), *SYSTEM)))
    unpacked = [UNPACKED / folder / name for folder in ("usr/bin", "usr/sbin", "bin")]
    # an installed busybox may need libraries, which its image lacks
    candidates = unpacked if name == "busybox" else [Path(at_hand)] if at_hand else unpacked
    return next((path for path in candidates if path.exists()), None)
