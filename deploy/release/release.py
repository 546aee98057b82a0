#!/usr/bin/env python3
"""Build and verify a release: wheel, source package, Helm chart, SBOM, checksums and provenance.

    python deploy/release/release.py build dist                # of the last commit
    python deploy/release/release.py verify dist               # no file is missing, changed or added
    python deploy/release/release.py verify dist --rebuild     # and equal to a build of its commit, byte for byte

With ``--images INPUTS`` also an offline bundle for k3s, images included, for each platform that
deploy/images/offline.py has fetched into that folder. Needs git, kubectl, and the packages of the groups ``build`` and
``release`` in pyproject.toml.
"""

import argparse
import hashlib
import io
import json
import shutil
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

import yaml
from bundle import k3s_bundle
from parts import ReleaseError, Source, checkout, digests, helm_chart, python_packages, run, sbom, unpacked

ROOT = Path(__file__).parents[2]
SUMS, PROVENANCE = "SHA256SUMS", "provenance.json"
_STATEMENT, _PREDICATE = "https://in-toto.io/Statement/v1", "https://slsa.dev/provenance/v1"
_TOOLS = ("setuptools", "cyclonedx-bom")


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description="Build or verify a release.")
    commands = parser.add_subparsers(dest="command", required=True)
    build = commands.add_parser("build", help="build a release of the last commit")
    verify = commands.add_parser("verify", help="verify a release")
    for each in (build, verify):
        each.add_argument("folder", type=Path, help="folder of the release")
        each.add_argument("--kubectl", default="kubectl", help="the program that renders deploy/k3s")
        each.add_argument(
            "--images", type=Path, metavar="INPUTS", help="also images, from the inputs that offline.py fetched"
        )
    verify.add_argument("--rebuild", action="store_true", help="build it again from its commit, and compare")
    given = parser.parse_args()
    try:
        if given.command == "build":
            report = build_into(given.folder, given.kubectl, given.images)
        else:
            report = verified(given.folder, given.kubectl if given.rebuild else None, given.images)
    except ReleaseError as error:
        sys.exit(f"release.py: {error}")
    sys.stdout.write(report + "\n")


def build_into(folder: Path, kubectl: str, inputs: Path | None = None) -> str:
    """Write a release of the last commit into an empty or new folder; return a report."""
    if folder.exists() and any(folder.iterdir()):
        message = f"{folder}: expected an empty folder, got files in it; name another one"
        raise ReleaseError(message)
    if run(["git", "status", "--porcelain", "--untracked-files=no"], ROOT):
        sys.stderr.write("release.py: uncommitted changes are ignored: a release is built from a commit\n")
    files = release_of("HEAD", kubectl, inputs)
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (folder / name).write_bytes(content)
    return f"{len(files)} files in {folder}; verify them: python deploy/release/release.py verify {folder}"


def release_of(commit: str, kubectl: str, inputs: Path | None) -> dict[str, bytes]:
    """Return the files of a release by name; with inputs, also the images of their platforms."""
    found = shutil.which(kubectl)
    if found is None:
        message = f"expected kubectl, got no program {kubectl}; install it or name it with --kubectl"
        raise ReleaseError(message)
    with tempfile.TemporaryDirectory() as place:
        source = checkout(ROOT, commit, Path(place))
        files = {**helm_chart(source, found), **sbom(source), **python_packages(source)}
        bases = _bases(inputs)
        carried = {name: content for name, content in files.items() if name.endswith((".whl", ".tgz"))}
        for platform in bases:
            files |= k3s_bundle(source, found, inputs, platform, carried)
        files[PROVENANCE] = _provenance(source, files, bases)
    files[SUMS] = "".join(f"{digest}  {name}\n" for name, digest in digests(files).items()).encode()
    return files


def _bases(inputs: Path | None) -> dict[str, str]:
    """Return the digest of the root file system of each platform that was fetched."""
    if inputs is None:
        return {}
    found = {file.stem.removeprefix("base-"): file for file in sorted(inputs.glob("base-*64.tar"))}
    if not found:
        message = f"{inputs}: expected base-PLATFORM.tar, got none; run: python deploy/images/offline.py fetch {inputs}"
        raise ReleaseError(message)
    return {platform: hashlib.file_digest(file.open("rb"), "sha256").hexdigest() for platform, file in found.items()}


def verified(folder: Path, kubectl: str | None, inputs: Path | None = None) -> str:
    """Verify that a release is complete; with kubectl, that a build of its commit is equal. Return a report.

    Raises
    ------
    ReleaseError
        The first problem of the release.
    """
    try:
        files = {file.name: file.read_bytes() for file in sorted(folder.iterdir())}
        lines = (line.partition("  ") for line in files[SUMS].decode().splitlines())
        listed = {name: digest for digest, _, name in lines}
        statement = json.loads(files[PROVENANCE])
        subjects = {each["name"]: each["digest"]["sha256"] for each in statement["subject"]}
        parameters = statement["predicate"]["buildDefinition"]["externalParameters"]
        commit, expected = str(parameters["commit"]), str(parameters["version"])
    except (OSError, KeyError, TypeError, ValueError) as error:
        message = f"{folder}: expected a release with {SUMS} and {PROVENANCE}, got: {error!r}"
        raise ReleaseError(message) from None
    found = {name: digest for name, digest in digests(files).items() if name != SUMS}
    _compare(f"{folder}, compared with {SUMS}", listed, found)
    _compare(f"{folder}, compared with {PROVENANCE}", subjects, {k: v for k, v in found.items() if k != PROVENANCE})
    for name, stated in _versions(files).items():
        if stated != expected:
            message = f"{folder}/{name}: expected version {expected}, got {stated}"
            raise ReleaseError(message)
    if kubectl is None:
        return f"{folder}: version {expected} of commit {commit}, {len(files)} files, complete and unchanged"
    _compare(f"{folder}, compared with commit {commit}", digests(release_of(commit, kubectl, inputs)), digests(files))
    return f"{folder}: version {expected}, {len(files)} files, byte for byte equal to a build of commit {commit}"


def _compare(what: str, expected: Mapping[str, str], got: Mapping[str, str]) -> None:
    for problem, names in (
        ("missing file", expected.keys() - got.keys()),
        ("unexpected file", got.keys() - expected.keys()),
        ("changed file", {name for name in expected if got.get(name) != expected[name]}),
    ):
        if names:
            message = f"{what}: {problem}: {', '.join(sorted(names))}; do not use this release"
            raise ReleaseError(message)


def _versions(files: Mapping[str, bytes]) -> dict[str, str]:
    """Return the version in each part."""
    stated = {}
    for name, content in files.items():
        try:
            found = _version(name, content)
        except (LookupError, OSError, TypeError, ValueError, tarfile.TarError, yaml.YAMLError, zipfile.BadZipFile):
            message = f"{name}: expected a file with its version, got none; do not use it"
            raise ReleaseError(message) from None
        if found is not None:
            stated[name] = found
    return stated


def _version(name: str, content: bytes) -> str | None:
    if name.endswith(".whl"):
        with zipfile.ZipFile(io.BytesIO(content)) as wheel:
            (about,) = (each for each in wheel.namelist() if each.endswith(".dist-info/METADATA"))
            return _field(wheel.read(about))
    if name.endswith(".tar.gz"):
        packed = unpacked(content)
        (about,) = (path for path in packed if path.count("/") == 1 and path.endswith("/PKG-INFO"))
        return _field(packed[about])
    if name.endswith(".tgz"):
        return str(yaml.safe_load(unpacked(content)["gesscale/Chart.yaml"])["version"])
    if name.endswith(".tar"):
        packed = unpacked(content)
        (wheel,) = (path for path in packed if path.endswith(".whl"))
        return _version(wheel, packed[wheel])
    if name.endswith(".cdx.json"):
        return str(json.loads(content)["metadata"]["component"]["version"])
    return None


def _field(metadata: bytes) -> str:
    (found,) = (line for line in metadata.decode().splitlines() if line.startswith("Version: "))
    return found.removeprefix("Version: ")


def _provenance(source: Source, files: Mapping[str, bytes], bases: Mapping[str, str]) -> bytes:
    """Return the provenance: an in-toto statement with SLSA's predicate, not signed.

    It has no time and no machine, so that a rebuild gives the same file.
    """
    subjects = [{"name": name, "digest": {"sha256": digest}} for name, digest in digests(files).items()]
    statement: dict[str, Any] = {
        "_type": _STATEMENT,
        "subject": subjects,
        "predicateType": _PREDICATE,
        "predicate": {
            "buildDefinition": {
                "buildType": "https://gesscale.dev/release/v1",
                "externalParameters": {"commit": source.commit, "version": source.project["version"]},
                "internalParameters": {"SOURCE_DATE_EPOCH": str(source.epoch_s)},
                "resolvedDependencies": [
                    {"uri": "git+gesscale", "digest": {"gitCommit": source.commit}},
                    *(
                        {"name": f"base-{platform}.tar", "digest": {"sha256": digest}}
                        for platform, digest in bases.items()
                    ),
                ],
            },
            "runDetails": {
                "builder": {
                    "id": "deploy/release/release.py",
                    "version": {
                        "python": ".".join(map(str, sys.version_info[:2])),
                        **{name: version(name) for name in _TOOLS},
                    },
                }
            },
        },
    }
    return (json.dumps(statement, indent=1) + "\n").encode()


if __name__ == "__main__":
    main()
