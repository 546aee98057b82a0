"""The page from nothing to Recommend on k3s: what it names is in the manifests, the images and the command line."""

import re
import shlex
from pathlib import Path

import pytest
from typer.main import get_command

from gesscale.cli.app import app

ROOT = Path(__file__).parents[3]
FOLDER = ROOT / "examples" / "k3s"
PAGE = (FOLDER / "README.md").read_text("utf-8")
COMMANDS = re.findall(r"^    (\S.*)$", PAGE, re.MULTILINE)
K3S = ROOT / "deploy" / "k3s"


def test_every_folder_that_is_applied_is_one_of_kustomize_and_is_deleted_again():
    said = {
        verb: [words.split()[-1] for words in COMMANDS if f"kubectl {verb} -k" in words]
        for verb in ("apply", "delete")
    }
    assert len(said["apply"]) == 2
    assert said["delete"] == said["apply"][::-1]
    for folder in said["apply"]:
        assert (ROOT / folder / "kustomization.yaml").is_file()


def test_what_kubectl_is_asked_for_is_in_the_manifests():
    names = re.findall(r"deployment/(\S+)|streamautoscaler (\S+)", "\n".join(COMMANDS))
    found = {
        "gesscale-controller": K3S / "controller" / "deployment.yaml",
        "nearest": K3S / "example" / "nearest" / "autoscaler.yaml",
    }
    assert {first or second for first, second in names} == found.keys()
    for name, file in found.items():
        assert f"name: {name}\n" in file.read_text("utf-8")
    for space in set(re.findall(r"-n (\S+)|--namespace (\S+)", "\n".join(COMMANDS))):
        assert "".join(space) in {"gesscale", "taxi"}


def test_the_images_are_those_that_the_dockerfile_makes_and_the_pods_name():
    (loop,) = re.findall(r"for target in (.*); do", PAGE)
    stages = set(
        re.findall(
            r"^FROM \S+ AS (\S+)$", (ROOT / "deploy/images/Dockerfile").read_text("utf-8"), re.MULTILINE
        )
    )
    assert set(loop.split()) <= stages
    texts = "\n".join(file.read_text("utf-8") for file in K3S.rglob("*.yaml"))
    assert set(loop.split()) == set(re.findall(r"newName: localhost/gesscale-(\w+)", texts))


def test_the_pool_of_the_node_is_the_one_that_the_example_asks_for():
    labels = set(re.findall(r"--node-label (\S+)=(\S+)", PAGE))
    assert labels == {("gesscale.dev/pool", "edge")}
    for operator in ("clean", "nearest"):
        assert "gesscale.dev/pool: edge" in (K3S / "example" / operator / "autoscaler.yaml").read_text(
            "utf-8"
        )


def test_the_command_has_the_options_that_the_page_gives_it():
    (line,) = [words for words in COMMANDS if words.startswith("gesscale ")]
    _, name, *rest = shlex.split(line)
    command = get_command(app).get_command(None, name)
    known = {option for param in command.params for option in param.opts}
    assert {word for word in rest if word.startswith("-")} <= known


@pytest.mark.parametrize(
    "page", sorted((ROOT / "examples").glob("*/README.md")), ids=lambda page: page.parent.name
)
def test_every_file_that_a_page_names_is_there(page):
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text("utf-8")):
        assert (page.parent / target).exists(), target
