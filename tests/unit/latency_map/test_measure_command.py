import json
import socket

import pytest
from typer.testing import CliRunner

from gesscale.cli.latency_map import app
from gesscale.errors import InputError
from latency_map import read_survey


def run(*arguments):
    return CliRunner().invoke(app, list(arguments))


@pytest.fixture
def port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def measure(port, *arguments):
    return run("measure", "--source", "me", "--method", "tcp", "--port", str(port), "--count", "3", *arguments)


def test_measure_writes_one_row_of_a_map(port, tmp_path):
    file = tmp_path / "row.json"
    result = measure(port, "--target", "a=127.0.0.1", "--target", "b=a..b", "--to", str(file), "--output", "json")
    assert result.exit_code == 0, result.output
    report = json.loads(result.stdout)
    assert report["source"] == "me"
    assert report["targets"]["a"]["replies"] == 3
    assert report["targets"]["b"] == {
        "address": "a..b", "median_ms": None, "p95_ms": None, "jitter_ms": None, "loss_ratio": 1.0,
        "replies": 0, "timeouts": 0, "unreachable": 3,
        "problem": report["targets"]["b"]["problem"],
    }  # fmt: skip
    assert report["targets"]["b"]["problem"]["code"] == "probe-name-unresolved"
    survey = read_survey(file).survey
    assert survey.names == ("me", "a", "b")
    assert survey.rtt_ms[0, 1] == report["targets"]["a"]["median_ms"]
    assert survey.measured_at_s is not None
    assert survey.origin == "measured from me by tcp"


def test_a_list_of_targets_may_name_this_node_too(port):
    result = measure(port, "--target", "# all nodes\nme=10.7.0.9\na=127.0.0.1\n", "--target", "c=127.0.0.1")
    assert json.loads(result.stdout)["nodes"] == ["me", "a", "c"]


def test_measure_without_a_reply_writes_no_map(port, tmp_path):
    file = tmp_path / "row.json"
    result = measure(port, "--target", "b=a..b", "--to", str(file))
    assert result.exit_code == 1
    assert result.exception.code == "probes-lost"
    assert "3 unreachable" in result.stdout
    assert not file.exists()


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ([], "probe-targets-missing"),
        (["--target", "a"], "peer-invalid"),
        (["--source", " ", "--target", "a=127.0.0.1"], "map-name-invalid"),
    ],
)
def test_wrong_targets_are_an_input_error(port, arguments, code):
    result = measure(port, *arguments)
    assert isinstance(result.exception, InputError)
    assert result.exception.code == code


def page(source, **rtts_ms):
    return "".join(
        f'gesscale_latency_rtt_seconds{{source="{source}",target="{target}"}} {rtt_ms / 1000}\n'
        f'gesscale_latency_measured_timestamp_seconds{{source="{source}",target="{target}"}} 1.7e9\n'
        for target, rtt_ms in rtts_ms.items()
    )


@pytest.fixture
def agents(httpserver):
    """Addresses of three agents on a line: a - b - c; that of c does not answer."""
    httpserver.expect_request("/a/metrics").respond_with_data(page("a", b=10))
    httpserver.expect_request("/b/metrics").respond_with_data(page("b", a=12, c=10))
    return [httpserver.url_for(f"/{name}") for name in "abc"]


def test_gather_makes_a_map_and_lists_unreachable_agents(agents, tmp_path):
    file = tmp_path / "map.json"
    result = run("gather", "--agents", ",".join(agents), "--to", str(file), "--output", "json")
    assert result.exit_code == 0, result.output
    report = json.loads(result.stdout)
    summary = report["summary"]
    assert (summary["pairs"], summary["one_way_pairs"], summary["missing_pairs"]) == (3, 1, 1)
    assert (report["agents_asked"], report["agents_responded"]) == (3, 2)
    assert report["measured_at_s"] == 1.7e9
    assert {url: problem["code"] for url, problem in report["unreachable"].items()} == {
        agents[2]: "fetch-status-unexpected"
    }
    survey = read_survey(file).survey
    assert survey.names == ("a", "b", "c")
    assert survey.rtt_ms[1].tolist() == pytest.approx([12, 0, 10])
    table = run("gather", "--agents", ",".join(agents), "--to", str(file)).stdout
    assert "2 of 3" in table
    assert agents[2] in table


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ([], "agents-option-ambiguous"),
        (["--agents", "a", "--agents-dns", "b"], "agents-option-ambiguous"),
        (["--agents", "a b"], "host-port-invalid"),
    ],
)
def test_wrong_agents_are_an_input_error(arguments, code):
    result = run("gather", *arguments)
    assert isinstance(result.exception, InputError)
    assert result.exception.code == code
