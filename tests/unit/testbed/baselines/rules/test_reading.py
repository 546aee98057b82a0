"""Rules as YAML: the twin of the builder, its schema, and faults in one line."""

from pathlib import Path

import pytest

from testbed.baselines.rules import (
    PolicyError,
    PolicyRules,
    above,
    absolute,
    metric,
    minutes,
    nodes,
    operator,
    parse_rules,
    read_rules,
    rules_schema,
    rules_yaml,
    seconds,
    tuples,
)
from testbed.baselines.rules.defaults import DEFAULT_RULES
from testbed.baselines.rules.model import RuleSet

TWIN = """
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


def test_builder_and_yaml_say_the_same():
    with PolicyRules("demo") as demo:
        rule = demo.rule("backlog").scale_out(operator("agg")).by(absolute(2)).never_above(nodes(3))
        rule.when(metric("queue-length")).is_(above(tuples(300))).for_at_least(seconds(30))
        rule.no_scale_out_since(minutes(5))
    assert parse_rules(TWIN) == demo.rule_set
    assert parse_rules(rules_yaml(demo.rule_set)) == demo.rule_set


def test_what_is_written_says_nothing_that_goes_without_saying():
    written = rules_yaml(RuleSet(name="default", rules=DEFAULT_RULES))
    assert parse_rules(written).rules == DEFAULT_RULES
    assert "null" not in written
    assert "for: 3m" in written
    assert "together" not in written


def test_a_file_is_read(tmp_path: Path):
    file = tmp_path / "rules.yaml"
    file.write_text(TWIN, "utf-8")
    assert read_rules(file).rules[0].name == "backlog"


def test_no_rules_are_rules_too():
    assert parse_rules("rules: []").rules == ()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("rules: [", "rules, line 2, column 1: expected YAML, got: "),
        ("", r"rules: expected a mapping such as `rules: \[...\]`, got None"),
        ("- a", r"expected a mapping such as .*, got \['a'\]"),
        ("rule: []", r"rule: there is no such member; did you mean 'rules'\?"),
        ("rules: 3", "rules: expected a list, got 3"),
        ("rules: [3]", "rule number 1: expected its members, got 3"),
        ("rules: [{name: a}]", "rule 'a': operator: it is required; rule 'a': action: it is required"),
        (TWIN.replace("above: 300", "over: 300"), r"when\[0\].over: there is no such member; did you mean"),
        (
            TWIN.replace("agg", "''"),
            "rule 'backlog': operator: String should have at least 1 character, got ''",
        ),
        (
            TWIN.replace("queue-length", "queue"),
            r"when\[0\].metric: expected 'cpu', .*'throughput', got 'queue'$",
        ),
        (TWIN.replace("30s", "soon"), r"when\[0\].for: expected a positive duration such as .*, got 'soon'$"),
        (TWIN.replace("above: 300, ", ""), r"when\[0\]: queue-length: expected above or below, got none$"),
        (TWIN.replace("absolute: 2", "relative: 1"), "by.relative: expected greater than 1, got 1$"),
    ],
)
def test_faults_come_in_one_line_with_the_place(text, words):
    with pytest.raises(PolicyError, match=words) as caught:
        parse_rules(text)
    assert "\n" not in str(caught.value)


def test_every_fault_is_told():
    with pytest.raises(PolicyError) as caught:
        parse_rules(TWIN.replace("max: 3", "max: 0").replace("5m", "0"))
    assert "rule 'backlog': max: expected greater than or equal to 1, got 0; " in str(caught.value)
    assert "rule 'backlog': unless[0].within: expected a positive duration" in str(caught.value)


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path):
    with pytest.raises(
        PolicyError, match=r"rules file .*none.yaml: No such file or directory; name an existing"
    ):
        read_rules(tmp_path / "none.yaml")
    (tmp_path / "bytes.yaml").write_bytes(b"\xff\xfe\xfa")
    with pytest.raises(PolicyError, match="expected text in UTF-8"):
        read_rules(tmp_path / "bytes.yaml")


def test_the_schema_names_every_member_and_metric():
    schema = rules_schema()
    parts = schema["$defs"]
    assert set(parts["Rule"]["required"]) == {"operator", "action", "by", "when"}
    assert {"metric", "above", "below", "unit", "for"} == set(parts["Trigger"]["properties"])
    assert {"since", "within"} == set(parts["Guard"]["properties"])
    assert "queue-length" in parts["Metric"]["enum"]
    assert parts["Rule"]["properties"]["action"]["enum"] == ["scale-out", "scale-in", "out", "in"]
    assert not parts["Rule"]["additionalProperties"]
