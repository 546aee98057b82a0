"""The small images of the test bed, and programs of this machine mounted into them."""

import hashlib
import io
import json
import os
import sys
import tarfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gesscale.common.errors import Problem
from testbed.cluster.commands import run
from testbed.cluster.spark_command import spark_home
from testbed.cluster.state import cache_directory
from testbed.kubernetes.tools import CONFIG

PAUSE = "localhost/pause:1"
BUSYBOX = "localhost/busybox:1"
HOST = "localhost/host:1"

_USERS = "root:x:0:0:root:/:/bin/sh\nspark:x:185:185:spark:/tmp:/bin/sh\nnobody:x:65534:65534:nobody:/tmp:/bin/sh\n"
_GROUPS = "root:x:0:\nspark:x:185:\nnogroup:x:65534:\n"
_ETC = {"etc/passwd": _USERS.encode(), "etc/group": _GROUPS.encode()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Image:
    """An image of one layer."""

    #: With its tag.
    name: str
    #: Contents by path; executable where the path is in ``bin`` or is `ENTRY`.
    files: Mapping[str, bytes]
    #: Targets of symbolic links, by path.
    links: Mapping[str, str] = field(default_factory=dict)
    #: The default command of its containers.
    command: tuple[str, ...]


def bundled_images(busybox: Path) -> tuple[Image, ...]:
    """Return the images of every cluster: `PAUSE`, `BUSYBOX` and `HOST`.

    Raises
    ------
    ClusterError
        If busybox does not work.
    """
    listed = run((str(busybox), "--list"), failure=Problem("busybox-unusable", {"program": str(busybox)}))
    content = busybox.read_bytes()
    applets = {f"bin/{name}": "busybox" for name in listed.split() if name != "busybox"}
    entry = (CONFIG / "entry.sh").read_bytes()
    with_busybox = {"bin/busybox": content, **_ETC}
    return (
        Image(name=PAUSE, files={"bin/busybox": content}, command=("/bin/busybox", "sleep", "2147483647")),
        Image(name=BUSYBOX, files=with_busybox, links=applets, command=("/bin/sh",)),
        Image(name=HOST, files={**_ETC, ENTRY.lstrip("/"): entry}, links=root_links(), command=(ENTRY,)),
    )


def write_archive(path: Path, images: Iterable[Image], *, architecture: str) -> None:
    """Write images into one archive, as ``docker save`` would."""
    manifest = []
    with tarfile.open(path, "w") as archive:
        for image in images:
            layer = _layer(image)
            digest = hashlib.sha256(layer).hexdigest()
            config = json.dumps(
                {
                    "architecture": architecture,
                    "os": "linux",
                    "config": {"Entrypoint": list(image.command), "Env": ["PATH=/usr/local/bin:/usr/bin:/bin"]},
                    "rootfs": {"type": "layers", "diff_ids": [f"sha256:{digest}"]},
                }
            ).encode()
            name = f"{hashlib.sha256(config).hexdigest()}.json"
            _add(archive, name, config)
            _add(archive, f"{digest}/layer.tar", layer)
            manifest.append({"Config": name, "RepoTags": [image.name], "Layers": [f"{digest}/layer.tar"]})
        _add(archive, "manifest.json", json.dumps(manifest).encode())


def _layer(image: Image) -> bytes:
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as layer:
        for folder in ("bin", "dev", "etc", "proc", "sys", "tmp", "usr", "var"):
            if folder not in image.links:
                entry = tarfile.TarInfo(folder)
                entry.type, entry.mode = tarfile.DIRTYPE, 0o1777 if folder == "tmp" else 0o755
                layer.addfile(entry)
        for path, data in image.files.items():
            _add(layer, path, data, mode=0o755 if path.startswith("bin/") or f"/{path}" == ENTRY else 0o644)
        for path, target in image.links.items():
            entry = tarfile.TarInfo(path)
            entry.type, entry.linkname = tarfile.SYMTYPE, target
            layer.addfile(entry)
    return content.getvalue()


def _add(archive: tarfile.TarFile, path: str, content: bytes, mode: int = 0o644) -> None:
    entry = tarfile.TarInfo(path)
    entry.size, entry.mode = len(content), mode
    archive.addfile(entry, io.BytesIO(content))


PROJECT = Path(__file__).parents[2]
ENTRY = "/entry"

_MERGED = ("bin", "sbin", "lib", "lib64")
_SETTINGS = ("/etc/alternatives", "/etc/ssl", "/etc/ld.so.cache")


@dataclass(frozen=True, slots=True, kw_only=True)
class HostPrograms:
    """Parts of a pod spec that run programs of this machine in the image `images.HOST`."""

    #: For ``spec.volumes``.
    volumes: tuple[dict[str, Any], ...]
    #: For ``volumeMounts`` of a container.
    mounts: tuple[dict[str, Any], ...]
    #: For ``env`` of a container: the locations of Python, Java and Spark.
    environment: tuple[dict[str, str], ...]


def host_programs() -> HostPrograms:
    """Return volumes, mounts and environment for the system's programs, Java, this Python and this project."""
    paths = {f"host-{number}": str(path) for number, path in enumerate(mounted_paths())}
    return HostPrograms(
        volumes=tuple({"name": name, "hostPath": {"path": path}} for name, path in paths.items()),
        mounts=tuple({"name": name, "mountPath": path, "readOnly": True} for name, path in paths.items()),
        environment=tuple({"name": name, "value": value} for name, value in _environment().items()),
    )


def mounted_paths() -> tuple[Path, ...]:
    """Return the folders and files of this machine that pods see, none inside another."""
    paths = [Path("/usr"), *(Path("/") / name for name in _MERGED), *map(Path, _SETTINGS)]
    paths += [*Path("/etc").glob("java*"), Path(sys.base_prefix), Path(sys.prefix), PROJECT]
    paths.append(cache_directory())  # Kafka's jars
    present = [path for path in paths if path.exists() and not path.is_symlink()]
    return tuple(path for path in dict.fromkeys(present) if not _covered(path, present))


def root_links() -> dict[str, str]:
    """Return the links at this machine's root, as ``bin -> usr/bin``: the image needs the same."""
    return {name: str((Path("/") / name).readlink()) for name in _MERGED if (Path("/") / name).is_symlink()}


def _covered(path: Path, others: list[Path]) -> bool:
    return any(other != path and path.is_relative_to(other) for other in others)


def _environment() -> dict[str, str]:
    named = {
        "PATH": f"{Path(sys.prefix) / 'bin'}:/usr/local/bin:/usr/bin:/bin",
        "PYTHONPATH": str(PROJECT),
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_HOME": str(spark_home()),
        "JAVA_HOME": os.environ.get("JAVA_HOME", ""),
    }
    return {name: value for name, value in named.items() if value}
