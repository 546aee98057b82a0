"""The parts of a release, built reproducibly from one commit, byte for byte the same on every machine."""

import gzip
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
from chart import chart_files

_BUILD = """
import sys
from setuptools import build_meta
place = sys.argv[1]  # setuptools writes its own arguments there
print(build_meta.build_sdist(place))
print(build_meta.build_wheel(place))
"""
#: Prints the options by the value of the chart that holds them.
_OPTIONS = """
import contextlib, io, json, re, typer
from gesscale.cli.run import app
from latency_map.measure import agent
others = {"config", "set", "policy", "steps", "kubernetes", "output"}  # not with --kubernetes
command = typer.main.get_command(app).commands["run"]
run = {name[2:] for each in command.params for name in each.opts if name.startswith("--")}
with contextlib.redirect_stdout(io.StringIO()) as text, contextlib.suppress(SystemExit):
    agent.main(["--help"])
measured = set(re.findall(r"^  --([a-z-]+) ", text.getvalue(), re.MULTILINE))
print(json.dumps({"controller.args": sorted(run - others), "agent.args": sorted(measured)}))
"""
_TIMEOUT_S = 300


class ReleaseError(Exception):
    """A release cannot be built, or is invalid."""


@dataclass(frozen=True, slots=True)
class Source:
    """The sources of a release.

    Attributes
    ----------
    commit
        Its hash.
    epoch_s
        Time of the commit, in seconds since 1970: the time of all files.
    folder
        A writable copy of its files.
    """

    commit: str
    epoch_s: int
    folder: Path

    @property
    def project(self) -> dict[str, Any]:
        """The table ``project`` of ``pyproject.toml``, the only place with the version."""
        project: dict[str, Any] = tomllib.loads((self.folder / "pyproject.toml").read_text("utf-8"))["project"]
        return project


def checkout(root: Path, commit: str, folder: Path) -> Source:
    """Copy the files of a commit.

    Raises
    ------
    ReleaseError
        The commit or git does not exist.
    """
    found = run(["git", "rev-parse", f"{commit}^{{commit}}"], root).decode().strip()
    epoch_s = int(run(["git", "show", "-s", "--format=%ct", found], root))
    with tarfile.open(fileobj=io.BytesIO(run(["git", "archive", found], root))) as archive:
        archive.extractall(folder, filter="data")
    return Source(commit=found, epoch_s=epoch_s, folder=folder)


def python_packages(source: Source) -> dict[str, bytes]:
    """Return source package and wheel by name."""
    with tempfile.TemporaryDirectory() as place:
        environment = {"SOURCE_DATE_EPOCH": str(source.epoch_s)}
        output = run([sys.executable, "-c", _BUILD, place], source.folder, environment)
        made = {file.name: file.read_bytes() for file in Path(place).iterdir()}
    if len(made) != 2:
        message = f"expected a source package and a wheel, got {sorted(made)}: {output.decode()[-300:]}"
        raise ReleaseError(message)
    # The wheel uses SOURCE_DATE_EPOCH; the source package has the build time in it.
    return {
        name: packed(unpacked(content), source.epoch_s) if name.endswith(".tar.gz") else content
        for name, content in made.items()
    }


def helm_chart(source: Source, kubectl: str) -> dict[str, bytes]:
    """Return the chart by its name."""
    k3s, project = source.folder / "deploy" / "k3s", source.project
    rendered = run([kubectl, "kustomize", str(k3s)], source.folder)
    monitors = (k3s / "components" / "prometheus-operator" / "monitors.yaml").read_bytes()
    options = json.loads(run([sys.executable, "-c", _OPTIONS], source.folder, {"PYTHONPATH": str(source.folder)}))
    files = chart_files(
        [*yaml.safe_load_all(rendered), *yaml.safe_load_all(monitors)],
        version=project["version"],
        description=project["description"],
        options=options,
    )
    placed = {f"gesscale/{path}": content for path, content in files.items()}
    return {f"gesscale-chart-{project['version']}.tgz": packed(placed, source.epoch_s)}


def sbom(source: Source) -> dict[str, bytes]:
    """Return the SBOM (CycloneDX) by its name: the locked packages of the project with all extras."""
    document = cyclonedx(source, locked(source, "all"))
    name = f"gesscale-{source.project['version']}.cdx.json"
    return {name: (json.dumps(document, indent=1, sort_keys=True) + "\n").encode()}


def locked(source: Source, *names: str) -> bytes:
    """Return the part of `requirements.lock` for extras of the project, or after ``--only`` for packages."""
    script = source.folder / "deploy" / "images" / "locked.py"
    return run([sys.executable, str(script), "pyproject.toml", "requirements.lock", *names], source.folder)


def cyclonedx(source: Source, requirements: bytes) -> dict[str, Any]:
    """Return the SBOM of requirements."""
    command = [
        sys.executable, "-m", "cyclonedx_py", "requirements", "-", "--pyproject", "pyproject.toml",
        "--mc-type", "application", "--output-reproducible", "--output-format", "JSON", "--spec-version", "1.6",
    ]  # fmt: skip
    document: dict[str, Any] = json.loads(run(command, source.folder, given=requirements))
    return document


def packed(files: Mapping[str, bytes], epoch_s: int, *, zipped: bool = True) -> bytes:
    """Pack files into a ``tar.gz``, or a ``tar``, without traces of the machine or the time.

    Parameters
    ----------
    files
        Contents by path.
    epoch_s
        The time of all files, in seconds since 1970.
    zipped
        Whether to compress them.

    Returns
    -------
    bytes
        The archive: sorted paths, owned by root, readable by all.
    """
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for path in sorted(files):
            member = tarfile.TarInfo(path)
            member.size, member.mtime, member.mode = len(files[path]), epoch_s, 0o644
            archive.addfile(member, io.BytesIO(files[path]))
    # The default level may change.
    return gzip.compress(content.getvalue(), compresslevel=9, mtime=epoch_s) if zipped else content.getvalue()


def unpacked(archive: bytes) -> dict[str, bytes]:
    """Return the files of a ``tar.gz`` or a ``tar`` by path, without folders and links."""
    with tarfile.open(fileobj=io.BytesIO(archive), mode="r:*") as opened:
        return {
            member.name: content.read()
            for member in opened.getmembers()
            if member.isfile() and (content := opened.extractfile(member)) is not None
        }


def digests(files: Mapping[str, bytes]) -> dict[str, str]:
    """Return the SHA-256 of files by name, sorted by name."""
    return {name: hashlib.sha256(files[name]).hexdigest() for name in sorted(files)}


def run(
    command: Sequence[str], folder: Path, environment: dict[str, str] | None = None, given: bytes | None = None
) -> bytes:
    """Run a program and return its output.

    Raises
    ------
    ReleaseError
        The program is missing, fails or times out.
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
        stderr = (getattr(error, "stderr", None) or b"").decode(errors="replace").strip()
        message = f"{' '.join(command[:3])[:120]}: {stderr[-500:] or error}"
        raise ReleaseError(message) from None
    return done.stdout
