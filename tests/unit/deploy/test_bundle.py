"""The script that installs an offline bundle on k3s, with a small bundle."""

import hashlib
import os
import platform
import re
import shutil
import subprocess

import pytest

HERE = {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())


@pytest.fixture
def bundle(look, tmp_path):
    folder = tmp_path / "bundle"
    files = {
        f"images/gesscale-agent-0.1.0-{HERE}.tar.gz": b"agent",
        f"images/gesscale-controller-0.1.0-{HERE}.tar.gz": b"controller",
        "manifests/gesscale.yaml": b"all: 1\n",
        "manifests/single-node.yaml": b"one: 1\n",
    }
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    sums = "".join(f"{hashlib.sha256(content).hexdigest()}  {name}\n" for name, content in files.items())
    (folder / "SHA256SUMS").write_text(sums)
    shutil.copy(look.root / "deploy" / "release" / "install.sh", folder)
    return folder


@pytest.fixture
def install(bundle, tmp_path):
    def run(*words):
        return subprocess.run(
            ["sh", bundle / "install.sh", *words], cwd=tmp_path, env={**os.environ, "K3S": str(tmp_path / "k3s")},
            capture_output=True, text=True, timeout=30, check=False,
        )  # fmt: skip

    return run


def placed(tmp_path):
    place = tmp_path / "k3s"
    return {str(path.relative_to(place)): path.read_bytes() for path in place.rglob("*") if path.is_file()}


IMAGES = {f"agent/images/gesscale-{name}-0.1.0-{HERE}.tar.gz": name.encode() for name in ("agent", "controller")}


def test_a_node_gets_the_images(install, tmp_path):
    done = install("node")
    assert done.returncode == 0, done.stderr
    assert placed(tmp_path) == IMAGES


@pytest.mark.parametrize(("manifest", "content"), [((), b"all: 1\n"), (("single-node",), b"one: 1\n")])
def test_a_server_also_gets_the_chosen_manifest(install, tmp_path, manifest, content):
    done = install("server", *manifest)
    assert done.returncode == 0, done.stderr
    assert placed(tmp_path) == {**IMAGES, "server/manifests/gesscale.yaml": content}


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ((), "expected node or server, got nothing"),
        (("agent",), "expected node or server, got agent"),
        (("server", "pi"), "expected one of gesscale single-node, got pi"),
    ],
)
def test_what_is_not_in_the_bundle_is_refused(install, tmp_path, words, complaint):
    done = install(*words)
    assert (done.returncode, placed(tmp_path)) == (2, {})
    assert complaint in done.stderr


def test_a_truncated_file_is_detected_before_copying(install, bundle, tmp_path):
    (bundle / f"images/gesscale-agent-0.1.0-{HERE}.tar.gz").write_bytes(b"age")
    done = install("node")
    assert (done.returncode, placed(tmp_path)) == (2, {})
    assert "copy the bundle again" in done.stderr


def test_a_bundle_of_another_platform_is_refused(install, bundle, tmp_path):
    for image in (bundle / "images").iterdir():
        image.rename(image.with_name(image.name.replace(HERE, "riscv64")))
    (bundle / "SHA256SUMS").write_text(re.sub(r".*images.*\n", "", (bundle / "SHA256SUMS").read_text()))
    done = install("node")
    assert (done.returncode, placed(tmp_path)) == (2, {})
    assert f"not for {HERE}" in done.stderr
