import pytest

from gesscale.spark.triggers import parse_trigger


@pytest.mark.parametrize(
    ("text", "said_s", "interval_s", "fixed", "warning"),
    [
        ("ProcessingTimeTrigger(2000)", None, 2.0, 0, ""),
        ("ProcessingTimeTrigger(2000)", 2.0, 2.0, 0, ""),
        ("ProcessingTimeTrigger(2000)", 5.0, 2.0, 0, "trigger_s=5, the query's trigger is 2 s"),
        ("ProcessingTimeTrigger(0)", 5.0, None, 0, "no trigger interval"),
        ("AvailableNowTrigger", 2.0, None, 0, "availableNow: it ends"),
        ("OneTimeTrigger", None, None, 0, "once: it ends"),
        ("ContinuousTrigger(1000)", None, None, 1, "continuous"),
        ("RealTimeTrigger(300000)", 2.0, None, 1, "a batch lasts 300 s"),
        ("com.example.Mine", 2.0, 2.0, None, ""),
    ],
)
def test_a_trigger_says_what_a_scaler_can_do_with_its_query(text, said_s, interval_s, fixed, warning):
    trigger = parse_trigger(text)
    assert (trigger.interval_s(said_s), trigger.fixed_slots) == (interval_s, fixed)
    said = trigger.warnings(said_s)
    assert len(said) == bool(warning)
    assert warning in "".join(said)
