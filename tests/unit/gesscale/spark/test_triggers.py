import pytest

from gesscale.model.workflow import DEFAULT_SLO_S
from gesscale.policies.gesscale.settings import OBJECTIVE_INTERVALS
from gesscale.spark import triggers
from gesscale.spark.triggers import parse_trigger


@pytest.mark.parametrize(
    ("text", "given_s", "interval_s", "fixed", "code"),
    [
        ("ProcessingTimeTrigger(2000)", None, 2.0, 0, ""),
        ("ProcessingTimeTrigger(2000)", 2.0, 2.0, 0, ""),
        ("ProcessingTimeTrigger(2000)", 5.0, 2.0, 0, "trigger-interval-differs"),
        ("ProcessingTimeTrigger(20000)", None, 20.0, 0, ""),  # three of them are the default objective
        ("ProcessingTimeTrigger(21000)", None, 21.0, 0, "trigger-long"),
        ("ProcessingTimeTrigger(0)", 5.0, None, 0, "trigger-without-interval"),
        ("AvailableNowTrigger", 2.0, None, 0, "trigger-ends"),
        ("OneTimeTrigger", None, None, 0, "trigger-ends"),
        ("ContinuousTrigger(1000)", None, None, 1, "trigger-continuous"),
        ("RealTimeTrigger(300000)", 2.0, None, 1, "trigger-real-time"),
        ("com.example.Mine", 2.0, 2.0, None, ""),
    ],
)
def test_interval_slots_and_warnings_of_a_trigger(text, given_s, interval_s, fixed, code):
    trigger = parse_trigger(text)
    assert (trigger.interval_s(given_s), trigger.fixed_slots) == (interval_s, fixed)
    assert [problem.code for problem in trigger.warnings(given_s)] == ([code] if code else [])


def test_the_driver_knows_the_objective_of_the_policy():
    # A job's image has PySpark alone, so the driver cannot import the settings.
    assert triggers._OBJECTIVE_INTERVALS == OBJECTIVE_INTERVALS
    assert triggers._DEFAULT_OBJECTIVE_S == DEFAULT_SLO_S
