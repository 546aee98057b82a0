"""Recorded simulated runs and their page."""

from itertools import pairwise

import pytest
from refusals import codes, refused

from gesscale.errors import InputError
from gesscale.service.recorded import read_record
from testbed.arena.case import Case
from testbed.arena.experiments.experiment import experiment_of
from testbed.arena.runner import run_case
from testbed.arena.runs.recording import record_run
from testbed.arena.runs.results import open_results

EXPERIMENT = experiment_of(
    {
        "name": "mine",
        "policies": ["thr-nlaware", "hpa-cpu", "oracle"],
        "workloads": ["steps:2"],
        "seeds": 1,
        "nodes": {"topology": "edge8"},
    },
    "mine.yaml",
)
"""Nine steps of 2 min, one step of the loop per minute: decisions from 0 or 1 min to 18 min and until the end."""


def case(policy):
    return Case(policy=policy, workload="steps:2", seed=EXPERIMENT.seed_list[0])


@pytest.fixture(scope="module")
def results():
    return [run_case(EXPERIMENT, case(policy), with_series=True) for policy in EXPERIMENT.policies]


def test_a_record_has_every_decision_of_the_scored_run(tmp_path, results):
    assert record_run(EXPERIMENT, case("thr-nlaware"), tmp_path).metrics == results[0].metrics
    document, faults = read_record(tmp_path)
    assert faults == ()
    points = document["points"]["workflow"]
    assert {after["at_s"] - before["at_s"] for before, after in pairwise(points)} == {60.0}
    assert points[0]["at_s"] <= 60
    assert points[-1]["at_s"] >= 18 * 60
    assert sum(point["acted"] for point in points) >= results[0].metrics["reconfigurations"] > 0
    assert document["run"]["workflows"][0]["policy"] == "thr-nlaware"
    assert document["nodes"]["workflow"]["names"][0] == "edge1"  # the driver's


def test_a_record_can_be_replayed_with_another_policy(tmp_path, gesscale):
    record_run(EXPERIMENT, case("thr-nlaware"), tmp_path)
    code, out, _ = gesscale("replay", tmp_path, "--policy", "ds2", "-o", "json")
    assert code == 0
    assert '"ds2"' in out


def test_a_policy_with_perfect_foresight_has_no_record(tmp_path):
    with refused("policy-not-recordable", InputError, policy="oracle"):
        record_run(EXPERIMENT, case("oracle"), tmp_path)


def test_the_command_titles_the_page_and_prints_its_path(tmp_path, gesscale, results):
    with open_results(tmp_path / "mine", EXPERIMENT) as kept:
        for each in results:
            kept.add(each)
    code, _, stderr = gesscale("arena", "record", tmp_path / "mine", "--policy", "hpa-cpu", "--to", tmp_path / "c")
    assert (code, (tmp_path / "c" / "page.html").is_file()) == (0, True)
    assert str(tmp_path / "c" / "page.html") in stderr
    title = f"hpa-cpu on steps:2, seed {EXPERIMENT.seed_list[0]}"
    assert f'"title":"{title}"' in (tmp_path / "c" / "page.html").read_text()
    (tmp_path / "file").write_text("mine")
    for wrong, expected in (
        (("--policy", "hpa"), "case-unknown"),
        (("--policy", "hpa-cpu", "--seed", 7), "case-unknown"),
        (("--policy", "hpa-cpu", "--variant", "x"), "case-unknown"),
        (("--policy", "hpa-cpu", "--to", tmp_path / "file"), "results-not-directory"),
    ):
        code, _, stderr = gesscale("arena", "record", tmp_path / "mine", *wrong)
        assert (code, codes(stderr)) == (2, [expected])
    assert (tmp_path / "file").read_text() == "mine"
    code, _, _ = gesscale("page", tmp_path / "mine")
    assert code == 2
