"""``gesscale rules``: files of rules are checked, and faults end in one line and exit code 2."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from gesscale.cli.ending import run as run_command
from testbed.baselines.rules.command import app

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
    code, _, err = rules("check", file)
    assert code == 0
    assert "valid" in err
    assert "backlog" in err


def test_the_operators_of_the_workflow_may_be_named(rules, file):
    assert rules("check", file, "--operator", "agg", "--operator", "join")[0] == 0
    code, _, err = rules("check", file, "--operator", "aggr")
    assert code == 2
    assert "did you mean 'aggr'?" in err


def test_a_fault_ends_in_one_line_and_exit_code_2(rules, file):
    file.write_text(SOUND.replace("queue-length", "queue"), "utf-8")
    code, out, err = rules("check", file)
    assert (code, out, err.count("\n")) == (2, "", 1)
