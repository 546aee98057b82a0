"""``gesscale latency-map show`` and ``diff``: as a user sees them."""

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


def as_json(result, exit_code=0):
    assert result.exit_code == exit_code, result.output
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
    clusters = as_json(run("show", file, "--output", "json"))["summary"]["clusters"]
    assert [len(cluster) for cluster in clusters] == [10, 10, 10, 10]


def test_pictures_are_written_beside_the_table(faulty, tmp_path):
    heat_map, picture = tmp_path / "heat.png", tmp_path / "picture.svg"
    result = run("show", faulty, "--heat-map", heat_map, "--picture", picture, "--members", "a,b")
    assert result.exit_code == 0, result.output
    assert heat_map.read_bytes().startswith(b"\x89PNG")
    assert "<svg" in picture.read_text()
    assert result.stderr.count(" written\n") == 2


@pytest.mark.parametrize(
    "options",
    [["--heat-map", "map.pdf"], ["--picture", "nowhere/map.png"], ["--members", "zz"]],
)
def test_what_cannot_be_shown_is_an_input_error(faulty, options):
    assert isinstance(run("show", faulty, *options).exception, InputError)


def test_equal_maps_end_with_0_and_others_with_3(faulty, tmp_path):
    other = tmp_path / "other.json"
    rtt_ms = FAULTY.rtt_ms.copy()
    rtt_ms[0, 1] = rtt_ms[1, 0] = 2.5
    write_survey(Survey(names=FAULTY.names, rtt_ms=rtt_ms), other)
    assert as_json(run("diff", faulty, faulty, "--output", "json"))["equal"] is True
    document = as_json(run("diff", faulty, other, "--output", "json"), exit_code=3)
    assert document["difference"]["changed"] == [{"a": "a", "b": "b", "before_ms": 2.0, "after_ms": 2.5}]
    assert run("diff", faulty, other, "--tolerance-ms", "0.5").exit_code == 0
    assert run("diff", faulty, other, "--tolerance-ratio", "0.2").exit_code == 3


def test_the_largest_twenty_changes_are_in_the_table_and_all_in_json(tmp_path):
    files = [tmp_path / "a.json", tmp_path / "b.json"]
    for rtt_ms, file in zip((10.0, 12.0), files, strict=True):
        write_survey(Survey(names=node_names(10), rtt_ms=rtt_ms * (1 - np.eye(10))), file)
    text = run("diff", *files, "--members", "node-01,node-02").stdout
    assert "changed, 20 of 45, round trips in ms" in text
    assert "NDmax of the members, ms" in text
    document = as_json(run("diff", *files, "--output", "json"), exit_code=3)
    assert len(document["difference"]["changed"]) == 45  # every pair of 10 nodes


def test_members_must_be_in_both_maps(faulty, tmp_path):
    write_survey(Survey(names=node_names(3), rtt_ms=1 - np.eye(3)), tmp_path / "star.json")
    result = run("diff", faulty, tmp_path / "star.json", "--members", "a")
    assert isinstance(result.exception, InputError)
    assert "star.json has no 'a'" in str(result.exception)


@pytest.mark.parametrize("missing", ["--unit", "--kind"])
def test_unit_and_kind_are_never_guessed(tmp_path, missing):
    given = {"--unit": "ms", "--kind": "rtt"}
    del given[missing]
    file = tmp_path / "map.csv"
    file.write_text(",a,b\na,0,1\nb,1,0\n")
    result = run("show", file, *(part for option in given.items() for part in option))
    assert isinstance(result.exception, InputError)
    assert missing in str(result.exception)
