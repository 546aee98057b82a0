#!/usr/bin/env python3
"""Build the images of the Dockerfile without Docker, without a registry and, after `fetch`, without a network.

    python deploy/images/offline.py fetch inputs --platform arm64           # Debian's and Python's packages, no image
    python deploy/images/offline.py build inputs images --platform arm64    # the same inputs make the same bytes

Needs root, Debian's buildah, mmdebstrap and Python 3.11 with pip; for another processor also arch-test and
qemu-user-static, registered with the kernel (binfmt-support does it).
"""

import argparse
import gzip
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
MACHINES = {"amd64": "x86_64", "arm64": "aarch64"}
PACKAGES = {"agent": ("--only", "ping3", "urllib3"), "controller": ("controller",)}
"""Arguments of `locked.py` for each image; the same as in the Dockerfile."""
_FOR_THE_BUILD = ("--only", "setuptools")
_DEBIAN, _ALWAYS_EPOCH_S = "bookworm", "0"
_LEFT_OUT = ("/usr/share/doc/*", "/usr/share/man/*", "/usr/share/locale/*", "/var/log/*")
_OLDEST_GLIBC, _GLIBC = 17, 36
_TIMEOUT_S = 3600
_EMULATORS = Path("/proc/sys/fs/binfmt_misc")
"""The kernel's list of emulators for other processors."""


class ImageError(Exception):
    """An image cannot be built."""


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description="Build the images without Docker and without a network.")
    commands = parser.add_subparsers(dest="command", required=True)
    fetching = commands.add_parser("fetch", help="fetch the inputs of the images; needs the network")
    building = commands.add_parser("build", help="build the images from the fetched inputs")
    for each in (fetching, building):
        each.add_argument("inputs", type=Path, help="folder of the fetched inputs")
    building.add_argument("images", type=Path, help="output folder of the images")
    building.add_argument("--target", choices=PACKAGES, action="append", help="only this image; repeatable")
    for each in (fetching, building):
        each.add_argument("--platform", choices=MACHINES, default=native(), help="platform of the nodes")
    given = parser.parse_args()
    try:
        if given.command == "fetch":
            fetch(given.inputs, given.platform)
            return
        epoch_s = int(run("git", "-C", str(ROOT), "show", "-s", "--format=%ct", "HEAD"))
        storage = Storage(Path(tempfile.mkdtemp()), ROOT, given.inputs, epoch_s)
        for target in given.target or PACKAGES:
            sys.stdout.write(f"{storage.archive(target, given.platform, given.images)}\n")
        storage.remove()
    except ImageError as error:
        sys.exit(f"offline.py: {error}")


def native() -> str:
    """Return the name of this machine's platform, as in images."""
    return next((name for name, machine in MACHINES.items() if machine == platform.machine()), "amd64")


def fetch(inputs: Path, target_platform: str, source: Path = ROOT) -> None:
    """Fetch the root file systems and the wheels of a platform.

    Raises
    ------
    ImageError
        This Python is not the version of the images, or a download failed.
    """
    if sys.version_info[:2] != (3, 11):
        message = (
            f"expected Python 3.11, the version of the images, got {platform.python_version()}: run it with python3.11"
        )
        raise ImageError(message)
    (inputs / "wheels").mkdir(parents=True, exist_ok=True)
    for file, architecture, package in (
        (f"base-{target_platform}.tar", target_platform, "python3"),
        (f"build-{native()}.tar", native(), "python3-venv"),
    ):
        if not (inputs / file).exists():
            _debian(inputs / file, architecture, package)
    locked = source / "deploy" / "images" / "locked.py"
    for chosen in (*PACKAGES.values(), _FOR_THE_BUILD):
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as listed:
            listed.write(
                run(
                    sys.executable,
                    str(locked),
                    str(source / "pyproject.toml"),
                    str(source / "requirements.lock"),
                    *chosen,
                )
            )
            listed.flush()
            run(
                sys.executable, "-m", "pip", "download", "-q", "--disable-pip-version-check", "--no-deps",
                "--require-hashes", "--only-binary", ":all:", "-d", str(inputs / "wheels"),
                *_tags(target_platform), "-r", listed.name,
            )  # fmt: skip


def _debian(file: Path, architecture: str, package: str) -> None:
    """Create a root file system of Debian's packages; an incomplete file never gets the final name."""
    unfinished = file.with_suffix(".unfinished.tar")
    left_out = [f"--dpkgopt=path-exclude={path}" for path in _LEFT_OUT]
    run(
        "mmdebstrap", "--quiet", "--variant=minbase", f"--architectures={architecture}", f"--include={package}",
        *left_out, _DEBIAN, str(unfinished), environment={"SOURCE_DATE_EPOCH": _ALWAYS_EPOCH_S},
    )  # fmt: skip
    unfinished.rename(file)


def _tags(target_platform: str) -> list[str]:
    machine = MACHINES[target_platform]
    names = [f"manylinux_2_{minor}_{machine}" for minor in range(_GLIBC, _OLDEST_GLIBC - 1, -1)]
    return [word for name in (*names, f"manylinux2014_{machine}") for word in ("--platform", name)]


class Storage:
    """Storage of buildah for images and layers, in a separate folder.

    Parameters
    ----------
    folder
        The folder.
    source
        The project's files.
    inputs
        Folder of the inputs that `fetch` has fetched.
    epoch_s
        The time of all files, in seconds since 1970.
    """

    def __init__(self, folder: Path, source: Path, inputs: Path, epoch_s: int) -> None:
        self.folder, self.source, self.inputs, self.epoch_s = folder, source, inputs.resolve(), epoch_s
        folder.mkdir(parents=True, exist_ok=True)
        settings = f'[storage]\ndriver = "overlay"\ngraphroot = "{folder}/storage"\nrunroot = "{folder}/run"\n'
        (folder / "storage.conf").write_text(settings)
        (folder / "pip.conf").write_text("[global]\nno-index = true\nfind-links = /fetched\n")

    def buildah(self, *arguments: str, given: str | None = None) -> str:
        """Run buildah on this storage, without a network, and return its output."""
        environment = {"CONTAINERS_STORAGE_CONF": str(self.folder / "storage.conf"), "BUILDAH_ISOLATION": "chroot"}
        return run("unshare", "--net", "buildah", *arguments, environment=environment, given=given)

    def build(self, target: str, target_platform: str) -> str:
        """Build an image for a platform and return its name.

        Raises
        ------
        ImageError
            A root file system is missing, the kernel cannot run programs of that platform, or the build fails.
        """
        emulator = _EMULATORS / f"qemu-{MACHINES[target_platform]}"
        if target_platform != native() and not emulator.exists():
            how = "apt install qemu-user-static binfmt-support"
            message = f"images for {target_platform}: expected an emulator at {emulator}, got none; run: {how}"
            raise ImageError(message)
        base, build_base = self._base("base", target_platform), self._base("build", native())
        version = tomllib.loads((self.source / "pyproject.toml").read_text("utf-8"))["project"]["version"]
        name, images = f"localhost/gesscale-{target}:{version}", self.source / "deploy" / "images"
        self.buildah(
            "bud", "--quiet", "--layers", "--pull-never", "--platform", f"linux/{target_platform}", "--target", target,
            "--timestamp", str(self.epoch_s), "--build-arg", f"SOURCE_DATE_EPOCH={self.epoch_s}",
            "--build-arg", f"BASE={base}", "--build-arg", f"BUILD_BASE={build_base}",
            # BuildKit sets both itself
            "--build-arg", f"BUILDPLATFORM=linux/{native()}", "--build-arg", f"TARGETARCH={target_platform}",
            "-v", f"{self.inputs / 'wheels'}:/fetched:ro", "-v", f"{self.folder / 'pip.conf'}:/etc/pip.conf:ro",
            "-f", str(images / "Dockerfile"), "--ignorefile", str(images / "Dockerfile.dockerignore"),
            "-t", name, str(self.source),
        )  # fmt: skip
        return name

    def archive(self, target: str, target_platform: str, folder: Path) -> Path:
        """Build an image and return the file that Docker, containerd and k3s load."""
        name = self.build(target, target_platform)
        folder.mkdir(parents=True, exist_ok=True)
        plain = self.folder / f"{target}.tar"
        plain.unlink(missing_ok=True)
        self.buildah("push", "--quiet", name, f"docker-archive:{plain}:{name}")
        _, _, version = name.rpartition(":")
        packed = folder / f"gesscale-{target}-{version}-{target_platform}.tar.gz"
        with (
            plain.open("rb") as content,
            packed.open("wb") as file,
            gzip.GzipFile(filename="", mode="wb", fileobj=file, compresslevel=6, mtime=0) as zipped,
        ):
            shutil.copyfileobj(content, zipped, 1 << 20)
        plain.unlink()
        return packed

    def remove(self) -> None:
        """Remove all images and layers."""
        self.buildah("rmi", "--all", "--force")
        shutil.rmtree(self.folder)

    def _base(self, kind: str, target_platform: str) -> str:
        """Import a root file system as an image, and return its name."""
        file, name = f"{kind}-{target_platform}.tar", f"localhost/gesscale-{kind}-{target_platform}:1"
        if not (self.inputs / file).exists():
            how = f"offline.py fetch {self.inputs} --platform {target_platform}"
            message = f"{self.inputs}: expected {file}, got none; run: {how}"
            raise ImageError(message)
        self.buildah(
            "bud", "--quiet", "--layers", "--pull-never", "--platform", f"linux/{target_platform}",
            "--timestamp", _ALWAYS_EPOCH_S, "-t", name, "-f", "-", str(self.inputs),
            given=f"FROM scratch\nADD {file} /\nCMD [\"/bin/sh\"]\n",
        )  # fmt: skip
        return name


def run(*command: str, environment: dict[str, str] | None = None, given: str | None = None) -> str:
    """Run a program and return its output.

    Raises
    ------
    ImageError
        The program is missing, fails or times out.
    """
    try:
        done = subprocess.run(
            command,
            env={**os.environ, **(environment or {})},
            input=given,
            capture_output=True,
            text=True,
            timeout=_TIMEOUT_S,
            check=True,
        )
    except (OSError, subprocess.SubprocessError) as error:
        stderr = (getattr(error, "stderr", None) or "").strip()
        message = f"{' '.join(command[:4])[:120]}: {stderr[-1500:] or error}"
        raise ImageError(message) from None
    return done.stdout.strip()


if __name__ == "__main__":
    main()
