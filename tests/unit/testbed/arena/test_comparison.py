"""Policies compared with a baseline and with published values."""

import arena_runs
import pytest
from refusals import refused

from gesscale.errors import InputError
from testbed.arena.case import CaseResult
from testbed.arena.evaluation.comparison import choose_baseline, compare_results, results_document

REFERENCE = {"source": "a paper", "figures": {"thr-nlaware": {"cost": 200.0}, "gesscale": {"cost": 150.0}}}


def results_of(experiment, *, lost=()):
    return [
        CaseResult(case=case, lost="raised")
        if (case.policy, case.seed) in lost
        else arena_runs.run_case(experiment, case)
        for case in experiment.cases()
    ]


def test_every_policy_is_compared_on_every_workload_and_metric():
    experiment = arena_runs.small_experiment(reference=REFERENCE)
    compared = compare_results(
        experiment, results_of(experiment), baseline="thr-nlaware", metrics=("cost", "reconfigurations")
    )
    assert [(each.workload, each.metric, each.policy) for each in compared] == [
        (workload, metric, policy)
        for workload in ("steps", "spikes")
        for metric in ("cost", "reconfigurations")
        for policy in ("thr-nlaware", "gesscale")
    ]
    base, ours = compared[:2]
    assert base.against is None
    assert base.reference_ratio is None
    assert base.ours.mean == 101.0  # of 100, 101 and 102
    assert ours.against.ratio.mean == pytest.approx(0.5)
    assert ours.against.wins == 1.0
    assert ours.reference_ratio == 0.75  # 150 / 200
    assert compared[3].reference_ratio is None  # the paper has no such value


def test_a_lost_run_is_counted_and_no_mean_includes_it():
    experiment = arena_runs.small_experiment(workloads=["steps"])
    results = results_of(experiment, lost=[("gesscale", 2)])
    ours = compare_results(experiment, results, baseline="thr-nlaware", metrics=("cost",))[1]
    assert (ours.runs, ours.lost) == (3, 1)
    assert ours.ours.mean == 50.25  # of 50 and 50.5
    assert ours.against.pairs == 2
    assert ours.against.wins == pytest.approx(2 / 3)


def test_the_first_policy_with_results_is_the_baseline():
    experiment = arena_runs.small_experiment()
    results = results_of(experiment)
    assert choose_baseline(results, None, experiment) == "thr-nlaware"
    assert choose_baseline(results[1:2], None, experiment) == "gesscale"
    with refused("baseline-without-results", InputError, baseline="gescale"):
        choose_baseline(results, "gescale", experiment)
    with refused("results-empty", InputError):
        choose_baseline([], None, experiment)


def test_the_document_has_a_flat_record_for_each_run_and_a_summary():
    experiment = arena_runs.small_experiment(workloads=["steps"])
    document = results_document(experiment, results_of(experiment, lost=[("gesscale", 0)]))
    assert document["runs"][0] == {
        "policy": "thr-nlaware",
        "workload": "steps",
        "variant": "",
        "seed": 0,
        "lost": None,
        "lost_code": None,
        "cost": 100.0,
        "reconfigurations": 0,
        "drained": True,
        "latency_p95_s": None,
    }
    assert document["runs"][1]["lost"] == "raised"
    assert document["runs"][1]["cost"] is None
    thresholds, gesscale = document["summary"]
    assert (thresholds["policy"], thresholds["runs"], thresholds["lost"]) == ("thr-nlaware", 3, 0)
    assert thresholds["cost"] == {"mean": 101.0, "low": 100.0, "high": 102.0, "runs": 3}
    assert (gesscale["runs"], gesscale["lost"], gesscale["cost"]["runs"]) == (3, 1, 2)
    assert gesscale["latency_p95_s"] is None
