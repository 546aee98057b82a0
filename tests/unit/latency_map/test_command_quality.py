import json

import pytest
from typer.testing import CliRunner

from gesscale.cli.latency_map import app
from gesscale.errors import InputError
from latency_map import read_survey

# b is 1 from itself; a - c 9 and 8; c - d is missing; a - d is 0
FAULTY = "rtt_ms,a,b,c,d\na,0,2,9,0\nb,2,1,5,6\nc,8,5,0,\nd,0,6,,0\n"
SOUND = "rtt_ms,a,b,c\na,0,3,4\nb,3,0,5\nc,4,5,0\n"


@pytest.fixture
def run(tmp_path):
    file = tmp_path / "map.csv"

    def invoke(command, *options, text=FAULTY):
        file.write_text(text)
        return CliRunner().invoke(app, [command, str(file), "--unit", "ms", "--kind", "rtt", *options])

    return invoke


def test_check_of_a_faulty_map_ends_with_exit_code_3(run):
    result = run("check", "--output", "json")
    assert result.exit_code == 3
    report = json.loads(result.stdout)
    found = {each["code"]: each for each in report["findings"]}
    assert [each["severity"] for each in report["findings"]][:3] == ["error"] * 3
    assert found["map-pairs-missing"]["count"] == 1
    assert found["map-self-delays"]["fields"] == {"count": 1, "node": "b", "rtt_ms": 1.0}
    assert found["map-zero-delays"]["severity"] == "warning"
    assert all(each["message"] and each["advice"] for each in report["findings"])
    assert report["repairs"] == ["--zero-diagonal", "--symmetrise max", "--fill coordinates"]
    assert not report["usable"]


def test_asymmetry_is_no_error_if_a_rule_is_given(run):
    text = SOUND.replace("b,3", "b,2")
    assert run("check", text=text).exit_code == 3
    assert run("check", "--asymmetry", "max", text=text).exit_code == 0


def test_what_the_verdict_names_makes_the_map_usable(run, tmp_path):
    target = tmp_path / "repaired.json"
    repairs = json.loads(run("check", "--output", "json").stdout)["repairs"]
    options = [part for option in repairs for part in option.split()]
    result = run("repair", *options, "--to", str(target), "--output", "json")
    assert result.exit_code == 0, result.output
    document = json.loads(result.stdout)
    assert document["usable"]
    assert [change["step"] for change in document["changes"]] == ["zero-diagonal", "symmetrise", "fill"]
    repaired = read_survey(target).survey
    assert repaired.to_map().missing() == ()
    assert [each.split(":")[0] for each in repaired.changes] == [
        "repair zero-diagonal",
        "repair symmetrise",
        "repair fill",
    ]
    assert repaired.estimated.sum() == 2  # c - d and d - c


def test_without_a_target_the_map_goes_to_stdout(run):
    result = run("repair", "--zero-diagonal")
    assert result.exit_code == 0
    assert json.loads(result.stdout)["kind"] == "LatencyMap"
    assert "zero-diagonal" in result.stderr
    assert "map-pairs-missing" in result.stderr


@pytest.mark.parametrize("options", [["--drop", "zz"], []])
def test_wrong_input_is_an_input_error(run, options):
    assert isinstance(run("repair", *options).exception, InputError)
