"""What docs/reference/policies/rules.md shows is what there is."""

import re
from pathlib import Path

from testbed.baselines.rules import parse_rules, rules_yaml
from testbed.baselines.rules.defaults import DEFAULT_RULES
from testbed.baselines.rules.model import Metric

GUIDE = (Path(__file__).parents[5] / "docs/reference/policies/rules.md").read_text("utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", GUIDE, re.DOTALL)


def test_builder_and_yaml_of_the_tutorial_say_the_same():
    (python,), (yaml, _) = blocks("python"), blocks("yaml")
    names: dict[str, object] = {"__name__": "backlog"}
    exec(python, names)  # noqa: S102 - our own page
    made = names["backlog"].rule_set
    assert made == parse_rules(yaml) == parse_rules(rules_yaml(made))


def test_the_default_rules_are_those():
    assert parse_rules(blocks("yaml")[1]).rules == DEFAULT_RULES


def test_every_metric_is_told():
    assert all(f"`{metric}`" in GUIDE for metric in Metric)
