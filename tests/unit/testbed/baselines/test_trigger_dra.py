"""Dynamic allocation by the trigger interval: 1, 2, 4, ... executors more while batches are long, half when short."""

import pytest
from edge import batches, known, observe, operator, reading, workflow

from gesscale.model.decision import Reason, Verdict
from gesscale.policies import policy_named
from gesscale.settings.analyze import AnalyzeSettings
from testbed.baselines.trigger_dra import TriggerDraSettings

NODES = tuple(f"n{index}" for index in range(40))
FLOW = workflow(operator("op", max_replicas=40))


def decided(replicas, seconds, *, count=60, memo=None, at_s=1000.0, **settings):
    """Return the decision after `count` batches, of the trigger 2 s, that took `seconds`."""
    made = batches(NODES[:replicas], at_s=at_s, rows=100, seconds=seconds, count=count)
    group = TriggerDraSettings.model_validate(settings)
    policy = policy_named("trigger-dra", FLOW, AnalyzeSettings(trigger_dra=group))
    seen = reading(NODES[:replicas], at_s=at_s, batches=made)
    return policy.analyze(observe(seen), known(memos={} if memo is None else {"op": memo}))["op"]


def test_long_batches_add_twice_as_many_each_time():
    # 1.8 s are 90 % of the trigger.
    first = decided(1, 1.8)
    second = decided(2, 1.8, memo=first.memo, at_s=1020.0)
    third = decided(4, 1.8, memo=second.memo, at_s=1040.0)
    assert [each.desired_replicas for each in (first, second, third)] == [2, 4, 8]
    again = decided(4, 1.8, memo=third.memo, at_s=1040.0)
    assert (again.desired_replicas, again.memo) == (8, third.memo)
    between = decided(8, 1.7, memo=third.memo, at_s=1060.0)
    assert (between.verdict, between.reason) == (Verdict.SAME, Reason.WITHIN_TARGET)
    assert decided(8, 1.8, memo=between.memo, at_s=1080.0).desired_replicas == 9  # from 1 again


def test_executors_wait_for_the_backlog_timeout():
    # Three batches of 1.9 s: 5.7 s.
    assert decided(2, 1.9, count=3, backlog_timeout="6s").reason is Reason.COOLING_DOWN
    assert decided(2, 1.9, count=3, backlog_timeout="5s").desired_replicas == 3


@pytest.mark.parametrize(
    ("replicas", "seconds", "count", "wanted"),
    [
        (8, 0.9, 67, 4),  # 67 x 0.9 = 60.3 s
        (8, 0.9, 66, None),  # 59.4 s
        (8, 1.0, 67, None),  # half of the trigger is not below half
        (3, 0.9, 67, 2),  # half of three, rounded down
        (1, 0.9, 67, 1),
    ],
)
def test_short_batches_remove_half_after_the_idle_timeout(replicas, seconds, count, wanted):
    assert decided(replicas, seconds, count=count).desired_replicas == wanted


def test_batches_on_other_nodes_do_not_count():
    old = batches(NODES[:4], at_s=990.0, rows=100, seconds=0.9, count=80)
    new = batches(NODES[:8], at_s=1000.0, rows=100, seconds=0.9, count=3)
    policy = policy_named("trigger-dra", FLOW, AnalyzeSettings())
    seen = reading(NODES[:8], batches=(*old, *new))
    assert policy.analyze(observe(seen), known())["op"].verdict is Verdict.SAME


def test_without_a_trigger_nothing_is_decided():
    policy = policy_named("trigger-dra", FLOW, AnalyzeSettings())
    assert policy.analyze(observe(reading(NODES[:4], batches=())), known())["op"].reason is Reason.METRICS_MISSING
