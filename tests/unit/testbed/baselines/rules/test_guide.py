"""What docs/reference/policies/rules.md shows is what there is."""

import re
from pathlib import Path

from testbed.baselines.rules.settings import DEFAULT_RULES, parse_rules

GUIDE = (Path(__file__).parents[5] / "docs/reference/policies/rules.md").read_text("utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", GUIDE, re.DOTALL)


def test_the_default_rules_are_those():
    assert parse_rules(blocks("yaml")[1]).rules == DEFAULT_RULES
