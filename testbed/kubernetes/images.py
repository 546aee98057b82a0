"""Container images without a registry: archives in Docker's format, made of busybox and a few files."""

import hashlib
import io
import json
import tarfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from testbed.cluster.commands import run
from testbed.kubernetes.host_programs import ENTRY, ENTRY_SCRIPT, root_links

PAUSE = "localhost/pause:1"
BUSYBOX = "localhost/busybox:1"
HOST = "localhost/host:1"

_USERS = "root:x:0:0:root:/:/bin/sh\nspark:x:185:185:spark:/tmp:/bin/sh\nnobody:x:65534:65534:nobody:/tmp:/bin/sh\n"
_GROUPS = "root:x:0:\nspark:x:185:\nnogroup:x:65534:\n"
_ETC = {"etc/passwd": _USERS.encode(), "etc/group": _GROUPS.encode()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Image:
    """An image of one layer.

    Attributes
    ----------
    name
        With its tag.
    files
        Contents by path; executable where the path is in ``bin`` or is `ENTRY`.
    links
        Targets of symbolic links, by path.
    command
        What runs where a pod names no command.
    """

    name: str
    files: Mapping[str, bytes]
    links: Mapping[str, str] = field(default_factory=dict)
    command: tuple[str, ...]


def bundled_images(busybox: Path) -> tuple[Image, ...]:
    """Return the images of every cluster: `PAUSE`, `BUSYBOX` and `HOST`.

    Parameters
    ----------
    busybox
        Statically linked.

    Raises
    ------
    ClusterError
        Where busybox does not work.
    """
    listed = run((str(busybox), "--list"), failure=f"cannot use {busybox} (install Debian's busybox-static)")
    content = busybox.read_bytes()
    applets = {f"bin/{name}": "busybox" for name in listed.split() if name != "busybox"}
    with_busybox = {"bin/busybox": content, **_ETC}
    return (
        Image(name=PAUSE, files={"bin/busybox": content}, command=("/bin/busybox", "sleep", "2147483647")),
        Image(name=BUSYBOX, files=with_busybox, links=applets, command=("/bin/sh",)),
        Image(
            name=HOST,
            files={**_ETC, ENTRY.lstrip("/"): ENTRY_SCRIPT.encode()},
            links=root_links(),
            command=(ENTRY,),
        ),
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
                    "config": {
                        "Entrypoint": list(image.command),
                        "Env": ["PATH=/usr/local/bin:/usr/bin:/bin"],
                    },
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
        for entry in _links(image):
            layer.addfile(entry)
    return content.getvalue()


def _links(image: Image) -> Iterator[tarfile.TarInfo]:
    for path, target in image.links.items():
        entry = tarfile.TarInfo(path)
        entry.type, entry.linkname = tarfile.SYMTYPE, target
        yield entry


def _add(archive: tarfile.TarFile, path: str, content: bytes, mode: int = 0o644) -> None:
    entry = tarfile.TarInfo(path)
    entry.size, entry.mode = len(content), mode
    archive.addfile(entry, io.BytesIO(content))
