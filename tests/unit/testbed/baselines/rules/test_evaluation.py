"""Triggers, guards, bounds and which rule counts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gesscale.model.decision import Reason
from gesscale.model.workflow import Operator
from testbed.baselines.rules.evaluation import (
    Phase,
    RuleCondition,
    RuleContext,
    State,
    condition,
    evaluate_rules,
    rank_rules,
    resized,
    trigger_state,
)
from testbed.baselines.rules.model import Metric, Rule, RuleTrigger, ScalingAction, distinct
from testbed.baselines.rules.readings import MetricSample, MetricSamples
from testbed.baselines.rules.settings import RulesSettings

ABOVE_300_FOR_30_S = RuleTrigger.model_validate({"metric": "queue-length", "above": 300, "for": "30s"})
HOLDS = RuleCondition(state=State.FIRED, text="it holds")


def reported(*values: float, every_s: float = 5.0, from_s: float = 0.0) -> MetricSamples:
    return tuple(MetricSample(from_s + every_s * index, every_s, value, value) for index, value in enumerate(values))


def read(**changes: object) -> RulesSettings:
    return RulesSettings.model_validate(changes)


def rule(**changes: object) -> Rule:
    document = {
        "name": "r",
        "operator": "op",
        "action": "scale-out",
        "by": {"absolute": 1},
        "when": [{"metric": "queue-length", "above": 300, "for": "30s"}],
    }
    return Rule.model_validate({**document, **changes})


def context(**changes: object) -> RuleContext:
    limits = {"name": "op", "driver_node": "n0", "max_replicas": 8, **changes.pop("limits", {})}
    figures = {"now_s": 1000.0, "replicas": 4, **changes}
    return RuleContext(operator=Operator(**limits), **figures)


def found(*rules: Rule, seen: RuleCondition = HOLDS, at: RuleContext | None = None, **semantics: object):
    named = distinct(rules)
    conditions = {each.name: seen for each in named}
    return evaluate_rules(rank_rules(named, "op"), conditions, at or context(), read(**semantics))


def wanted(ruling):
    return ruling.acting and ruling.acting.replicas


# Triggers


@pytest.mark.parametrize(
    ("values", "state"),
    [
        ([400] * 5, State.INSUFFICIENT_DATA),  # 20 s of readings; 27 s are asked for: 30 s less 3 s
        ([400] * 6, State.INSUFFICIENT_DATA),  # 25 s
        ([400] * 7, State.FIRED),  # 30 s
        ([300] + [400] * 6, State.FIRED),  # the reading at the age of 30 s is outside
        ([400, 300] + [400] * 5, State.NOT_FIRED),  # that at 25 s is within; a threshold that is met is not exceeded
        ([400] * 6 + [300], State.NOT_FIRED),
        ([], State.INSUFFICIENT_DATA),
    ],
)
def test_a_condition_must_hold_in_every_reading_of_its_time(values, state):
    assert trigger_state(ABOVE_300_FOR_30_S, reported(*values), 30.0, read()) is state


def test_readings_must_cover_seven_tenths_of_the_time():
    # 30 s: 5 readings of 5 s are 25 s, 4 are 20 s, less than 21 s.
    every = reported(*[400] * 8)
    four = (every[0], *every[3:6], every[7])  # at 0, 15, 20, 25 and 35 s: that at 0 is outside
    assert trigger_state(ABOVE_300_FOR_30_S, four, 35.0, read()) is State.INSUFFICIENT_DATA
    five = (every[0], *every[2:6], every[7])
    assert trigger_state(ABOVE_300_FOR_30_S, five, 35.0, read()) is State.FIRED


def above_300(**how: object) -> RuleTrigger:
    return RuleTrigger.model_validate({"metric": "queue-length", "above": 300, "for": "30s", **how})


@pytest.mark.parametrize(
    ("how", "values", "state"),
    [
        # Six readings of 5 s are younger than 30 s. A share of 0.8 is 24 s: five of them.
        ({"share": 0.8}, [400] * 6 + [0], State.FIRED),
        ({"share": 0.8}, [400] * 5 + [0, 0], State.NOT_FIRED),
        ({"share": 0.8}, [0] + [400] * 6, State.FIRED),
        ({"share": 0.5}, [400, 0] * 3 + [400], State.FIRED),  # three of six are 15 s of 30 s
        ({"share": 1.0}, [400] * 6 + [0], State.NOT_FIRED),
        ({"share": 0.1}, [400] * 6, State.INSUFFICIENT_DATA),  # 25 s of readings, however few must hold
        # (5 * 361 + 0) / 6 = 300.8; (5 * 360 + 0) / 6 = 300, which does not exceed 300
        ({"mean": True}, [0] + [361] * 5 + [0], State.FIRED),
        ({"mean": True}, [0] + [360] * 5 + [0], State.NOT_FIRED),
        ({"mean": True}, [400] * 6, State.INSUFFICIENT_DATA),
    ],
)
def test_a_share_or_the_mean_of_the_readings(how, values, state):
    assert trigger_state(above_300(**how), reported(*values), 30.0, read()) is state


def test_a_reading_counts_for_the_time_that_it_covers():
    # One reading of 20 s, two of 5 s: 20 of 30 s are 67 %; the mean is (20 * 200 + 10 * 600) / 30 = 333.
    samples = (
        MetricSample(0.0, 5.0, 0.0, 0.0),
        MetricSample(20.0, 20.0, 200.0, 200.0),
        MetricSample(25.0, 5.0, 600.0, 600.0),
        MetricSample(30.0, 5.0, 600.0, 600.0),
    )
    below = {"above": None, "below": 300}
    assert trigger_state(above_300(share=0.6, **below), samples, 30.0, read()) is State.FIRED
    assert trigger_state(above_300(share=0.7, **below), samples, 30.0, read()) is State.NOT_FIRED
    assert trigger_state(above_300(mean=True), samples, 30.0, read()) is State.FIRED


@pytest.mark.parametrize("how", [{"share": 0.5}, {"mean": True}])
def test_merged_readings_count_by_their_worse_end(how):
    merged = (MetricSample(0.0, 5.0, 400.0, 400.0), MetricSample(30.0, 30.0, 0.0, 900.0))
    assert trigger_state(above_300(**how), merged, 30.0, read()) is State.NOT_FIRED


@given(
    values=st.lists(st.sampled_from([200.0, 300.0, 301.0, 900.0]), min_size=1, max_size=40),
    every_s=st.sampled_from([1.0, 5.0, 10.0]),
)
def test_trigger_fires_if_all_readings_of_the_window_hold(values, every_s):
    samples = reported(*values, every_s=every_s)
    now_s = samples[-1].at_s
    state = trigger_state(ABOVE_300_FOR_30_S, samples, now_s, read())
    if now_s - samples[0].at_s < 27:
        assert state is State.INSUFFICIENT_DATA
        return
    young = [item for item in samples if now_s - item.at_s < 30]
    assert state is (State.FIRED if all(item.low > 300 for item in young) else State.NOT_FIRED)


# Conditions


def test_all_triggers_must_fire_and_unknown_dominates():
    both = rule(
        when=[{"metric": "queue-length", "above": 300, "for": "30s"}, {"metric": "cpu", "above": 80, "for": "10s"}]
    )
    queue, cpu = reported(*[400] * 7), reported(*[90] * 3, from_s=20)
    semantics = read()

    def state(**samples: MetricSamples) -> State:
        found = {Metric(name.replace("_", "-")): items for name, items in samples.items()}
        return condition(both, found, 30.0, semantics).state

    assert state(queue_length=queue, cpu=cpu) is State.FIRED
    assert state(queue_length=queue, cpu=reported(90, 90, 10, from_s=20)) is State.NOT_FIRED
    assert state(queue_length=queue) is State.INSUFFICIENT_DATA
    assert state(queue_length=reported(*[100] * 7)) is State.INSUFFICIENT_DATA


# Guards


@pytest.mark.parametrize(
    ("since", "done_s", "phase"),
    [
        ("scale-out", {}, Phase.ACTING),
        ("scale-out", {ScalingAction.OUT: 701.0}, Phase.PENDING),
        ("scale-out", {ScalingAction.OUT: 700.0}, Phase.ACTING),
        ("scale-out", {ScalingAction.IN: 999.0}, Phase.ACTING),  # a guard remembers its kind
        ("scale-in", {ScalingAction.IN: 999.0}, Phase.PENDING),
        ("scale-in", {ScalingAction.OUT: 999.0}, Phase.ACTING),
    ],
)
@pytest.mark.parametrize("action", ["scale-out", "scale-in"])
def test_guard_is_closed_after_an_action_of_its_kind(since, done_s, phase, action):
    guarded = rule(action=action, unless=[{"since": since, "within": "5m"}])
    finding = found(guarded, at=context(done_s=done_s)).findings[0]
    assert finding.phase is phase
    if phase is Phase.PENDING:
        assert finding.reason is Reason.COOLING_DOWN
        assert since in finding.text


def test_guard_delays_a_rule_and_drops_it_in_mode_edge():
    guarded = rule(unless=[{"since": "scale-out", "within": "5m"}])
    for mode, later in (("rearm", 5), ("edge", None)):
        closed = found(guarded, at=context(done_s={ScalingAction.OUT: 900.0}), mode=mode)
        assert wanted(closed) is None
        assert closed.fired == {"r"}
        opened = context(now_s=1200.0, done_s={ScalingAction.OUT: 900.0}, fired=closed.fired)
        assert wanted(found(guarded, at=opened, mode=mode)) == later


# Bounds


@pytest.mark.parametrize(
    ("changes", "replicas", "block", "clamp"),
    [
        ({"by": {"absolute": 2}, "max": 8}, 6, 8, 8),
        ({"by": {"absolute": 2}, "max": 8}, 7, None, 8),  # blocked at 7 for ever, or cut short
        ({"by": {"absolute": 2}, "max": 8}, 8, None, None),
        ({"by": {"absolute": 2}, "max": 3}, 5, None, None),  # above it already: the rule does not remove any
        ({"by": {"absolute": 2}}, 7, None, 8),  # the operator's own limit bounds as well
        ({"action": "scale-in", "by": {"absolute": 2}, "min": 1}, 5, 3, 3),  # no upper bound by mistake
        ({"action": "scale-in", "by": {"absolute": 2}, "min": 4}, 5, None, 4),
        ({"action": "scale-in", "by": {"absolute": 2}, "min": 1}, 2, 1, 1),  # at least one comes before the bound
        ({"action": "scale-in", "by": {"absolute": 2}, "min": 6}, 5, None, None),
    ],
)
def test_bounds_block_or_cut_short(changes, replicas, block, clamp):
    at = context()
    assert resized(rule(**changes), replicas, at, read()) == block
    assert resized(rule(**changes), replicas, at, read(bounds="clamp")) == clamp


# Which rule counts


def test_scale_out_takes_precedence():
    evaluation = found(rule(action="scale-in", by={"absolute": 3}), rule(name="out"))
    assert wanted(evaluation) == 5
    assert evaluation.acting.rule.name == "out"


def test_an_operators_own_rules_come_before_those_of_all():
    rules = distinct([rule(operator="*", name="all"), rule(name="own"), rule(operator="other", name="others")])
    assert [each.name for each in rank_rules(rules, "op")] == ["own", "all"]
