"""``gesscale rules``: files of rules are checked, and faults end in one line and exit code 2."""

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from gesscale.cli.app import run as run_command
from testbed.baselines.rules_command import app

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

Command = Callable[..., tuple[int, str, str]]


@pytest.fixture
def rules(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """Run ``gesscale rules``; give its exit code, stdout and stderr."""

    def command(*words: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["gesscale", *map(str, words)])
        with pytest.raises(SystemExit) as ended:
            run_command(app)
        said = capsys.readouterr()
        return int(ended.value.code or 0), said.out, said.err

    return command


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "rules.yaml"
    path.write_text(SOUND, "utf-8")
    return path


def test_a_sound_file_is_told_rule_by_rule(rules, file):
    code, out, err = rules("check", file)
    assert code == 0
    assert "backlog" in out
    assert "scale-out agg +2, max 3" in " ".join(out.split())
    assert err == f"{file}: valid; rules: backlog\n"


def test_documents_are_for_programs(rules, file):
    _, out, _ = rules("check", file, "-o", "json")
    assert json.loads(out)["rules"][0]["name"] == "backlog"
    _, out, _ = rules("check", file, "-o", "yaml", "--trigger", "20s")
    document = yaml.safe_load(out)
    assert document["name"] == "demo"
    assert document["advice"] == [
        "backlog: queue-length is reported every 20s, so a time of 30s holds a single reading; "
        "two that agree are required"
    ]


def test_doubts_are_told_and_pass(rules, file):
    file.write_text(SOUND.replace("max: 3", "").replace("30s", "15s"), "utf-8")
    code, _, err = rules("check", file)
    assert code == 0
    assert "note: backlog: it has no max" in err
    assert "note: backlog: queue-length is reported every 10s, so a time of 15s" in err


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        ("queue-length", "queue", "rule 'backlog': when[0].metric: expected 'cpu', "),
        (
            "absolute: 2",
            "absolute: 0",
            "rule 'backlog': by.absolute: expected greater than or equal to 1, got 0",
        ),
        ("max: 3", "most: 3", "rule 'backlog': most: there is no such member; known here: action, by, max, "),
        ("rules:", "rules: [", "expected YAML"),
    ],
)
def test_a_fault_ends_in_one_line_and_exit_code_2(rules, file, before, after, words):
    file.write_text(SOUND.replace(before, after), "utf-8")
    code, out, err = rules("check", file)
    assert (code, out) == (2, "")
    assert err.startswith(f"error: rules file {file}")
    assert words in err
    assert err.count("\n") == 1


def test_a_file_that_is_not_there_ends_in_exit_code_2(rules, tmp_path):
    code, _, err = rules("check", tmp_path / "none.yaml")
    assert code == 2
    assert "No such file or directory; name an existing YAML file" in err


def test_the_operators_of_the_workflow_may_be_named(rules, file):
    assert rules("check", file, "--operator", "agg", "--operator", "join")[0] == 0
    code, _, err = rules("check", file, "--operator", "aggr")
    assert code == 2
    assert "the workflow has no operator 'agg'; did you mean 'aggr'?" in err


@pytest.mark.parametrize("option", ["--period", "--trigger"])
def test_a_time_that_is_none_ends_in_exit_code_2(rules, file, option):
    code, _, err = rules("check", file, option, "soon")
    assert code == 2
    assert "expected a positive duration" in err


def test_the_schema_is_json_on_stdout(rules):
    code, out, _ = rules("schema")
    assert code == 0
    assert json.loads(out)["properties"].keys() == {"name", "rules"}
