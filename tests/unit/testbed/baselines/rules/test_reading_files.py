"""Files of rules: read, or refused in one line that names the place; the default rules are those of the guide."""

import re
from pathlib import Path

import pytest
from refusals import refused

from gesscale.common.errors import InputError
from testbed.baselines.rules.model import RuleSet
from testbed.baselines.rules.settings import DEFAULT_RULES, parse_rules, read_rules

SOUND = """
name: demo
rules:
  - name: backlog
    operator: agg
    action: scale-out
    by: {absolute: 2}
    max: 3
    when: [{metric: queue-length, above: 300, unit: tuples, for: 30s}]
    unless: [{since: scale-out, within: 5m}]
"""


def test_a_file_is_read(tmp_path: Path):
    file = tmp_path / "rules.yaml"
    file.write_text(SOUND, "utf-8")
    (rule,) = read_rules(file).rules
    assert (rule.name, rule.by.absolute, rule.when[0].for_s) == ("backlog", 2, 30)
    assert parse_rules("rules: []").rules == ()


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("rules: [", "line 2, column 1"),
        ("", ""),
        ("rule: []", "rule"),
        ("rules: 3", "rules"),
        (SOUND.replace("queue-length", "queue"), "when.0.metric"),
        (SOUND.replace("30s", "soon"), "when.0.for"),
        (SOUND.replace("absolute: 2", "relative: 1"), "by.relative"),
    ],
)
def test_a_fault_comes_in_one_line_with_the_place(text, place):
    with pytest.raises(InputError) as caught:
        parse_rules(text)
    assert place in str(caught.value)
    assert str(caught.value).isprintable()


def test_an_unknown_metric_is_refused_with_the_nearest_name():
    gauge = "gesscale_operator_batch_state_bytes"
    place = "rules.0.when.0.metric"
    for name, like in ((gauge[:-1], gauge), ("queue-len", "queue-length")):
        with refused("rule-metric-unknown", place=place, got=name, nearest=[like]):
            parse_rules(SOUND.replace("unit: tuples, ", "").replace("queue-length", name))


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path):
    with refused("rules-file-unreadable", source=f"rules file {tmp_path / 'none.yaml'}"):
        read_rules(tmp_path / "none.yaml")
    (tmp_path / "bytes.yaml").write_bytes(b"\xff\xfe\xfa")
    with refused("file-not-utf8"):
        read_rules(tmp_path / "bytes.yaml")


def test_the_schema_has_every_member_as_it_is_written():
    schema = RuleSet.model_json_schema(by_alias=True)
    parts = schema["$defs"]
    assert set(parts["Rule"]["required"]) == {"operator", "action", "by", "when"}
    assert {"metric", "above", "below", "unit", "for", "share", "mean"} == set(parts["RuleTrigger"]["properties"])


GUIDE = (Path(__file__).parents[5] / "docs/reference/policies/rules.md").read_text("utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", GUIDE, re.DOTALL)


def test_the_default_rules_are_those():
    assert parse_rules(blocks("yaml")[-1]).rules == DEFAULT_RULES
