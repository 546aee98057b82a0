"""``gesscale latency-map choose`` and ``rank``."""

import json

import pytest
from refusals import codes
from typer.testing import CliRunner

from gesscale.cli.latency_map import app
from gesscale.errors import InputError

# d knows a (40) and c (7) but not b
MATRIX = "rtt_ms,a,b,c,d\na,0,2,9,40\nb,2,0,5,\nc,9,5,0,7\nd,40,,7,0\n"


@pytest.fixture
def run(tmp_path):
    file = tmp_path / "map.csv"
    file.write_text(MATRIX)

    def invoke(command, *options):
        return CliRunner().invoke(app, [command, str(file), "--unit", "ms", "--kind", "rtt", *options])

    return invoke


def as_json(result):
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def test_an_incomplete_map_causes_a_warning(run):
    # Four nodes are six pairs; b - d is not known.
    result = run("choose", "--size", "2")
    assert result.exit_code == 0
    assert codes(result.stderr) == ["map-incomplete"]


def test_nearest_ranks_all_other_nodes(run):
    document = as_json(run("rank", "--members", "a, b", "--output", "json"))
    assert document == {
        "ranked": [{"node": "c", "distance_ms": 9.0, "mean_ms": 7.0}],
        "unreachable": [{"node": "d", "missing_to": ["b"]}],
    }


def test_farthest_ranks_the_members(run):
    document = as_json(run("rank", "--members", "a,b,c", "--remove", "--output", "json"))
    assert [item["node"] for item in document["ranked"]] == ["c", "a", "b"]  # 9 (mean 7), 9 (5.5), 5


def test_choose_writes_nodes_and_how_certain_they_are(run):
    document = as_json(run("choose", "--size", "2", "--keep", "c", "--exclude", "b", "--output", "json"))
    assert document == {"nodes": ["c", "d"], "nd_max_ms": 7.0, "optimal": True, "gap_ms": 0.0, "method": "exact"}
    assert "NDmax 9 ms round trip, optimal (exact)" in run("choose", "--size", "3").stdout


def test_a_choice_that_is_not_possible_ends_with_exit_code_3(gesscale, tmp_path):
    (tmp_path / "map.csv").write_text(MATRIX)
    words = ("latency-map", "choose", tmp_path / "map.csv", "--unit", "ms", "--kind", "rtt", "--size", "4")
    code, out, err = gesscale(*words)
    assert (code, out) == (3, "")
    assert codes(err) == ["map-incomplete", "choice-impossible"]


@pytest.mark.parametrize(
    ("command", "code"),
    [
        ("rank --members zz", "map-node-unknown"),
        ("rank --remove --members a,zz", "map-node-unknown"),
        ("rank --members ,", "option-names-missing"),
        ("choose --size 2 --keep a --exclude a", "choice-nodes-contradict"),
        ("choose --size 2 --candidates ,", "option-names-missing"),
        ("choose --size 1 --keep a,b", "choice-size-invalid"),
    ],
)
def test_wrong_input_is_an_input_error_in_one_line(run, command, code):
    error = run(*command.split()).exception
    assert isinstance(error, InputError)
    assert error.code == code
    assert "\n" not in str(error)
