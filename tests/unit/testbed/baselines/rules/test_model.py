"""Rules as values: what they refuse, and sizes."""

import pytest
from pydantic import ValidationError

from testbed.baselines.rules.model import Factor, Metric, Rule, ScalingAction, Trigger, Unit, distinct

CPU = {"metric": "cpu", "above": 80, "for": "30s"}
SOUND = {
    "name": "hot",
    "operator": "op",
    "action": "scale-out",
    "by": {"absolute": 1},
    "when": [CPU],
}


def rule(**changes: object) -> Rule:
    return Rule.model_validate({**SOUND, **changes})


@pytest.mark.parametrize(
    ("factor", "replicas", "out", "back"),
    [
        ({"absolute": 2}, 5, 7, 3),
        ({"absolute": 2}, 2, 4, 1),  # never below one
        ({"relative": 2}, 3, 6, 2),  # 1.5 goes to the nearest, halves up
        ({"relative": 1.2}, 2, 2, 2),  # 2.4 and 1.67: no change is no change
        ({"relative": 4}, 1, 4, 1),
        ({"percent": 40}, 5, 7, 3),  # as AWS changes a capacity: 5 at 40 % is 2
        ({"percent": 25}, 1, 2, 1),  # at least one
        ({"percent": 50}, 3, 5, 1),  # 1.5 is 2
        ({"exact": 3}, 5, 5, 3),
        ({"exact": 3}, 2, 3, 2),
    ],
)
def test_sizes(factor, replicas, out, back):
    made = Factor.model_validate(factor)
    assert (made.resized(replicas, ScalingAction.OUT), made.resized(replicas, ScalingAction.IN)) == (
        out,
        back,
    )


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"by": {"absolute": 0}}, "greater than or equal to 1"),
        ({"by": {"absolute": 1.5}}, "valid integer"),
        ({"by": {"relative": 1}}, "greater than 1"),
        ({"by": {"relative": 0.5}}, "greater than 1"),
        ({"by": {"percent": 0}}, "greater than 0"),
        ({"by": {"exact": 0}}, "greater than or equal to 1"),
        ({"by": {"relative": float("nan")}}, "finite number"),
        ({"by": {}}, "got none"),
        ({"by": {"absolute": 1, "relative": 2}}, "got absolute and relative"),
        ({"max": 0}, "greater than or equal to 1"),
        ({"max_factor": 0.5}, "greater than or equal to 1"),
        ({"min": 4, "max": 3}, "expected min <= max, got 4 and 3"),
        ({"min_factor": 3, "max_factor": 2}, "expected min <= max"),
        ({"when": []}, "at least 1 item"),
        ({"when": [{**CPU, "for": 0}]}, "positive duration"),
        ({"when": [{**CPU, "for": "-5s"}]}, "positive duration"),
        ({"when": [{**CPU, "below": 20}]}, "cpu: expected above or below, got above and below"),
        ({"when": [{"metric": "cpu", "for": 5}]}, "got none"),
        ({"when": [{**CPU, "unit": "rows"}]}, "expected a threshold in percent, got one in rows"),
        ({"when": [{**CPU, "metric": "heap"}]}, "'queue-length'"),
        ({"when": [{**CPU, "above": float("inf")}]}, "finite number"),
        ({"unless": [{"since": "scale-out", "within": 0}]}, "positive duration"),
        ({"unless": [{"since": "restart", "within": 5}]}, "'scale-out' or 'scale-in'"),
        ({"operator": ""}, "at least 1 character"),
        ({"together": True}, "together is for rules of all operators"),
        ({"unlike": []}, "Extra inputs"),
    ],
)
def test_what_cannot_be_is_refused(changes, words):
    with pytest.raises(ValidationError, match=words):
        rule(**changes)


@pytest.mark.parametrize("missing", ["operator", "action", "by", "when"])
def test_what_must_be_said_is_required(missing):
    with pytest.raises(ValidationError, match="Field required"):
        Rule.model_validate({key: value for key, value in SOUND.items() if key != missing})


def test_a_rule_may_be_built_by_the_names_of_the_code():
    assert Trigger(metric=Metric.CPU, above=80, for_s=30) == rule().when[0]


@pytest.mark.parametrize(
    ("metric", "unit", "threshold"),
    [
        ("queue-length", "tuples", 90),
        ("lag", "min", 5400),
        ("lag", "ms", 0.09),
        ("latency", "s", 90_000),
        ("latency", None, 90),
        ("throughput", "rows/s", 90),
        ("busy", "percent", 90),
    ],
)
def test_thresholds_are_told_in_the_metrics_own_unit(metric, unit, threshold):
    made = Trigger.model_validate({"metric": metric, "above": 90, "unit": unit, "for": 5})
    assert made.threshold == pytest.approx(threshold)


@pytest.mark.parametrize(
    ("side", "holds"), [("above", (False, False, True)), ("below", (True, False, False))]
)
def test_a_value_at_the_threshold_meets_neither_side(side, holds):
    made = Trigger.model_validate({"metric": "cpu", side: 50, "for": 5})
    assert tuple(made.holds(value, value) for value in (49.9, 50.0, 50.1)) == holds


def test_of_merged_values_all_must_be_beyond_the_threshold():
    above, below = (
        Trigger.model_validate({"metric": "cpu", side: 50, "for": 5}) for side in ("above", "below")
    )
    assert [above.holds(40, 60), above.holds(51, 60)] == [False, True]
    assert [below.holds(40, 60), below.holds(40, 49)] == [False, True]


def test_short_words_for_actions():
    assert rule(action="in").action is ScalingAction.IN
    assert rule(unless=[{"since": "out", "within": 5}]).unless[0].since is ScalingAction.OUT


def test_a_rule_in_one_line():
    made = rule(
        operator="*",
        together=True,
        by={"percent": 25},
        max=8,
        max_factor=4,
        when=[CPU, {"metric": "latency", "above": 0.5, "unit": "s", "for": "30s"}],
        unless=[{"since": "out", "within": "2m"}],
    )
    assert made.sentence == (
        "scale-out * together +25 %, max 8, max 4 × the first when cpu > 80 % for 30s and latency > 0.5 s for 30s, "
        "unless scale-out within 2m"
    )
    assert rule(action="in", by={"relative": 2}, min=1).sentence.startswith("scale-in op ÷2, min 1 when")
    assert rule(by={"exact": 4}).sentence.startswith("scale-out op to 4 when")


def test_names_are_made_distinct_in_order():
    rules = [rule(name=name) for name in ("a", "", "a", "a", "")]
    assert [each.name for each in distinct(rules)] == [
        "a",
        "default-rule-2",
        "a (2)",
        "a (3)",
        "default-rule-5",
    ]


def test_every_metric_has_a_unit_of_its_own():
    assert {Trigger(metric=metric, above=1, for_s=5).own_unit for metric in Metric} == {
        Unit.PERCENT,
        Unit.ROWS,
        Unit.SECONDS,
        Unit.MILLISECONDS,
        Unit.ROWS_PER_SECOND,
    }
