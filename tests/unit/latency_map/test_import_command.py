import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from gesscale.cli.latency_map import app
from gesscale.errors import InputError

SAMPLES = Path(__file__).parents[2] / "data" / "latency_maps"
SEATTLE = str(SAMPLES / "seattle_12x12.tsv")


def run(*arguments, stdin=None):
    return CliRunner().invoke(app, ["import", *map(str, arguments)], input=stdin)


def test_without_a_target_only_the_map_goes_to_stdout():
    result = run(SAMPLES / "edges.csv")
    assert result.exit_code == 0, result.output
    document = json.loads(result.stdout)
    assert document["apiVersion"] == "gesscale.dev/v1"
    assert document["rtt_ms"][0] == [0.0, 0.8, 12.25]
    assert "edges.csv read as pairs: " in result.stderr


def test_with_a_target_a_report_goes_to_stdout(tmp_path):
    target = tmp_path / "map.json"
    result = run(
        SAMPLES / "wondernetwork_pings.csv", "--unit", "ms", "--kind", "rtt", "--to", target, "--output", "json"
    )
    report = json.loads(result.stdout)
    assert (report["format"], report["unit"], report["kind"]) == ("pairs", "ms", "rtt")
    # known pairs: 17-4 both ways, 17-59, 59-4 and 59-203 one way
    summary = report["summary"]
    counts = (summary["nodes"], summary["pairs"], summary["missing_pairs"], summary["one_way_pairs"])
    assert counts == (4, 6, 2, 3)
    assert report["measured_at_s"] == 1595116931.0
    assert report["warnings"] == []
    assert set(json.loads(target.read_text())["nodes"]) == {"4", "17", "59", "203"}


def test_a_map_is_read_from_standard_input(tmp_path):
    first, second = tmp_path / "first.json", tmp_path / "second.json"
    run(SAMPLES / "document_v1.json", "--to", first)
    result = run("-", "--to", second, stdin=first.read_text("utf-8"))
    assert result.exit_code == 0, result.output
    assert first.read_text("utf-8") == second.read_text("utf-8")


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ((SEATTLE,), "map-unit-missing"),
        ((SAMPLES / "edges.csv", "--delay", "median"), "map-column-unknown"),
        ((SAMPLES / "ping_macos.txt",), "map-source-missing"),
        ((SAMPLES / "none.csv",), "map-unreadable"),
        ((SAMPLES / "edges.csv", "--to", SAMPLES), "file-unwritable"),
    ],
)
def test_wrong_input_is_an_input_error_in_one_line(arguments, code):
    error = run(*arguments).exception
    assert isinstance(error, InputError)
    assert error.code == code
    assert "\n" not in str(error)


def test_max_nodes_is_an_option_before_the_command(tmp_path):
    edges = tmp_path / "edges.csv"
    edges.write_text("from,to,rtt_ms\n" + "".join(f"{node},{node + 1},1\n" for node in range(1, 1005)))
    refused = run(edges, "--to", tmp_path / "map.json")
    assert isinstance(refused.exception, InputError)
    assert (refused.exception.code, refused.exception.fields["limit"]) == ("map-nodes-excessive", 1000)
    assert "--max-nodes" in refused.exception.fields["setting"]
    command = ["--max-nodes", "1005", "import", str(edges), "--output", "json"]
    taken = CliRunner().invoke(app, [*command, "--to", str(tmp_path / "map.json")])
    assert json.loads(taken.stdout)["summary"]["nodes"] == 1005
    assert run(edges).exception.code == "map-nodes-excessive"  # the option is that of one command
    most = CliRunner().invoke(app, ["--max-nodes", "5001", "import", str(edges)])
    assert most.exit_code == 2
    assert "5000" in most.stderr
