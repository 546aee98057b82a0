"""A release: the same bytes each time, refused when changed, installed fresh, and its chart as Helm renders it."""

import io
import os
import shutil
import subprocess
import sys
import tarfile
import tomllib
import venv
from pathlib import Path

import pytest
import yaml

from gesscale.extras import how_to_install
from testbed.kubernetes.tools import HELM_SOURCES, build, find_go, is_built

pytestmark = pytest.mark.real

ROOT = Path(__file__).parents[2]
MANAGED_BY = "app.kubernetes.io/managed-by"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
IMPORTS = {
    "": "gesscale.spark, gesscale.cli.start",
    "spark": "pyspark.sql, pyarrow, pandas, gesscale.spark",
    "controller": "kubernetes, prometheus_api_client, ping3, confluent_kafka, gesscale.kubernetes.controller",
    "arena": "jinja2, matplotlib, statsmodels.tsa.arima.model, sklearn.gaussian_process",
    "testbed": "pyspark.sql, sklearn",
    "all": "pyspark.sql, sklearn",
}
EVERY_EXTRA = os.environ.get("GESSCALE_TEST_EXTRAS") == "all"
"""Each in a fresh environment takes half an hour and 1 GB; one of them shows that extras work at all."""
CHOSEN = [*(IMPORTS if EVERY_EXTRA else ("", "controller"))]


def kubectl():
    folders = [str(build().parent)] if is_built() else []
    found = shutil.which("kubectl", path=os.pathsep.join([*folders, str(ROOT / ".cache"), os.environ["PATH"]]))
    return found or pytest.skip("needs kubectl; ./setup.sh test builds it")


def release(*arguments):
    command = (sys.executable, ROOT / "deploy" / "release" / "release.py", *arguments, "--kubectl", kubectl())
    return subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    if not (ROOT / ".git").exists():
        pytest.skip("needs a checkout: a release is made of a commit")
    folder = tmp_path_factory.mktemp("release") / "dist"
    done = release("build", folder)
    assert done.returncode == 0, done.stderr
    return folder


def test_a_second_build_makes_the_same_bytes(made):
    done = release("verify", made, "--rebuild")
    assert done.returncode == 0, done.stderr
    assert "byte for byte" in done.stdout


@pytest.mark.parametrize("change", ["changed", "missing", "added"])
def test_a_release_that_is_not_whole_is_found_out(made, tmp_path, change):
    folder = tmp_path / "dist"
    shutil.copytree(made, folder)
    (wheel,) = folder.glob("*.whl")
    if change == "changed":
        wheel.write_bytes(wheel.read_bytes() + b"\n")
    elif change == "missing":
        wheel.unlink()
    else:
        (folder / "extra.whl").write_bytes(b"")
    done = release("verify", folder)
    assert done.returncode == 1
    assert "do not use this release" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("extra", CHOSEN, ids=lambda extra: extra or "base")
def test_the_wheel_is_installed_into_a_fresh_environment(made, tmp_path, extra):
    (wheel,) = made.glob("*.whl")
    venv.create(tmp_path / "venv", with_pip=True)
    programs = tmp_path / "venv" / "bin"
    run(programs / "pip", "install", "-q", f"{wheel}[{extra}]" if extra else wheel)
    run(programs / "python", "-c", f"import {IMPORTS[extra]}", cwd=tmp_path)
    command = (programs / "gesscale", "--version")
    if extra in {"", "spark"}:
        # a job's environment: what the command says of the missing extra must work as it is copied
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False)
        assert done.returncode == 2
        assert how_to_install("controller") in done.stderr
        (named,) = (word.strip("'") for word in done.stderr.split() if ".whl" in word)
        shutil.copy(wheel, tmp_path)
        run(programs / "pip", "install", "-q", "--dry-run", named, cwd=tmp_path)
    else:
        assert run(*command, cwd=tmp_path) == f"gesscale {PROJECT['version']}\n"


def run(*command, **options):
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=1200, check=False, env=environment, **options
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


@pytest.fixture(scope="module")
def helm(made, tmp_path_factory):
    if not is_built(HELM_SOURCES) and find_go() is None:
        pytest.skip("needs Go, to build Helm")
    program = build(HELM_SOURCES)
    (packed,) = made.glob("*.tgz")
    home = tmp_path_factory.mktemp("helm")

    def template(*arguments):
        options = ("-n", "gesscale", "--include-crds", "--kube-version", "1.36")
        command = (program, "template", "gesscale", packed, *options, *arguments)
        environment = {**os.environ, "HOME": str(home)}
        return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False, env=environment)

    return template


def by_name(text, managed_by):
    """Return the objects by kind and name; the one label that differs on purpose is checked and taken off."""
    objects = [each for each in yaml.load_all(text, yaml.CSafeLoader) if each]
    assert {each["metadata"]["labels"].pop(MANAGED_BY) for each in objects} == {managed_by}
    return {(each["kind"], each["metadata"]["name"]): each for each in objects}


@pytest.mark.long
def test_helm_renders_the_chart_as_kustomize_renders_the_base(helm, tmp_path):
    done = helm()
    assert done.returncode == 0, done.stderr
    archive = subprocess.run(["git", "archive", "HEAD", "deploy/k3s"], cwd=ROOT, capture_output=True, check=True)
    with tarfile.open(fileobj=io.BytesIO(archive.stdout)) as committed:  # as the release is made of the commit
        committed.extractall(tmp_path, filter="data")
    base = run(kubectl(), "kustomize", str(tmp_path / "deploy" / "k3s"))
    rendered, expected = by_name(done.stdout, "Helm"), by_name(base, "kustomize")
    del expected["Namespace", "gesscale"]  # Helm makes it
    assert rendered.keys() == expected.keys()
    for key, each in expected.items():
        assert rendered[key] == each


@pytest.mark.long
def test_values_arrive_and_wrong_ones_are_refused(helm):
    done = helm("--set", "controller.replicas=1,monitoring.enabled=false,agent.image=r.example/agent:7")
    objects = by_name(done.stdout, "Helm")
    assert objects["Deployment", "gesscale-controller"]["spec"]["replicas"] == 1
    (agent,) = objects["DaemonSet", "latency-agent"]["spec"]["template"]["spec"]["containers"]
    assert agent["image"] == "r.example/agent:7"
    assert "ConfigMap" not in {kind for kind, _ in objects}
    for wrong in (
        "controller.replicas=0",
        "controler.replicas=1",
        "agent.image=r.example/agent",
        "agent.args={--lisen=1}",
    ):
        assert helm("--set", wrong).returncode != 0
