"""Downloads and unpacks the Debian packages of the virtual machine, without installing them."""

import os
import shutil
import subprocess
from pathlib import Path

from gesscale.common.shell import command_line

PROGRAMS = ("qemu-system-x86", "busybox-static", "dropbear-bin", "iputils-ping", "iproute2", "util-linux")
"""Downloaded with the dependencies that are missing on this system; installed ones are used from there."""

KERNEL = "linux-image-cloud-amd64"


def unpacked_packages(cache: Path) -> Path:
    """Return the folder with the unpacked packages; the first call fills it."""
    root = cache / "root"
    if (cache / "complete").exists():
        return root
    for tool in ("apt-get", "apt-cache", "dpkg"):
        if shutil.which(tool) is None:
            message = f"expected a Debian system, {tool} is missing; run this on Debian 12"
            raise SystemExit(message)
    archives = cache / "archives"
    (archives / "partial").mkdir(parents=True, exist_ok=True)
    _run("apt-get", "update", "-qq")
    options = ("-y", "-qq", "-o", f"Dir::Cache::archives={archives.resolve()}", "-o", "APT::Sandbox::User=root")
    _run("apt-get", "install", "--download-only", "--no-install-recommends", *options, *PROGRAMS)
    kernel = next(
        line.split(":")[1].strip() for line in _run("apt-cache", "depends", KERNEL).splitlines() if "Depends:" in line
    )
    _run("apt-get", "download", "-qq", "-o", "APT::Sandbox::User=root", kernel, cwd=archives)
    for archive in sorted(archives.glob("*.deb")):
        _run("dpkg", "-x", str(archive), str(root))
    version = next((root / "lib/modules").iterdir()).name
    _run(str(program(root, "busybox")), "depmod", "-b", str(root), version)
    shutil.rmtree(archives)
    (cache / "complete").touch()
    return root


def program(root: Path, name: str) -> Path:
    """Return the path of a program: the unpacked one, otherwise the system's."""
    for folder in ("usr/bin", "bin", "usr/sbin", "sbin"):
        if (root / folder / name).exists():
            return root / folder / name
    found = shutil.which(name)
    if found is None:
        message = f"expected the program {name} in {root} or on this system; delete {root.parent} and run again"
        raise SystemExit(message)
    return Path(found)


def libraries(root: Path) -> dict[str, str]:
    """Return the environment in which unpacked programs find their libraries."""
    folders = (root / "usr/lib/x86_64-linux-gnu", root / "lib/x86_64-linux-gnu")
    return {**os.environ, "LD_LIBRARY_PATH": ":".join(str(folder.resolve()) for folder in folders)}


def _run(*command: str, cwd: Path | None = None) -> str:
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    if done.returncode:
        message = f"{command_line(command)} failed: {done.stderr.strip() or done.stdout.strip()}"
        raise SystemExit(message)
    return done.stdout
