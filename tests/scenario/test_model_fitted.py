"""The condition ModelFitted with the default policy: over the simulator, and over a real day that was recorded."""

from pathlib import Path

import pytest
from complaint_world import run, under

from gesscale.cli.replay_report import replay_record, settings_of
from gesscale.kubernetes.resource.conditions import findings_of
from gesscale.kubernetes.resource.spec import StreamAutoscalerSpec
from gesscale.model.model_text import FitReason

MINUTES = 12
DAY = Path(__file__).parents[1] / "data" / "records" / "day_of_gesscale"


def model_finding(decision):
    return findings_of(decision, StreamAutoscalerSpec(), decision.at_s)["ModelFitted"]


def test_the_model_is_fitted_after_three_placements():
    # One replica carries 488 rows/s (`under`), so the loads need one, two and three.
    notes = run(under([*[300.0] * MINUTES, *[800.0] * MINUTES, *[1250.0] * MINUTES]))
    # With one placement there is no other to compare with: the interval of the present one counts.
    alone = [model_finding(each) for each in notes.decisions if each.at_s < 60 * MINUTES]
    assert alone[0].holds is False
    assert alone[-1][:2] == (True, FitReason.PREDICTS_PRESENT)
    last = notes.decisions[-1]
    assert model_finding(last)[:2] == (True, FitReason.PREDICTS_HELD_OUT)
    model = last.analysis.model
    assert [law.law for law in model.laws] == ["eq1", "batch-time"]
    assert model.held_out_error_pct == model.in_use.held_out_error_pct
    assert model.held_out_error_pct < 15
    assert model.in_use.conditions >= 2
    (alpha,) = (each for each in model.named("eq1").parameters if each.name == "alpha")
    assert alpha.identified
    assert alpha.value == pytest.approx(488, rel=0.05)


def test_the_model_is_fitted_on_a_real_day():
    _, replayed = replay_record(DAY, settings_of(DAY, None, ["analyze.policy=gesscale"]))
    # One to five replicas were held; each law predicts each of them from the others.
    assert model_finding(replayed[-1].decision)[:2] == (True, FitReason.PREDICTS_HELD_OUT)
