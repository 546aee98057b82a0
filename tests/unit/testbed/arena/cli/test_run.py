"""``gesscale arena run`` as a user runs it, and what becomes of the results that it keeps."""

import json

import pytest
import yaml

from gesscale.errors import InputError

OWN_POLICY = """
from gesscale.policies import policy_named

def same(workflow, rules):
    return policy_named("gesscale", workflow, rules)

class Raises:
    name = "raises"
    def __init__(self, workflow, rules):
        pass
    def analyze(self, observation, knowledge):
        raise ValueError("I give up")
    def plan(self, analyses, cluster, knowledge):
        return {}
"""


@pytest.fixture
def run_json(arena):
    def command(*words):
        done = arena("run", "--output", "json", *words)
        assert done.exit_code == 0, done.stderr
        return json.loads(done.stdout)

    return command


def test_the_document_holds_every_run_with_every_metric_and_a_summary(load, run_json):
    document = run_json("--policies", "static,gesscale", "--workload", load, "--seeds", 2, "--jobs", 1)
    assert [(run["policy"], run["seed"]) for run in document["runs"]] == [
        ("static", 0),
        ("gesscale", 0),
        ("static", 1),
        ("gesscale", 1),
    ]
    names = {"accuracy_O", "accuracy_U", "timeshare_O", "timeshare_U", "excess_time", "reconfigurations", "cost"}
    for run in document["runs"]:
        assert run["lost"] is None
        assert names <= run.keys()
    static = document["summary"][0]
    costs = [run["cost"] for run in document["runs"] if run["policy"] == "static"]
    assert static["cost"]["mean"] == pytest.approx(sum(costs) / 2)
    assert static["cost"]["low"] == min(costs)
    assert static["cost"]["high"] == max(costs)
    assert (static["runs"], static["lost"]) == (2, 0)


def test_the_same_seeds_give_the_same_document_whatever_the_jobs(load, run_json):
    asked = ("--policies", "thr-nlunaware,gesscale", "--workload", load, "--seeds", 2)
    assert run_json(*asked, "--jobs", 1) == run_json(*asked, "--jobs", 2)


@pytest.mark.usefixtures("load")
def test_ones_own_policy_plays_and_one_that_raises_loses_its_runs_only(tmp_path, monkeypatch, arena):
    (tmp_path / "mine.py").write_text(OWN_POLICY)
    monkeypatch.chdir(tmp_path)
    asked = ("--policies", "gesscale,mine.py:same,mine.py:Raises", "--workload", "mine.csv", "--seeds", 1)
    done = arena("run", *asked, "--jobs", 1, "--output", "json")
    assert done.exit_code == 1  # a policy that never came through is no comparison
    assert "mine.py:Raises lost 1 run: policy" in done.stderr
    assert "raised ValueError: I give up" in done.stderr
    runs = json.loads(done.stdout)["runs"]
    assert runs[1]["cost"] == runs[0]["cost"]
    assert runs[2]["cost"] is None
    assert "I give up" in runs[2]["lost"]


def test_kept_results_are_gone_on_with_compared_and_reported(load, tmp_path, arena, run_json):
    folder = tmp_path / "results"
    asked = ("--policies", "static,gesscale", "--workload", load, "--jobs", 1, "--results", folder)
    first = run_json(*asked, "--seeds", 1)
    again = arena("run", *asked, "--seeds", 2, "--output", "json")
    assert "2 runs are done already; 2 are left" in again.stderr
    assert json.loads(again.stdout)["runs"][:2] == first["runs"]
    document = json.loads(arena("compare", folder, "--output", "json").stdout)
    assert document["baseline"] == "static"
    costs = {each["policy"]: each for each in document["comparisons"] if each["metric"] == "cost"}
    ratio = costs["gesscale"]["ours"]["mean"] / costs["static"]["ours"]["mean"]
    assert costs["gesscale"]["against"]["ratio"]["mean"] == pytest.approx(ratio)
    assert costs["static"]["against"] is None
    table = arena("compare", folder, "--baseline", "gesscale", "--metric", "cost")
    assert "against gesscale" in table.stdout
    assert "2 seeds are few" in table.stderr
    page = tmp_path / "page.html"
    assert arena("report", folder, "--to", page).exit_code == 0
    assert "<html" in page.read_text()


def test_variants_are_played_by_name_or_all(tmp_path, load, arena, run_json):
    file = tmp_path / "experiment.yaml"
    choice = {"name": "cpu", "options": [{"name": "work"}, {"name": "none", "set": {"metrics.cpu": "not-measured"}}]}
    experiment = {
        "name": "mine",
        "policies": ["thr-nlaware", "gesscale"],
        "workloads": [load.name],
        "seeds": 1,
        "nodes": {"topology": "edge8"},
        "variants": {"choices": [choice]},
    }
    file.write_text(yaml.safe_dump(experiment))
    folder = tmp_path / "r"
    one = run_json("--experiment", file, "--variants", "cpu=none", "--jobs", 1, "--results", folder)
    assert {run["variant"] for run in one["runs"]} == {"cpu=none"}
    both = run_json("--experiment", file, "--jobs", 1, "--results", folder)
    assert [run["variant"] for run in both["runs"]] == ["default"] * 2 + ["cpu=none"] * 2
    assert both["runs"][2:] == one["runs"]
    assert "variant cpu=none" in arena("compare", folder).stdout


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--policies", "gescale"), "'gescale'"),
        (("--workload", "nycc"), "did you mean nyc"),
        (("--workload", "nowhere.csv"), r"nowhere\.csv"),
        (("--policies", ""), "policies: expected at least one, got none"),
        (("--variants", "x"), "experiment standard varies nothing"),
        (("--experiment", "tabel3"), "there is no experiment 'tabel3'"),
        (("--map", "nowhere.json"), r"nowhere\.json"),
        (("--results", "/proc/results"), "name a folder that can be written"),
        (("--results", "/proc/version"), "this is a file"),
        (("--spark", ""), r"--spark: expected a master such as spark://host:7077 or local\[4\], got nothing"),
        (("--jobs", "2", "--spark", "local[2]"), "--jobs or --spark, got both"),
        (("--policies", ","), "policies"),
    ],
)
def test_wrong_input_is_refused_before_anything_runs(words, message, arena):
    # static and spikes are the cheapest of all, should the refusal be missing
    defaults = [("--policies", "static"), ("--workload", "spikes"), ("--seeds", "1")]
    asked = [word for option in defaults if option[0] not in words for word in option]
    with pytest.raises(InputError, match=message):
        arena("run", *asked, *words)


def test_the_league_ranks_the_policies_and_names_the_winners(load, tmp_path, arena):
    folder = tmp_path / "results"
    asked = ("--policies", "gesscale,static,ideal", "--workload", load, "--seeds", 2, "--jobs", 1)
    arena("run", *asked, "--results", folder)
    shown = arena("league", folder, "--price", 5)
    assert "Over all loads: ratios to ideal" in shown.stdout
    assert "static (knows the load)" in shown.stdout
    assert "The lowest cost on each load" in shown.stdout
    assert "2 seeds are few" in shown.stderr
    document = json.loads(arena("league", folder, "--price", 5, "--output", "json").stdout)
    assert document["prices_replica_min"] == [5.0]
    ours = next(each for each in document["standings"] if each["policy"] == "gesscale")
    assert ours["won"] == [[str(load)]]  # the only one that competes
    assert "ratios to gesscale" in arena("league", folder, "--baseline", "gesscale").stdout
    assert "oracle" not in shown.stdout  # it has not been played
    growing = arena("league", folder, "--account", "growing", "--objective", "30s")
    assert "Over all loads: ratios to ideal, late from 30 s" in growing.stdout
    assert "lag area" in growing.stdout
    with pytest.raises(InputError, match="--objective: expected one that was scored, 30s, 60s, 120s, got 45s"):
        arena("league", folder, "--objective", "45s")
    with pytest.raises(InputError, match="--objective: "):
        arena("league", folder, "--objective", "soon")
    arena("run", "--policies", "gesscale,static,ideal,oracle", *asked[2:], "--results", folder)
    assert "above oracle" in arena("league", folder).stdout
    with pytest.raises(InputError, match="expected replica-minutes, 0 or more, got -1"):
        arena("league", folder, "--price", -1)


def test_a_load_beyond_all_replicas_is_said_before_it_is_played(tmp_path, arena):
    file = tmp_path / "steep.csv"
    file.write_text("t_s,rows_per_s\n0,100\n300,1000000\n420,100\n600,100\n")
    done = arena("run", "--policies", "static", "--workload", file, "--seeds", 1, "--jobs", 1)
    assert "operator 'operator' is offered" in done.stderr
    assert "is offered up to 1e+06 rows/s" in done.stderr
    assert "for 2 min no policy can keep up" in done.stderr
