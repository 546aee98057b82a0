"""The programs in Go, each kept by the hash of its sources.

`control_plane/` is every part of Kubernetes, `network_policies/` enforces NetworkPolicies on a node as k3s does.
A folder without sources of its own, such as `deploy/release/helm/`, names in its ``go.mod`` the tool of others.
"""

import fcntl
import hashlib
import os
import shutil
from pathlib import Path

from gesscale.errors import ClusterError
from testbed.cluster.commands import run

SOURCES = Path(__file__).parent / "control_plane"
POLICY_SOURCES = Path(__file__).parent / "network_policies"
HELM_SOURCES = Path(__file__).parents[2] / "deploy" / "release" / "helm"
CACHE = Path(__file__).parents[2] / ".cache" / "kubernetes"
VERSION = "v1.36.3"
BUILD_TIMEOUT_S = 1500
LINKS = ("kubectl",)
"""Parts that users run by name: a link next to the program makes it that part."""

_STAMP = "k8s.io/component-base/version"
_FLAGS = (
    "-trimpath",
    "-buildvcs=false",
    "-gcflags=all=-dwarf=false",  # a build cache of 2.7 GB instead of 3.3; it is not debugged
    f"-ldflags=-s -w -X {_STAMP}.gitVersion={VERSION} -X {_STAMP}.gitMajor=1 -X {_STAMP}.gitMinor=36",
)
_COMPILER_MEMORY = {"GOGC": "400"}
"""The compiler collects garbage a quarter as often: a seventh of the time is saved."""


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

    Returns
    -------
    pathlib.Path
        The program; next to Kubernetes are links such as ``kubectl``.

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
        message = (
            "building Kubernetes needs Go 1.26 or newer; install it from https://go.dev/dl and put it on PATH"
        )
        raise ClusterError(message)
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
