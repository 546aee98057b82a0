import json
from itertools import pairwise

import pytest
from typer.testing import CliRunner

from gesscale.cli.latency_map import app
from gesscale.errors import InputError

# d knows a (40) and c (7) but not b
MATRIX = "rtt_ms,a,b,c,d\na,0,2,9,40\nb,2,0,5,\nc,9,5,0,7\nd,40,,7,0\n"


@pytest.fixture
def run(tmp_path):
    file = tmp_path / "map.csv"
    file.write_text(MATRIX)

    def invoke(command, *options, unit="ms"):
        return CliRunner().invoke(app, [command, str(file), "--unit", unit, "--kind", "rtt", *options])

    return invoke


def as_json(result):
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def test_show_writes_round_trips_and_says_on_stderr_what_the_file_was_taken_for(run):
    result = run("show", "--output", "json")
    document = as_json(result)
    assert document["names"] == ["a", "b", "c", "d"]
    assert document["rtt_ms"][1] == [2.0, 0.0, 5.0, None]
    assert document["missing"] == [["b", "d"]]
    assert "read as matrix" in result.stderr


def test_show_writes_a_table_by_default(run):
    assert "4 nodes, round trips in ms, pairs missing: 1" in run("show").stdout


def test_show_sums_up_a_map_too_wide_for_a_table(tmp_path):
    names = [f"n{index}" for index in range(20)]
    file = tmp_path / "wide.csv"
    # a line: n0 - n1 - ... - n18, one apart; n19 alone
    file.write_text("".join(f"{a},{b},1\n" for a, b in pairwise(names[:19])) + "n19,n0,\n")
    result = CliRunner().invoke(app, ["show", str(file), "--unit", "ms", "--kind", "rtt"])
    assert "20 nodes" in result.stdout
    assert "to farthest" in result.stdout


@pytest.mark.parametrize(
    ("command", "options", "unit"),
    [
        ("show", [], "s"),  # the heading says rtt_ms
    ],
)
def test_wrong_input_is_an_input_error(run, command, options, unit):
    assert isinstance(run(command, *options, unit=unit).exception, InputError)


@pytest.mark.parametrize("missing", ["--unit", "--kind"])
def test_unit_and_kind_are_never_guessed(tmp_path, missing):
    given = {"--unit": "ms", "--kind": "rtt"}
    del given[missing]
    arguments = [part for option in given.items() for part in option]
    file = tmp_path / "map.csv"
    file.write_text(",a,b\na,0,1\nb,1,0\n")
    result = CliRunner().invoke(app, ["show", str(file), *arguments])
    assert isinstance(result.exception, InputError)
    assert missing in str(result.exception)
