"""``latency-map plan`` as a user sees it."""

import json
import os

import pytest
from typer.testing import CliRunner

from gesscale.cli.latency_map import app
from gesscale.errors import InputError

MATRIX = "rtt_ms,a,b,c\na,0,10,25\nb,10,0,\nc,25,,0\n"
FULL = MATRIX.replace("b,10,0,", "b,10,0,300")


@pytest.fixture
def plan(tmp_path):
    file = tmp_path / "map.csv"
    file.write_text(FULL)

    def invoke(*options, text=FULL):
        file.write_text(text)
        return CliRunner().invoke(app, ["plan", str(file), "--unit", "ms", "--kind", "rtt", *options])

    return invoke


def test_documents_hold_delays_and_commands_of_every_node(plan):
    document = json.loads(plan("--subnet", "10.9.0.0/24", "--device", "ens3", "--output", "json").stdout)
    assert [node["node"] for node in document["nodes"]] == ["a", "b", "c"]
    first = document["nodes"][0]
    assert first["delays"][1] == {
        "to": "c",
        "destinations": ["10.9.0.3/32"],
        "rtt_ms": 25.0,
        "own_ms": 0.0,
        "added_ms": 12.5,
    }
    assert first["apply"][0] == "tc qdisc add dev ens3 root handle 6e5: htb direct_qlen 1000"
    assert first["undo"] == ["tc qdisc del dev ens3 root handle 6e5: htb"]


def test_a_directory_gets_two_scripts_for_each_node(plan, tmp_path):
    folder = tmp_path / "new" / "scripts"
    result = plan("--subnet", "10.9.0.0/24", "--directory", str(folder), "--for", "30m")
    assert result.stdout == ""
    assert sorted(path.name for path in folder.iterdir()) == [
        f"{action}-{node}.sh" for action in ("apply", "undo") for node in "abc"
    ]
    assert 'gesscale-timer "$timer" 1800' in (folder / "apply-a.sh").read_text()
    assert all(os.access(path, os.X_OK) for path in folder.iterdir())


def test_the_script_of_one_node_goes_to_stdout(plan):
    there = plan("--subnet", "10.9.0.0/24", "--output", "sh", "--node", "a").stdout
    back = plan("--subnet", "10.9.0.0/24", "--output", "sh", "--node", "a", "--undo").stdout
    assert there.startswith("#!/bin/sh\n# Delays of node a")
    assert back.startswith("#!/bin/sh\n# Takes away the delays")


def test_own_round_trips_are_taken_off_and_pairs_that_cannot_be_met_named(plan, tmp_path):
    measured = tmp_path / "own.csv"
    measured.write_text("from,to,rtt_ms\na,b,11\na,c,5\nb,c,0\n")
    own = tmp_path / "own.json"
    assert (
        CliRunner().invoke(app, ["import", str(measured), "--kind", "rtt", "--to", str(own)]).exit_code == 0
    )
    result = plan("--subnet", "10.9.0.0/24", "--measured", str(own), "--output", "json")
    added = [delay["added_ms"] for node in json.loads(result.stdout)["nodes"] for delay in node["delays"]]
    # a-b: 10 - 11 < 0; a-c: (25 - 5) / 2 = 10; b-c: 300 / 2 = 150
    assert added == [0.0, 10.0, 0.0, 150.0, 10.0, 150.0]
    assert "a - b cannot be met: 10 ms are asked, the network itself has 11 ms" in result.stderr


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ((), "expected one of --addresses HOSTS and --subnet NETWORK"),
        (("--subnet", "10.9.0.0/24", "--output", "sh"), "expected one node"),
        (("--subnet", "10.9.0.0/24", "--node", "z"), "got 'z'"),
        (("--subnet", "10.9.0.0/24", "--for", "soon"), "a time such as 90s, 30m or 2h, got 'soon'"),
        (("--subnet", "nowhere"), "expected a network such as"),
    ],
)
def test_wrong_input_is_an_input_error(plan, options, says):
    result = plan(*options)
    assert isinstance(result.exception, InputError)
    assert says in str(result.exception)
