"""The manifests as rendered by `kubectl kustomize`, and the tools that check them."""

import copy
import functools
import os
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from testbed.kubernetes.tools import build, is_built

ROOT = Path(__file__).parents[3]
K3S = ROOT / "deploy" / "k3s"


def tool(name):
    """Find a program in the project's cache or the PATH, or skip."""
    folders = [str(ROOT / ".cache"), os.environ["PATH"]]
    if is_built():
        folders.append(str(build().parent))  # kubectl of the test bed
    found = shutil.which(name, path=os.pathsep.join(folders))
    if found is None:
        pytest.skip(f"needs {name}; ./setup.sh test fetches it")
    return found


def _rendered(folder):
    done = subprocess.run(
        [tool("kubectl"), "kustomize", folder], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    return list(yaml.load_all(done.stdout, yaml.CSafeLoader))  # in C: ten times as fast


@functools.cache
def _objects(folder):
    return _rendered(K3S / folder)


@pytest.fixture(scope="session")
def kustomize():
    """Render a folder anywhere to its objects."""
    return _rendered


@pytest.fixture(scope="session")
def render():
    """Render a folder below deploy/k3s to its objects, fresh copies each time."""
    return lambda folder: copy.deepcopy(_objects(folder))


@pytest.fixture(scope="session")
def promtool():
    return tool("promtool")


def find(objects, kind, name):
    """Return the one object of that kind and name."""
    (found,) = (each for each in objects if each["kind"] == kind and each["metadata"]["name"] == name)
    return found


def pods(objects):
    """Yield name and pod template of every workload."""
    for each in objects:
        if each["kind"] in {"Deployment", "DaemonSet", "StatefulSet", "Job"}:
            yield each["metadata"]["name"], each["spec"]["template"]


def containers(pod):
    """Return all containers of a pod template."""
    return [*pod["spec"].get("initContainers", []), *pod["spec"]["containers"]]


@pytest.fixture(scope="session")
def look():
    """Bundle the readers, since a conftest cannot be imported."""

    class Look:
        find, pods, containers = staticmethod(find), staticmethod(pods), staticmethod(containers)
        root, k3s = ROOT, K3S

    return Look
