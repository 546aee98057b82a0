"""The examples that need no Spark, by the commands of their page."""

import json
import re
import shlex
import shutil
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "examples" / "README.md").read_text("utf-8")
COMMANDS = [shlex.split(line) for line in re.findall(r"^    (gesscale .*)$", PAGE, re.MULTILINE)]


@pytest.fixture
def examples(tmp_path, monkeypatch):
    """A copy of the examples in the current folder, where commands may leave files."""
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    monkeypatch.chdir(tmp_path)
    return tmp_path / "examples"


def command(first: str) -> list[str]:
    """Return the only command of the page that begins so."""
    (found,) = [words for words in COMMANDS if " ".join(words).startswith(f"gesscale {first}")]
    return found[1:]


def test_the_settings_of_the_job_are_valid_and_not_doubted(examples, gesscale):
    code, _, err = gesscale("config", "validate", examples / "own_job" / "gesscale.yaml")
    assert code == 0
    assert "warning" not in err


@pytest.mark.usefixtures("examples")
def test_the_policy_plays_against_others(gesscale):
    words = command("arena run --policies examples/own_policy")
    code, out, err = gesscale(*words, "--jobs", 1, "--seeds", 1, "-o", "json")
    assert code == 0, err
    costs = {run["policy"].rpartition("/")[2]: run["cost"] for run in json.loads(out)["runs"]}
    # The load has two steps: whoever follows them pays for fewer replicas than who has those of the peak.
    assert costs["reserve.py:Reserve"] < costs["static"]


@pytest.mark.usefixtures("examples")
def test_the_load_is_read_and_can_be_carried(gesscale):
    words = command("arena run --policies static,hpa-cpu")
    code, out, err = gesscale(*words, "--jobs", 1, "--seeds", 1, "--policies", "static", "-o", "json")
    assert code == 0, err
    assert "warning" not in err
    assert json.loads(out)["runs"][0]["drained"] == 1
    assert gesscale(*command("arena league"))[0] == 0


def test_a_load_that_is_missing_is_named(examples, gesscale):
    (examples / "own_load" / "morning.csv").unlink()
    code, _, err = gesscale(*command("arena run --policies static,hpa-cpu"), "--jobs", 1)
    assert code == 2
    assert "examples/own_load/morning.csv" in err
