"""Rules as values: what they refuse, and sizes."""

import pytest
from pydantic import ValidationError

from testbed.baselines.rules.model import Factor, Rule, RuleTrigger, ScalingAction, distinct

GAUGE = "gesscale_operator_batch_state_bytes"
CPU = {"metric": "cpu", "above": 80, "for": "30s"}
SOUND = {"name": "hot", "operator": "op", "action": "scale-out", "by": {"absolute": 1}, "when": [CPU]}


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
    assert (made.resized(replicas, ScalingAction.OUT), made.resized(replicas, ScalingAction.IN)) == (out, back)


@pytest.mark.parametrize(
    ("changes", "place"),
    [
        ({"by": {"absolute": 0}}, ("by", "absolute")),
        ({"by": {"relative": 1}}, ("by", "relative")),
        ({"by": {"relative": float("nan")}}, ("by", "relative")),
        ({"by": {}}, ("by",)),
        ({"by": {"absolute": 1, "relative": 2}}, ("by",)),
        ({"min": 4, "max": 3}, ()),
        ({"when": []}, ("when",)),
        ({"when": [{**CPU, "for": 0}]}, ("when", 0, "for")),
        ({"when": [{**CPU, "below": 20}]}, ("when", 0)),
        ({"when": [{"metric": "cpu", "for": 5}]}, ("when", 0)),
        ({"when": [{**CPU, "unit": "rows"}]}, ("when", 0)),
        ({"when": [{**CPU, "metric": "heap"}]}, ("when", 0, "metric")),
        ({"when": [{**CPU, "metric": "batch_state_bytes"}]}, ("when", 0, "metric")),  # without its prefix
        ({"when": [{**CPU, "metric": GAUGE, "unit": "rows"}]}, ("when", 0)),  # a gauge has the unit of its text
        ({"when": [{**CPU, "above": float("nan")}]}, ("when", 0, "above")),
        ({"when": [{**CPU, "share": 0}]}, ("when", 0, "share")),
        ({"when": [{**CPU, "share": 1.1}]}, ("when", 0, "share")),
        ({"when": [{**CPU, "share": float("nan")}]}, ("when", 0, "share")),
        ({"when": [{**CPU, "share": 0.8, "mean": True}]}, ("when", 0)),
        ({"unless": [{"since": "restart", "within": 5}]}, ("unless", 0, "since")),
        ({"operator": ""}, ("operator",)),
        ({"together": True}, ()),
        ({"unlike": []}, ("unlike",)),
    ],
)
def test_what_cannot_be_is_refused_by_its_place(changes, place):
    with pytest.raises(ValidationError) as caught:
        rule(**changes)
    assert caught.value.errors()[0]["loc"] == place


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
        (GAUGE, None, 90),
    ],
)
def test_thresholds_are_in_the_unit_of_the_metric(metric, unit, threshold):
    made = RuleTrigger.model_validate({"metric": metric, "above": 90, "unit": unit, "for": 5})
    assert made.threshold == pytest.approx(threshold)


@pytest.mark.parametrize(("side", "holds"), [("above", (False, False, True)), ("below", (True, False, False))])
def test_a_value_at_the_threshold_meets_neither_side(side, holds):
    made = RuleTrigger.model_validate({"metric": "cpu", side: 50, "for": 5})
    assert tuple(made.holds(value, value) for value in (49.9, 50.0, 50.1)) == holds


def test_names_are_made_distinct_in_order():
    rules = [rule(name=name) for name in ("a", "", "a", "a", "")]
    assert [each.name for each in distinct(rules)] == ["a", "default-rule-2", "a (2)", "a (3)", "default-rule-5"]
