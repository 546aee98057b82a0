"""``gesscale arena run``, and the commands that read its results."""

import json

import pytest
import yaml
from refusals import codes, refused

from gesscale.errors import InputError
from testbed.arena.experiments.experiment import read_experiment
from testbed.arena.runner import check_experiment

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


def test_the_document_has_every_run_every_metric_and_a_summary(load, run_json):
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


def test_the_document_depends_on_seeds_and_not_on_jobs(load, run_json):
    asked = ("--policies", "thr-nlunaware,gesscale", "--workload", load, "--seeds", 2)
    assert run_json(*asked, "--jobs", 1) == run_json(*asked, "--jobs", 2)


@pytest.mark.usefixtures("load")
def test_a_users_policy_runs_and_one_that_raises_loses_only_its_runs(tmp_path, monkeypatch, arena):
    (tmp_path / "mine.py").write_text(OWN_POLICY)
    monkeypatch.chdir(tmp_path)
    asked = ("--policies", "gesscale,mine.py:same,mine.py:Raises", "--workload", "mine.csv", "--seeds", 1)
    done = arena("run", *asked, "--jobs", 1, "--output", "json")
    assert done.exit_code == 1  # a policy that completed no run cannot be compared
    assert codes(done.stderr) == ["runs-lost"]
    assert "ValueError: I give up" in done.stderr
    runs = json.loads(done.stdout)["runs"]
    assert runs[1]["cost"] == runs[0]["cost"]
    assert runs[2]["cost"] is None
    assert "I give up" in runs[2]["lost"]
    assert runs[2]["lost_code"] == "policy-raised"


def test_stored_results_are_resumed_compared_and_reported(load, tmp_path, arena, run_json):
    folder = tmp_path / "results"
    asked = ("--policies", "static,gesscale", "--workload", load, "--jobs", 1, "--results", folder)
    first = run_json(*asked, "--seeds", 1)
    again = arena("run", *asked, "--seeds", 2, "--output", "json")
    assert "2 runs done" in again.stderr
    assert json.loads(again.stdout)["runs"][:2] == first["runs"]
    document = json.loads(arena("compare", folder, "--output", "json").stdout)
    assert document["baseline"] == "static"
    costs = {each["policy"]: each for each in document["comparisons"] if each["metric"] == "cost"}
    ratio = costs["gesscale"]["ours"]["mean"] / costs["static"]["ours"]["mean"]
    assert costs["gesscale"]["against"]["ratio"]["mean"] == pytest.approx(ratio)
    assert costs["static"]["against"] is None
    table = arena("compare", folder, "--baseline", "gesscale", "--metric", "cost")
    assert "baseline gesscale" in table.stdout
    assert codes(table.stderr) == ["seeds-few"]
    page = tmp_path / "page.html"
    assert arena("report", folder, "--to", page).exit_code == 0
    assert "<html" in page.read_text()


def test_variants_run_by_name_or_all(tmp_path, load, arena, run_json):
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
    ("words", "code"),
    [
        (("--workload", "nycc"), "workload-unknown"),
        (("--policies", ""), "setting-invalid"),
        (("--policies", ","), "setting-invalid"),
        (("--variants", "x"), "experiment-without-variants"),
        (("--experiment", "tabel3"), "experiment-unknown"),
        (("--results", "/proc/results"), "results-folder-unwritable"),
        (("--results", "/proc/version"), "results-not-directory"),
        (("--spark", ""), "spark-master-empty"),
        (("--jobs", "2", "--spark", "local[2]"), "jobs-with-spark"),
    ],
)
def test_wrong_input_is_rejected_before_anything_runs(words, code, arena):
    # without the check, static on spikes would run first
    defaults = [("--policies", "static"), ("--workload", "spikes"), ("--seeds", "1")]
    asked = [word for option in defaults if option[0] not in words for word in option]
    with refused(code, InputError):
        arena("run", *asked, *words)


@pytest.mark.parametrize(
    ("option", "value"), [("--policies", "gescale"), ("--workload", "nowhere.csv"), ("--map", "nowhere.json")]
)
def test_an_unknown_name_is_rejected_before_anything_runs(option, value, arena):
    defaults = {"--policies": "static", "--workload": "spikes", "--seeds": "1", option: value}
    with pytest.raises(InputError) as error:
        arena("run", *(word for pair in defaults.items() for word in pair))
    assert value in str(error.value)


def test_the_league_ranks_the_policies_and_names_the_winners(load, tmp_path, arena):
    folder = tmp_path / "results"
    asked = ("--policies", "gesscale,static,ideal", "--workload", load, "--seeds", 2, "--jobs", 1)
    arena("run", *asked, "--results", folder)
    shown = arena("league", folder, "--price", 5)
    assert "static (reference)" in shown.stdout
    assert "on each load" in shown.stdout
    assert codes(shown.stderr) == ["seeds-few"]
    document = json.loads(arena("league", folder, "--price", 5, "--output", "json").stdout)
    assert document["prices_replica_min"] == [5.0]
    ours = next(each for each in document["standings"] if each["policy"] == "gesscale")
    assert ours["with_changes"]["won"] == [[str(load)]]  # the only policy that is not a reference
    assert document["change_price_replica_min"] == 2.0
    assert (document["policies_objective_s"], document["objective_s"]) == (60.0, 60.0)
    for caption in ("Cost without changes", "What no policy minimises", "objective of the policies 60 s"):
        assert caption in " ".join(shown.stdout.split())
    assert "ratios to gesscale" in arena("league", folder, "--baseline", "gesscale").stdout
    assert "oracle" not in shown.stdout  # it has no results
    by_area = arena("league", folder, "--lateness", "area", "--objective", "30s")
    assert "of the score 30 s" in " ".join(by_area.stdout.split())
    assert "lag area" in by_area.stdout
    with refused("objective-not-scored", InputError, scored_s=["30", "60", "120"], got_s=45):
        arena("league", folder, "--objective", "45s")
    with refused("duration-invalid", InputError, place="--objective"):
        arena("league", folder, "--objective", "soon")
    arena("run", "--policies", "gesscale,static,ideal,oracle", *asked[2:], "--results", folder)
    assert "above oracle" in arena("league", folder).stdout
    with refused("price-invalid", InputError, got=-1):
        arena("league", folder, "--price", -1)


def test_a_load_beyond_all_replicas_is_a_warning(tmp_path, arena):
    file = tmp_path / "steep.csv"
    file.write_text("t_s,rows_per_s\n0,100\n300,1000000\n420,100\n600,100\n")
    done = arena("run", "--policies", "static", "--workload", file, "--seeds", 1, "--jobs", 1)
    assert codes(done.stderr) == ["load-exceeds-capacity"]
    (warning,) = check_experiment(
        read_experiment("standard").changed({"policies": ["static"], "workloads": [str(file)]})
    )
    assert warning.fields["peak_rows_per_s"] == 1e6
    assert warning.fields["overloaded_min"] == pytest.approx(2)
