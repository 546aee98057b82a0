"""The product's late seconds, read from batches, against those of the simulator's scorer, which sees each row."""

import pytest

from gesscale.model.decision import Decision
from gesscale.monitor.row_age import RowAgeMeter
from testbed.arena.case import Case
from testbed.arena.experiments.experiment import read_experiment
from testbed.arena.runner import run_case


@pytest.mark.parametrize(("policy", "workload"), [("gesscale", "spikes"), ("thr-nlaware", "kanis-random")])
def test_late_seconds_are_those_of_the_scorer(policy: str, workload: str) -> None:
    experiment = read_experiment("standard").changed({"seeds": 1}, "this test")
    meter = RowAgeMeter()

    def measure(decisions: tuple[Decision, ...]) -> None:
        (decision,) = decisions
        if (reading := decision.analysis.reading) is not None:
            meter.measure(reading, experiment.slo_s)

    scored = run_case(experiment, Case(policy=policy, workload=workload, seed=3), on_decisions=measure).metrics
    late_s = scored["lag_above_slo_s"]
    assert late_s is not None
    assert late_s > 100.0
    # The scorer knows the offered rows between batches, and the end of the batch that runs in the last step.
    assert meter.late_s == pytest.approx(late_s, rel=0.01)
