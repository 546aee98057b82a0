"""The programs of a cluster: built from Go's sources, installed, or unpacked by setup.sh."""

import fcntl
import hashlib
import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from gesscale.errors import ClusterError
from testbed.cluster import privilege
from testbed.cluster.commands import run
from testbed.kubernetes import control_groups

SOURCES = Path(__file__).parent / "control_plane"
POLICY_SOURCES = Path(__file__).parent / "network_policies"
HELM_SOURCES = Path(__file__).parents[2] / "deploy" / "release" / "helm"
CACHE = Path(__file__).parents[2] / ".cache" / "kubernetes"
VERSION = "v1.36.3"
BUILD_TIMEOUT_S = 1500
#: Parts that users run by name: a link next to the program makes it that part.
LINKS = ("kubectl",)

_STAMP = "k8s.io/component-base/version"
_FLAGS = (
    "-trimpath",
    "-buildvcs=false",
    "-gcflags=all=-dwarf=false",  # a build cache of 2.7 GB instead of 3.3; it is not debugged
    f"-ldflags=-s -w -X {_STAMP}.gitVersion={VERSION} -X {_STAMP}.gitMajor=1 -X {_STAMP}.gitMinor=36",
)
#: The compiler collects garbage a quarter as often: a seventh of the time is saved.
_COMPILER_MEMORY = {"GOGC": "400"}


def program_path(sources: Path | None = None) -> Path:
    """Return where the program of the present sources is, or would be.

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
    """Whether `build` has nothing to do for these sources; None for Kubernetes itself."""
    return program_path(sources).exists()


def find_go() -> str | None:
    """Return the go command of this machine; None without one."""
    return shutil.which("go") or shutil.which("go", path="/usr/local/go/bin:/usr/lib/go/bin")


def build(sources: Path | None = None) -> Path:
    """Build a program unless it is there; takes minutes, and the Go module proxy, the first time.

    Parameters
    ----------
    sources
        Its folder; None for Kubernetes itself.

    Raises
    ------
    ClusterError
        Where there is no Go, or the build fails.
    """
    program = program_path(sources)
    if program.exists():
        return program
    go = find_go()
    if go is None:
        raise ClusterError(
            "building Kubernetes needs Go 1.26 or newer; install it from https://go.dev/dl and put it on PATH"
        )
    program.parent.mkdir(parents=True, exist_ok=True)
    with (CACHE / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # who comes second waits and finds the program
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
            failure=f"cannot build {program.name} in {sources} (it needs Go 1.26 and its module proxy)",
            directory=sources,
            environment={**_COMPILER_MEMORY, **os.environ, "CGO_ENABLED": "0"},
            timeout_s=BUILD_TIMEOUT_S,
        )
        scratch.replace(program)
    finally:
        scratch.unlink(missing_ok=True)


UNPACKED = Path(__file__).parents[2] / ".cache" / "containerd"
#: Where installed programs and plugins may be, besides PATH.
SYSTEM = ("/usr/sbin", "/usr/local/sbin", "/usr/lib/cni", "/opt/cni/bin")


@dataclass(frozen=True, slots=True, kw_only=True)
class Tools:
    """Programs that the nodes run."""

    containerd: Path
    ctr: Path
    runc: Path
    #: The directory of network plugins.
    plugins: Path
    #: Linked statically: it is all there is in the small images.
    busybox: Path

    @property
    def path(self) -> str:
        """The value of PATH with which containerd finds its shim and runc."""
        folders = dict.fromkeys(str(each.parent) for each in (self.containerd, self.runc))
        return ":".join((*folders, os.environ.get("PATH", os.defpath)))


def find_tools() -> Tools:
    """Return the tools of this machine.

    Raises
    ------
    ClusterError
        Where one is missing; the message names all that are.
    """
    found = {name: _program(name) for name in ("containerd", "ctr", "runc", "busybox")}
    plugins = next((at for at in _plugin_folders() if (at / "host-local").exists()), None)
    missing = [name for name, path in found.items() if path is None]
    if plugins is None or missing:
        names = ", ".join([*missing, *([] if plugins else ["CNI plugins"])])
        raise ClusterError(
            f"Kubernetes nodes need {names}; run: ./setup.sh test (or install containerd and its plugins)"
        )
    programs = {name: path for name, path in found.items() if path is not None}
    return Tools(plugins=plugins, **programs)


def lacking_rights() -> str:
    """Return which rights this process lacks for a Kubernetes, in one line; empty where none."""
    if os.geteuid() != 0 or not privilege.is_privileged():
        return "needs root, to make network namespaces and control groups"
    if not control_groups.are_writable():
        return f"needs control groups that root may write, in {control_groups.ROOT}"
    return ""


def obstacle() -> str:
    """Return why no Kubernetes can be brought up here, in one line; empty where it can."""
    if lacking := lacking_rights():
        return lacking
    if not is_built() and find_go() is None:
        return "needs Go 1.26 or newer, to build Kubernetes"
    try:
        find_tools()
    except ClusterError as error:
        return str(error)
    return ""


def _program(name: str) -> Path | None:
    at_hand = shutil.which(name, path=os.pathsep.join((os.environ.get("PATH", ""), *SYSTEM)))
    unpacked = [UNPACKED / folder / name for folder in ("usr/bin", "usr/sbin", "bin")]
    # an installed busybox may need libraries, which its image lacks
    candidates = unpacked if name == "busybox" else [Path(at_hand)] if at_hand else unpacked
    return next((path for path in candidates if path.exists()), None)


def _plugin_folders() -> list[Path]:
    return [*map(Path, SYSTEM), UNPACKED / "usr/lib/cni"]
