"""What is likely not meant."""

import pytest

from testbed.baselines.rules.advice import advice
from testbed.baselines.rules.model import Rule


def rule(name: str, action: str, when: dict[str, object], **changes: object) -> Rule:
    document = {"name": name, "operator": "op", "action": action, "by": {"absolute": 1}, "when": [when]}
    if action == "scale-out":
        document["max"] = 8
    return Rule.model_validate({**document, **changes})


OUT = {"metric": "cpu", "above": 80, "for": "2m"}
BACK = {"metric": "cpu", "below": 40, "for": "5m"}


def said(*rules: Rule) -> tuple[str, ...]:
    return advice(rules, period_s=60.0, batch_s=10.0)


def test_sound_rules_raise_none():
    assert said(rule("out", "scale-out", OUT), rule("in", "scale-in", BACK)) == ()


def test_a_scale_out_without_a_bound_is_told():
    assert said(rule("out", "scale-out", OUT, max=None)) == (
        "out: it has no max; only the operator's max_replicas bounds it",
    )


@pytest.mark.parametrize(
    ("when", "every"),
    [
        ({**OUT, "for": "119s"}, "1m"),
        ({"metric": "lag", "above": 30, "for": "19s"}, "10s"),
    ],
)
def test_a_time_that_holds_a_single_reading_is_told(when, every):
    (doubt,) = said(rule("out", "scale-out", when))
    assert doubt.startswith(
        f"out: {when['metric']} is reported every {every}, so a time of {when['for']} holds"
    )


def test_a_name_used_twice_is_told():
    rules = [rule("out", "scale-out", OUT), rule("out", "scale-out", OUT)]
    assert said(*rules) == ("two rules are called 'out'; one of them is now 'out (2)'",)
    assert said(rule("", "scale-out", OUT), rule("", "scale-out", OUT)) == ()


@pytest.mark.parametrize(
    ("out", "back", "meet"),
    [
        (10, 10, True),  # as in the thesis's 5.9
        (10, 11, True),
        (10, 9, False),
    ],
)
def test_thresholds_without_a_dead_band_are_told(out, back, meet):
    rules = [
        rule("out", "scale-out", {**OUT, "above": out}),
        rule("in", "scale-in", {**BACK, "below": back}, operator="*"),
    ]
    assert bool(said(*rules)) == meet
    apart = [rules[0], rule("in", "scale-in", {**BACK, "below": back}, operator="other")]
    assert said(*apart) == ()
