"""What nodes need of the system: containerd, runc, network plugins, busybox; installed, or unpacked by setup.sh."""

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from gesscale.errors import ClusterError
from testbed.cluster import privilege
from testbed.kubernetes import build, control_groups

UNPACKED = Path(__file__).parents[2] / ".cache" / "containerd"
SYSTEM = ("/usr/sbin", "/usr/local/sbin", "/usr/lib/cni", "/opt/cni/bin")
"""Where installed programs and plugins may be, besides PATH."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tools:
    """Programs that the nodes run.

    Attributes
    ----------
    plugins
        The directory of network plugins.
    busybox
        Linked statically: it is all there is in the small images.
    """

    containerd: Path
    ctr: Path
    runc: Path
    plugins: Path
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
        message = (
            f"Kubernetes nodes need {names}; run: ./setup.sh test (or install containerd and its plugins)"
        )
        raise ClusterError(message)
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
    if not build.is_built() and build.find_go() is None:
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
