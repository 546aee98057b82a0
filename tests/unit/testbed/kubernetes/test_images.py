import hashlib
import io
import json
import tarfile
from pathlib import Path
from typing import Any

from refusals import refused

from testbed.kubernetes.images import HOST, Image, bundled_images, mounted_paths, write_archive


def two_images() -> tuple[Image, Image]:
    first = Image(name="localhost/one:1", files={"bin/tool": b"run"}, links={"bin/sh": "tool"}, command=("/bin/tool",))
    return first, Image(name="localhost/two:1", files={"etc/passwd": b"root"}, command=("/x", "y"))


def read_archive(path: Path) -> dict[str, tuple[dict[str, Any], dict[str, tarfile.TarInfo]]]:
    """Return configuration and files of each image, with the digest of its layer checked."""
    images = {}
    with tarfile.open(path) as archive:

        def content(name: str) -> bytes:
            member = archive.extractfile(name)
            assert member is not None
            return member.read()

        for entry in json.loads(content("manifest.json")):
            layer = content(entry["Layers"][0])
            config = json.loads(content(entry["Config"]))
            assert config["rootfs"]["diff_ids"] == [f"sha256:{hashlib.sha256(layer).hexdigest()}"]
            with tarfile.open(fileobj=io.BytesIO(layer)) as files:
                images[entry["RepoTags"][0]] = (config, {each.name: each for each in files})
    return images


def test_an_archive_holds_each_image_with_its_layer_by_digest(tmp_path: Path) -> None:
    write_archive(tmp_path / "images.tar", two_images(), architecture="arm64")
    images = read_archive(tmp_path / "images.tar")
    assert set(images) == {"localhost/one:1", "localhost/two:1"}
    config, _ = images["localhost/two:1"]
    assert config["architecture"] == "arm64"
    assert config["config"]["Entrypoint"] == ["/x", "y"]


def test_modes_and_links_in_an_image(tmp_path: Path) -> None:
    write_archive(tmp_path / "images.tar", two_images(), architecture="amd64")
    _, layer = read_archive(tmp_path / "images.tar")["localhost/one:1"]
    assert layer["bin/tool"].mode == 0o755
    assert layer["bin/sh"].linkname == "tool"
    assert layer["tmp"].mode == 0o1777


def test_a_busybox_that_does_not_run_is_named(tmp_path: Path) -> None:
    broken = tmp_path / "busybox"
    broken.write_text("not a program")
    broken.chmod(0o755)
    with refused("busybox-unusable", program=str(broken)):
        bundled_images(broken)


def test_the_host_image_has_the_links_of_the_root(tmp_path: Path) -> None:
    busybox = tmp_path / "busybox"
    busybox.write_text("#!/bin/sh\necho sh\n")
    busybox.chmod(0o755)
    host = next(image for image in bundled_images(busybox) if image.name == HOST)
    merged = [name for name in ("bin", "sbin", "lib", "lib64") if Path(f"/{name}").is_symlink()]
    assert sorted(host.links) == sorted(merged)
    assert not any(str(path) in {f"/{name}" for name in merged} for path in mounted_paths())
