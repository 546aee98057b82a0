"""The images of deploy/images, built for real by buildah; no Docker and no registry needed.

The base image is what ``debootstrap`` makes of Debian's packages, under the name of the registry's. All is kept in
.cache/images, so that a second run rebuilds only what has changed.
"""

import functools
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["version"]
FOLDER = ROOT / ".cache" / "images"
BASE = "debian:bookworm-slim"
_CERTIFICATES = "/etc/certificates-of-the-builder.crt"
_PASSED_ON = {"cert", "index-url", "extra-index-url", "trusted-host", "proxy", "timeout", "default-timeout"}
_UNWANTED = ("var/cache/apt", "var/lib/apt/lists", "usr/share/doc", "usr/share/man", "usr/share/locale", "var/log")


def _run(*command, timeout_s, **options):
    environment = {**os.environ, "CONTAINERS_STORAGE_CONF": str(FOLDER / "storage.conf"), "BUILDAH_ISOLATION": "chroot"}
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=timeout_s, check=False, env=environment, **options
    )
    assert done.returncode == 0, f"{command}: {(done.stdout + done.stderr)[-3000:]}"
    return done.stdout.strip()


def buildah(*arguments, timeout_s=120):
    """Run buildah with the storage of these tests and return its output."""
    return _run("buildah", *arguments, timeout_s=timeout_s)


def require_building():
    """Skip if images cannot be built, or were not requested: this takes minutes and 3 GB."""
    if os.environ.get("GESSCALE_TEST_IMAGES") != "1":
        pytest.skip("building images takes minutes and 3 GB: set GESSCALE_TEST_IMAGES=1 to have it done")
    missing = [name for name in ("buildah", "debootstrap") if shutil.which(name) is None]
    if missing or os.getuid() != 0:
        pytest.skip(
            f"building images needs root and {', '.join(missing) or 'nothing else'} (Debian's packages of that name)"
        )


@functools.cache
def built(target):
    """Build an image and return its name, or skip if that is impossible."""
    require_building()
    _prepare()
    name = f"localhost/gesscale-{target}:{VERSION}"
    images = ROOT / "deploy" / "images"
    buildah(
        "bud", "--layers", "--pull-never", "--ignorefile", str(images / "Dockerfile.dockerignore"),
        "-f", str(images / "Dockerfile"), "--target", target, *_mounts(), "-t", name, str(ROOT), timeout_s=900,
    )  # fmt: skip
    return name


def in_image(target, *command):
    """Run a command in a container of an image and return its output."""
    container = buildah("from", "--pull-never", built(target))
    try:
        return buildah("run", container, "--", *command, timeout_s=600)
    finally:
        buildah("rm", container)


def make_storage():
    """Configure the storage of buildah for these tests."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    (FOLDER / "storage.conf").write_text(
        f'[storage]\ndriver = "overlay"\ngraphroot = "{FOLDER}/storage"\nrunroot = "{FOLDER}/run"\n'
    )


def _prepare():
    make_storage()
    if BASE in buildah("images", "--format", "{{.Name}}:{{.Tag}}", "--filter", f"reference={BASE}"):
        return
    root = FOLDER / "base"
    shutil.rmtree(root, ignore_errors=True)
    _run("debootstrap", "--variant=minbase", "bookworm", str(root), timeout_s=600)
    for folder in _UNWANTED:
        shutil.rmtree(root / folder)
        (root / folder).mkdir()
    container = buildah("from", "scratch")
    buildah("add", "-q", container, str(root), "/")
    buildah("commit", "-q", "--rm", container, BASE)
    shutil.rmtree(root)


def _mounts():
    """Mount this machine's pip settings and jars into the build, so that no layer contains them."""
    lines = _run(sys.executable, "-m", "pip", "config", "list", timeout_s=60).splitlines()
    found = (re.fullmatch(r"(?:\w+|:env:)\.([\w-]+)='(.*)'", line) for line in lines)
    settings = {each[1]: each[2] for each in found if each and each[1] in _PASSED_ON}
    mounts = []
    if certificates := settings.get("cert"):
        settings["cert"] = _CERTIFICATES
        mounts += ["-v", f"{certificates}:{_CERTIFICATES}:ro"]
    written = FOLDER / "pip.conf"
    written.write_text("[global]\n" + "".join(f"{name} = {value}\n" for name, value in settings.items()))
    jars = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "gesscale"
    if (jars / "jars").is_dir():
        mounts += ["-v", f"{jars}:/root/.cache/gesscale"]
    return [*mounts, "-v", f"{written}:/etc/pip.conf:ro"]
