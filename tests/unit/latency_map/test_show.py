"""``gesscale latency-map show``."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from gesscale.cli.latency_map import app
from gesscale.errors import InputError
from latency_map import Survey, write_survey
from latency_map.generate import node_names

NAN = float("nan")
# a and b on one site; c far away and seen differently from there; d never answered, b is apart from itself
FAULTY = Survey(
    names=("a", "b", "c", "d"),
    rtt_ms=np.array([[0, 2, 80, NAN], [2, 1, 90, NAN], [100, 90, 0, NAN], [NAN, NAN, NAN, 0]]),
    measured_at_s=1000.0,
    origin="a test",
    changes=("none",),
)


def run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def as_json(result):
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


@pytest.fixture
def faulty(tmp_path):
    file = tmp_path / "faulty.json"
    write_survey(FAULTY, file)
    return file


def test_a_faulty_map_is_shown_as_it_is(faulty):
    document = as_json(run("show", faulty, "--output", "json"))
    assert document["rtt_ms"][0] == [0.0, 2.0, 80.0, None]
    assert document["rtt_ms"][2][0] == 100.0
    assert document["rtt_ms"][1][1] == 1.0
    assert document["missing"] == [["a", "d"], ["b", "d"], ["c", "d"]]
    assert (document["origin"], document["changes"]) == ("a test", ["none"])
    summary = document["summary"]
    assert (summary["nodes"], summary["missing_pairs"], summary["max_ms"]) == (4, 3, 100.0)
    assert summary["asymmetric_ratio"] == pytest.approx(1 / 3)  # a-c of a-b, a-c, b-c


def test_the_table_begins_with_what_matters(faulty):
    text = run("show", faulty, "--members", "a,c").stdout
    for line in ("3 of 6 pairs", "33.3%", "100 (a - c)", "days", "from \\ to"):
        assert line in text


def test_clusters_are_listed_by_name(tmp_path):
    file = tmp_path / "sites.json"
    # four sites of ten nodes, 3 ms inside, 50 ms between
    site = np.arange(40) // 10
    rtt_ms = np.where(site[:, None] == site, 3.0, 50.0) * (1 - np.eye(40))
    write_survey(Survey(names=node_names(40), rtt_ms=rtt_ms), file)
    text = run("show", file).stdout
    assert text.count("of 10 nodes") == 4
    assert text.count("… 2 more") == 4  # eight of the ten are named
    clusters = as_json(run("show", file, "--output", "json"))["clusters"]
    assert [len(cluster) for cluster in clusters] == [10, 10, 10, 10]


def test_pictures_are_written_beside_the_table(faulty, tmp_path):
    heat_map, picture = tmp_path / "heat.png", tmp_path / "picture.svg"
    result = run("show", faulty, "--heat-map", heat_map, "--picture", picture, "--members", "a,b")
    assert result.exit_code == 0, result.output
    assert heat_map.read_bytes().startswith(b"\x89PNG")
    assert "<svg" in picture.read_text()
    assert result.stderr.count(" written\n") == 2


@pytest.mark.parametrize("options", [["--heat-map", "map.pdf"], ["--picture", "nowhere/map.png"], ["--members", "zz"]])
def test_what_cannot_be_shown_is_an_input_error(faulty, options):
    assert isinstance(run("show", faulty, *options).exception, InputError)
