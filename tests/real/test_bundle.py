"""The offline bundle for k3s: its images are built without a network, the same bytes twice, and run."""

import gzip
import json
import os
import shutil
import subprocess
import sys
import tarfile

import pytest
from images import FOLDER, ROOT, VERSION, buildah, make_storage, require_building

pytestmark = [pytest.mark.real, pytest.mark.long, pytest.mark.timeout(3600)]

INPUTS = FOLDER / "inputs"


def run(*command, timeout_s):
    environment = {**os.environ, "PATH": f"{ROOT / '.cache'}:{os.environ['PATH']}"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=timeout_s, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def release(*words):
    return run(sys.executable, ROOT / "deploy" / "release" / "release.py", *words, "--images", INPUTS, timeout_s=1800)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    require_building()
    if shutil.which("mmdebstrap") is None or sys.version_info[:2] != (3, 11):
        pytest.skip("needs Debian's mmdebstrap, and Python 3.11, that of the images")
    run(sys.executable, ROOT / "deploy" / "images" / "offline.py", "fetch", INPUTS, timeout_s=1800)
    folder = tmp_path_factory.mktemp("release") / "dist"
    release("build", folder)
    return folder


@pytest.fixture(scope="module", params=["amd64", "arm64"])
def bundle(request, made, tmp_path_factory):
    packed = made / f"gesscale-k3s-{VERSION}-{request.param}.tar"
    if not packed.exists():
        pytest.skip(f"nothing was fetched for {request.param}: {INPUTS}")
    folder = tmp_path_factory.mktemp("bundle")
    with tarfile.open(packed) as archive:
        archive.extractall(folder, filter="data")
    return folder / packed.stem


def test_a_second_build_makes_the_same_images(made):
    assert "byte for byte" in release("verify", made, "--rebuild")


@pytest.mark.parametrize(
    ("target", "command", "answer"),
    [
        ("controller", ("gesscale", "--version"), f"gesscale {VERSION}"),
        ("controller", ("gesscale", "run", "--help"), "--kubernetes"),
        ("agent", ("python", "-m", "latency_map.measure.agent", "--help"), "--peers-dns"),
        ("agent", ("id", "-u"), "65532"),
    ],
)
def test_an_image_of_the_bundle_runs(bundle, tmp_path, target, command, answer):
    (packed,) = (bundle / "images").glob(f"gesscale-{target}-*.tar.gz")
    plain = tmp_path / "image.tar"
    with gzip.open(packed) as content, plain.open("wb") as file:
        shutil.copyfileobj(content, file)
    make_storage()
    container = buildah("from", f"docker-archive:{plain}")
    try:
        assert answer in buildah("run", container, "--", *command)
    finally:
        buildah("rm", container)


def test_the_bundle_says_what_is_in_each_image(bundle):
    for bill in (bundle / "sbom").iterdir():
        named = {each["name"] for each in json.loads(bill.read_text())["components"]}
        assert {"libc6", "python3.11", "urllib3"} <= named
        assert ("kubernetes" in named) == ("controller" in bill.name)
