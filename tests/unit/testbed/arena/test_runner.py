"""One case from end to end: metrics, the ideal policy, the frontier, and lost runs."""

import pytest

from gesscale.errors import InputError
from testbed.arena import runner
from testbed.arena.case import Case, CaseResult
from testbed.arena.experiments.experiment import Experiment, experiment_of
from testbed.arena.runner import check_experiment, run_case

REQUIRED = {"name": "mine", "policies": ["static"], "workloads": ["steps:4"], "nodes": {"topology": "edge8"}}
"""Nine steps of 4 min: 36 min."""


def made(**settings: object) -> Experiment:
    return experiment_of({**REQUIRED, **settings}, "mine.yaml")


def run_policy(
    policy: str, *, seed: int = 0, variant: str = "", with_series: bool = False, **settings: object
) -> CaseResult:
    experiment = made(**settings)
    case = Case(workload=experiment.workloads[0], seed=seed, policy=policy, variant=variant)
    return run_case(experiment, case, with_series=with_series)


@pytest.mark.parametrize("engine", ["spark", "flink"])
def test_ideal_defines_the_demand_of_accuracy(engine):
    metrics = run_policy("ideal", engine=engine).metrics
    # The staircase needs more and then fewer replicas; ideal has them at once, and equals the frontier.
    assert metrics["accuracy_O"] == metrics["accuracy_U"] == metrics["time_to_converge_s"] == 0.0
    assert metrics["reconfigurations"] >= 4
    assert metrics["above_frontier_pct"] == pytest.approx(0.0)
    # Its changes are free: all rows are processed when their last batch ends.
    assert metrics["lag_above_slo_s"] == 0.0
    assert metrics["excess_time"] < 0.01


def test_supply_during_a_restart_affects_accuracy_and_not_cost():
    choices = [
        {"name": "restart", "options": [{"name": "supply"}, {"name": "none", "set": {"restart_is_supply": False}}]}
    ]
    kept, gone = (
        run_policy("gesscale", engine="flink", variants={"choices": choices}, variant=variant).metrics
        for variant in ("default", "restart=none")
    )
    assert kept["reconfigurations"] > 0
    assert gone["accuracy_U"] > kept["accuracy_U"]
    assert gone["cost"] == kept["cost"]


def test_a_workflow_of_two_operators_is_scored_as_a_whole():
    chain = {"first": {}, "second": {"upstream": ["first"]}}
    whole, one = (run_policy("static", operators=operators).metrics for operators in (chain, {"first": {}}))
    assert whole["drained"] is True
    # Two operators of the same kind with the same rates have twice the replicas.
    assert whole["cost"] == 2 * one["cost"]
    assert whole["latency_mean_s"] > one["latency_mean_s"]


def test_rows_that_retention_drops_are_lost_and_not_left():
    # Twice the rows that one replica can process, for 20 min. Its source drops half of them, but for those of the
    # last minute; it reads half of them within the minute after: it processes the capacity of 21 of 40 minutes.
    sizes = {"max_replicas": 1, "retention": "1m"}
    metrics = run_policy(
        "static", engine="flink", workloads=["constant:20"], peak_share=2, operators={"operator": sizes}
    ).metrics
    assert metrics["drained"] is True
    assert metrics["rows_lost_ratio"] == pytest.approx(1 - 21 / 40, abs=0.02)
    assert metrics["throughput_ratio"] == pytest.approx(0.5, abs=0.01)
    # In a tick of 10 s it reads the rows of 5 s; the oldest are 60 s old when it begins.
    assert metrics["latency_emitted_max_s"] == pytest.approx(60 + 10 - 5, abs=0.5)
    assert metrics["latency_max_s"] == pytest.approx(65, abs=5)
    assert metrics["cpu_share_mean"] == pytest.approx(1.0, abs=0.01)


def test_an_error_of_the_simulator_is_not_blamed_on_the_policy(monkeypatch):
    def broken(*_: object, **__: object) -> float:
        message = "the simulator is broken"
        raise RuntimeError(message)

    monkeypatch.setattr(runner, "simulate", broken)
    with pytest.raises(RuntimeError, match="the simulator is broken"):
        run_policy("gesscale")


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"policies": ["static", "gescale"]}, "'gescale'"),
        ({"workloads": ["steps", "nyk"]}, "'nyk'"),
        ({"nodes": {"topology": "nowhere"}}, "nowhere"),
        (
            {
                "variants": {
                    "choices": [
                        {"name": "nodes", "options": [{"name": "all"}, {"name": "9", "set": {"nodes.count": 9}}]}
                    ]
                }
            },
            "nodes.count",
        ),
    ],
)
def test_names_of_an_experiment_are_checked_before_it_runs(settings, expected):
    check_experiment(made())
    with pytest.raises(InputError, match=expected):
        check_experiment(made(**settings))
