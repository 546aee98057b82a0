"""The offline bundle for k3s: one archive with all files that a node or a server needs, and SBOMs of its images."""

import io
import json
import re
import sys
import tarfile
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from parts import ReleaseError, Source, cyclonedx, digests, locked, packed, run

sys.path.insert(0, str(Path(__file__).parents[1] / "images"))
from offline import PACKAGES, ImageError, Storage

MANIFESTS = {
    "gesscale": "deploy/k3s",
    "raspberry-pi": "deploy/k3s/overlays/raspberry-pi",
    "single-node": "deploy/k3s/overlays/single-node",
}
_STATUS = "var/lib/dpkg/status"
_ENVIRONMENT = {
    "python_version": "3.11", "python_full_version": "3.11.2", "sys_platform": "linux", "os_name": "posix",
    "implementation_name": "cpython", "platform_python_implementation": "CPython", "platform_system": "Linux",
}  # fmt: skip
"""Python and system of the images, for the markers of the lock."""


def k3s_bundle(
    source: Source, kubectl: str, inputs: Path, platform: str, carried: Mapping[str, bytes]
) -> dict[str, bytes]:
    """Build the images for a platform; return the bundle and the SBOM of each image by name.

    Parameters
    ----------
    source
        The sources of the release.
    kubectl
        The program that renders the manifests.
    inputs
        The folder of ``offline.py fetch``.
    platform
        ``amd64`` or ``arm64``.
    carried
        Files of the release to include, by name.

    Raises
    ------
    ReleaseError
        An image cannot be built.
    """
    version = source.project["version"]
    files = dict(carried)
    sboms: dict[str, bytes] = {}
    with tempfile.TemporaryDirectory() as place:
        storage = Storage(Path(place) / "storage", source.folder, inputs, source.epoch_s)
        try:
            for target in PACKAGES:
                image = storage.archive(target, platform, Path(place))
                files[f"images/{image.name}"] = image.read_bytes()
                name = f"gesscale-{target}-{version}-{platform}.cdx.json"
                sboms[name] = _image_sbom(source, target, inputs / f"base-{platform}.tar", platform)
        except ImageError as error:
            raise ReleaseError(str(error)) from None
        finally:
            storage.remove()
    for name, folder in MANIFESTS.items():
        files[f"manifests/{name}.yaml"] = run([kubectl, "kustomize", str(source.folder / folder)], source.folder)
    files |= {f"sbom/{name}": content for name, content in sboms.items()}
    files["install.sh"] = (source.folder / "deploy" / "release" / "install.sh").read_bytes()
    files["SHA256SUMS"] = "".join(f"{digest}  {name}\n" for name, digest in digests(files).items()).encode()
    name = f"gesscale-k3s-{version}-{platform}"
    placed = {f"{name}/{path}": content for path, content in files.items()}
    return {f"{name}.tar": packed(placed, source.epoch_s, zipped=False), **sboms}


def _image_sbom(source: Source, target: str, base: Path, platform: str) -> bytes:
    """Return the SBOM of an image: Debian packages of its base, and locked Python packages."""
    chosen = locked(source, *PACKAGES[target]).decode()
    document = cyclonedx(source, _of_the_images(chosen).encode())
    document["metadata"]["component"] |= {"name": f"gesscale-{target}", "type": "container"}
    document["components"] += [_component(package, platform) for package in _installed(base)]
    return (json.dumps(document, indent=1, sort_keys=True) + "\n").encode()


def _of_the_images(lock: str) -> str:
    """Remove requirements for other Python versions or systems than those of the images."""
    blocks = re.findall(r"^\S.*\n(?:[ #].*\n)*", lock, flags=re.MULTILINE)
    return "".join(
        block
        for block in blocks
        if (marker := Requirement(block.partition("\\")[0].strip()).marker) is None or marker.evaluate(_ENVIRONMENT)
    )


def _installed(base: Path) -> Iterator[dict[str, str]]:
    """Yield the fields of each Debian package in a root file system."""
    with tarfile.open(base) as root:
        names = (f"./{_STATUS}", _STATUS)
        member = next((each for each in root if each.name in names), None)
        status = root.extractfile(member) if member else None
        if status is None:
            message = f"{base}: expected Debian's {_STATUS}, got none"
            raise ReleaseError(message)
        text = io.TextIOWrapper(status, encoding="utf-8").read()
    for block in text.split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.splitlines() if ": " in line and line[0] != " ")
        if fields.get("Status") == "install ok installed":
            yield fields


def _component(package: Mapping[str, str], platform: str) -> dict[str, Any]:
    name, version = package["Package"], package["Version"]
    purl = f"pkg:deb/debian/{name}@{version}?arch={package.get('Architecture', platform)}&distro=bookworm"
    return {"type": "library", "bom-ref": purl, "name": name, "version": version, "purl": purl}
