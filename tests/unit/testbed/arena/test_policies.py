"""The policies of the arena by name, and those of a user's file or module."""

from gesscale.options import PolicyOptions
from gesscale.policies import policy_names as names_of_gesscale
from testbed.arena.case import Case
from testbed.arena.experiments.experiment import experiment_of
from testbed.arena.policies.catalogue import build_policy, check_policy, policy_names
from testbed.arena.worlds.scenes import world_of

WORLD = world_of(
    experiment_of(
        {
            "name": "x",
            "policies": ["static"],
            "workloads": ["steps:1"],
            "nodes": {"topology": "edge8"},
            "operators": {"operator": {"max_replicas": 2}},
        },
        "x",
    ),
    Case(workload="steps:1", seed=0, policy="static"),
)


def build(name: str) -> object:
    return build_policy(name, WORLD, PolicyOptions())


def test_every_installed_policy_and_the_references_are_listed():
    assert set(policy_names()) == {*names_of_gesscale(), "ideal", "oracle"}
    for name in policy_names():
        check_policy(name)
        assert build(name).name == name


def test_a_users_policy_is_built_from_its_file(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(
        "from dataclasses import dataclass\n"
        "@dataclass\n"
        "class Mine:\n"
        "    workflow: object\n"
        "    rules: object\n"
        "    name: str = 'mine'\n",
        "utf-8",
    )
    built = build(f"{file}:Mine")
    assert built.name == "mine"
    assert built.workflow is WORLD.scene.workflow
