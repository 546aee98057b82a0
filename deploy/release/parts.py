"""The parts of a release, each made of the same commit and the same, byte for byte, wherever it is made."""

import hashlib
import io
import json
import os
import subprocess
import sys
import tarfile
import tempfile
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from archives import packed, unpacked
from chart import chart_files

_BUILD = """
import sys
from setuptools import build_meta
place = sys.argv[1]  # setuptools writes its own arguments there
print(build_meta.build_sdist(place))
print(build_meta.build_wheel(place))
"""
_TIMEOUT_S = 300


class ReleaseError(Exception):
    """A release cannot be made, or is not what it says."""


@dataclass(frozen=True, slots=True)
class Source:
    """What a release is made of.

    Attributes
    ----------
    commit
        Its hash.
    epoch_s
        When it was committed, in seconds since 1970: the time of all files.
    folder
        A copy of its files, which may be written to.
    """

    commit: str
    epoch_s: int
    folder: Path

    @property
    def project(self) -> dict[str, Any]:
        """What ``pyproject.toml`` says of the project: the one place that has its version."""
        project: dict[str, Any] = tomllib.loads((self.folder / "pyproject.toml").read_text("utf-8"))[
            "project"
        ]
        return project


def checkout(root: Path, commit: str, folder: Path) -> Source:
    """Copy the files of a commit.

    Raises
    ------
    ReleaseError
        There is no such commit, or no git.
    """
    found = run(["git", "rev-parse", f"{commit}^{{commit}}"], root).decode().strip()
    epoch_s = int(run(["git", "show", "-s", "--format=%ct", found], root))
    with tarfile.open(fileobj=io.BytesIO(run(["git", "archive", found], root))) as archive:
        archive.extractall(folder, filter="data")
    return Source(commit=found, epoch_s=epoch_s, folder=folder)


def python_packages(source: Source) -> dict[str, bytes]:
    """Return the source package and the wheel by name."""
    with tempfile.TemporaryDirectory() as place:
        environment = {"SOURCE_DATE_EPOCH": str(source.epoch_s)}
        said = run([sys.executable, "-c", _BUILD, place], source.folder, environment)
        made = {file.name: file.read_bytes() for file in Path(place).iterdir()}
    if len(made) != 2:
        message = f"expected a source package and a wheel, got {sorted(made)}: {said.decode()[-300:]}"
        raise ReleaseError(message)
    # The wheel keeps to SOURCE_DATE_EPOCH; the source package has the hour in it.
    return {
        name: packed(unpacked(content), source.epoch_s) if name.endswith(".tar.gz") else content
        for name, content in made.items()
    }


def helm_chart(source: Source, kubectl: str) -> dict[str, bytes]:
    """Return the chart by its name."""
    rendered = run([kubectl, "kustomize", str(source.folder / "deploy" / "k3s")], source.folder)
    project = source.project
    files = chart_files(
        list(yaml.safe_load_all(rendered)), version=project["version"], description=project["description"]
    )
    placed = {f"gesscale/{path}": content for path, content in files.items()}
    return {f"gesscale-chart-{project['version']}.tgz": packed(placed, source.epoch_s)}


def bill_of_materials(source: Source) -> dict[str, bytes]:
    """Return the SBOM (CycloneDX) by its name: what `requirements.lock` has for the project with all extras."""
    locked = source.folder / "deploy" / "images" / "locked.py"
    wanted = run([sys.executable, str(locked), "pyproject.toml", "requirements.lock", "all"], source.folder)
    command = [
        sys.executable, "-m", "cyclonedx_py", "requirements", "-", "--pyproject", "pyproject.toml",
        "--mc-type", "application", "--output-reproducible", "--output-format", "JSON", "--spec-version", "1.6",
    ]  # fmt: skip
    bill = json.loads(run(command, source.folder, given=wanted))
    name = f"gesscale-{source.project['version']}.cdx.json"
    return {name: (json.dumps(bill, indent=1, sort_keys=True) + "\n").encode()}


def digests(files: Mapping[str, bytes]) -> dict[str, str]:
    """Return the SHA-256 of files by name, in the order of the names."""
    return {name: hashlib.sha256(files[name]).hexdigest() for name in sorted(files)}


def run(
    command: Sequence[str],
    folder: Path,
    environment: dict[str, str] | None = None,
    given: bytes | None = None,
) -> bytes:
    """Run a program and return what it wrote.

    Raises
    ------
    ReleaseError
        It is not there, fails or hangs.
    """
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            env={**os.environ, **(environment or {})},
            input=given,
            capture_output=True,
            timeout=_TIMEOUT_S,
            check=True,
        )
    except (OSError, subprocess.SubprocessError) as error:
        said = (getattr(error, "stderr", None) or b"").decode(errors="replace").strip()
        message = f"{' '.join(command[:3])[:120]}: {said[-500:] or error}"
        raise ReleaseError(message) from None
    return done.stdout
