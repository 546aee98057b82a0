"""The rules of SEEP under the loop: windows over steps, last actions, and memos."""

from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from edge import known, observe, operator, reading, workflow
from figures import figures
from pydantic import ValidationError
from refusals import refused

from gesscale.common.errors import InputError
from gesscale.model.decision import Analysis, Reason, Verdict
from gesscale.model.observation import Batch, OperatorReading
from gesscale.model.order import Order
from gesscale.model.workflow import Workflow
from gesscale.policies import policy_named
from gesscale.ports import Knowledge
from gesscale.settings.analyze import AnalyzeSettings
from testbed.baselines.rules.model import ScalingAction
from testbed.baselines.rules.policy import RulesMemo, RulesPolicy
from testbed.baselines.rules.settings import RulesSettings

OUT = {
    "name": "backlog",
    "operator": "op",
    "action": "scale-out",
    "by": {"absolute": 1},
    "when": [{"metric": "queue-length", "above": 300, "for": "30s"}],
}
BACK = {
    "name": "empty",
    "operator": "op",
    "action": "scale-in",
    "by": {"absolute": 1},
    "when": [{"metric": "queue-length", "below": 1, "for": "30s"}],
}
FIVE = ("edge", "far", "hub", "mid", "near")


def rules_settings(*rules: dict[str, object], **semantics: object) -> RulesSettings:
    return RulesSettings.model_validate({"rules": rules, **semantics})


def policy(*rules: dict[str, object], flow: Workflow | None = None, **semantics: object) -> RulesPolicy:
    made = policy_named("rules", flow or workflow(), AnalyzeSettings(rules=rules_settings(*rules, **semantics)))
    assert isinstance(made, RulesPolicy)
    return made


def batches(backlog: float | None, at_s: float, *, count: int = 6, every_s: float = 10.0) -> tuple[Batch, ...]:
    """Return batches of the last minute, numbered by their time, that all left so many rows."""
    return tuple(
        Batch(
            batch_id=round(ended_at_s / every_s),
            ended_at_s=ended_at_s,
            rows=50,
            seconds=4.0,
            nodes=("hub",),
            trigger_s=every_s,
            backlog_rows=backlog,
        )
        for ended_at_s in (at_s - every_s * back for back in reversed(range(count)))
    )


def seen(backlog: float | None, at_s: float, replicas: int = 1, **more: object) -> OperatorReading:
    made = reading(FIVE[-replicas:], at_s=at_s, throughput=10.0, batches=batches(backlog, at_s))
    return replace(made, trigger_s=10.0, **more)


@dataclass
class Trajectory:
    """A policy step by step, with what it remembers and what was done."""

    policy: RulesPolicy
    knowledge: Knowledge = field(default_factory=known)

    def step(self, *readings: OperatorReading) -> Analysis:
        found = self.policy.analyze(observe(*readings), self.knowledge)
        memos = {name: item.memo for name, item in found.items() if item.memo is not None}
        self.knowledge = replace(self.knowledge, memos={**self.knowledge.memos, **memos})
        return found[readings[0].operator]

    def changed(self, at_s: float, replicas: int, downtime_s: float = 0.0, name: str = "op") -> None:
        change = Order(at_s=at_s, placement=FIVE[-replicas:], downtime_s=downtime_s)
        past = self.knowledge.orders.get(name, ())
        self.knowledge = replace(self.knowledge, orders={**self.knowledge.orders, name: (change, *past)})

    def memo(self, name: str = "op") -> RulesMemo:
        return RulesMemo.model_validate_json(self.knowledge.memos[name])


# Windows


def test_batches_are_reports_within_a_period():
    found = Trajectory(policy(OUT)).step(seen(450.0, 1000.0))
    assert (found.verdict, found.reason, found.desired_replicas) == (Verdict.MORE, Reason.OVERLOADED, 2)
    assert figures(found.detail) == [450, 300, 30, 2]


def test_metrics_of_steps_need_several_steps():
    hot = {**OUT, "when": [{"metric": "cpu", "above": 80, "for": "2m"}]}
    trajectory = Trajectory(policy(hot))
    found = [trajectory.step(seen(0.0, 1000.0 + 60 * step, cpu_share=0.9)) for step in range(3)]
    assert [item.verdict for item in found] == [Verdict.SAME, Verdict.SAME, Verdict.MORE]
    assert found[0].reason is Reason.METRICS_MISSING


def of_state(state_bytes: list[float | None], at_s: float = 1000.0) -> OperatorReading:
    made = seen(0.0, at_s)
    stateful = [replace(each, state_bytes=size) for each, size in zip(made.batches, state_bytes, strict=True)]
    return replace(made, batches=tuple(stateful))


LARGE = {**OUT, "when": [{"metric": "gesscale_operator_batch_state_bytes", "above": 2**30, "for": "30s"}]}


def test_rule_on_a_gauge_of_the_driver():
    trajectory = Trajectory(policy(LARGE))
    assert trajectory.step(of_state([2**31] * 6)).desired_replicas == 2
    assert figures(trajectory.memo().proposal.detail)[-2:] == [2**30, 30]
    assert Trajectory(policy(LARGE)).step(of_state([2**20] * 6)).desired_replicas is None


def test_rule_on_a_metric_that_the_query_observes():
    old = {**OUT, "when": [{"metric": "observed.orders.oldest_s", "above": 60, "for": "30s", "mean": True}]}
    made = seen(0.0, 1000.0)
    observed = tuple(replace(each, observed={"orders.oldest_s": 61.0}) for each in made.batches)
    trajectory = Trajectory(policy(old))
    assert trajectory.step(replace(made, batches=observed)).desired_replicas == 2
    # A query that observes no such metric, as after a wrong name, changes nothing.
    assert Trajectory(policy(old)).step(made).reason is Reason.METRICS_MISSING


@pytest.mark.parametrize("size", [None, float("nan"), float("inf")])
def test_rule_on_a_gauge_without_a_figure_changes_nothing(size):
    found = Trajectory(policy(LARGE)).step(of_state([2**31] * 5 + [size]))
    assert (found.verdict, found.reason) == (Verdict.SAME, Reason.METRICS_MISSING)


def test_outlier_does_not_stop_a_share():
    # Three readings of 10 s are younger than 30 s; the middle one is small: 20 of 30 s.
    outlier = of_state([2**31] * 4 + [0, 2**31])
    most = {**LARGE, "when": [{**LARGE["when"][0], "share": 0.6}]}
    assert Trajectory(policy(LARGE)).step(outlier).desired_replicas is None
    assert Trajectory(policy(most)).step(outlier).desired_replicas == 2


def test_idle_operator_is_scaled_in_repeatedly():
    trajectory = Trajectory(policy(BACK))
    night = {"throughput_rows_per_s": 0.0, "busy_share": 0.0, "input_rows_per_s": 0.0}
    evening = seen(0.0, 1000.0, replicas=4)
    assert trajectory.step(evening).desired_replicas == 3
    trajectory.changed(1000.0, 3)
    # No batch has run since, so the newest one is that of four replicas.
    asleep = [replace(evening, at_s=1000.0 + 60 * step, **night) for step in range(1, 4)]
    assert [trajectory.step(item).desired_replicas for item in asleep] == [None, 2, 2]


# Last actions


def test_after_a_change_conditions_must_hold_anew():
    trajectory = Trajectory(policy(OUT))
    assert trajectory.step(seen(450.0, 1000.0)).desired_replicas == 2
    trajectory.changed(1000.0, 2)
    short = trajectory.step(seen(450.0, 1020.0, replicas=2))
    assert (short.desired_replicas, short.reason) == (None, Reason.COOLING_DOWN)
    # Readings after 1000 s: the first at 1010 s, so 30 s are full at 1040 s.
    assert trajectory.step(seen(450.0, 1040.0, replicas=2)).desired_replicas == 3


def test_a_guard_counts_from_when_the_change_was_complete():
    guarded = {**OUT, "unless": [{"since": "scale-out", "within": "2m"}]}
    trajectory = Trajectory(policy(guarded))
    trajectory.step(seen(450.0, 1000.0))
    # 25 s of downtime: complete at 1025 s.
    trajectory.changed(1000.0, 2, downtime_s=25.0)
    closed = trajectory.step(seen(450.0, 1144.0, replicas=2))
    assert (closed.desired_replicas, closed.reason) == (None, Reason.COOLING_DOWN)
    assert figures(closed.detail)[-2:] == [119, 2]
    assert trajectory.step(seen(450.0, 1145.0, replicas=2)).desired_replicas == 3
    assert trajectory.memo().done_s == {ScalingAction.OUT: 1025.0}


def test_guard_checks_the_kind_of_the_last_change():
    guarded = {**BACK, "unless": [{"since": "scale-out", "within": "10m"}]}
    trajectory = Trajectory(policy(guarded))
    trajectory.step(seen(100.0, 1000.0, replicas=2))
    trajectory.changed(1000.0, 4)  # by hand
    assert trajectory.step(seen(0.0, 1060.0, replicas=4)).reason is Reason.COOLING_DOWN
    trajectory.changed(1060.0, 3)
    assert trajectory.step(seen(0.0, 1120.0, replicas=3)).reason is Reason.COOLING_DOWN
    assert trajectory.memo().done_s == {ScalingAction.OUT: 1000.0, ScalingAction.IN: 1060.0}
    assert trajectory.step(seen(0.0, 1600.0, replicas=3)).desired_replicas == 2


# Memos


@pytest.mark.parametrize("memo", ["", "{", "[]", '{"policy": "ds2", "at_s": 1}', "later"])
def test_unusable_memo_counts_as_missing(memo):
    guarded = {**BACK, "unless": [{"since": "scale-out", "within": "10m"}]}
    trajectory = Trajectory(policy(guarded))
    if memo == "later":  # the clock was set back
        trajectory.step(seen(0.0, 9000.0, replicas=3))
    else:
        trajectory.knowledge = replace(trajectory.knowledge, memos={"op": memo})
    # The kind of the last change is unknown: it counts as both.
    trajectory.changed(900.0, 3)
    found = trajectory.step(seen(0.0, 1000.0, replicas=3))
    assert (found.desired_replicas, found.reason) == (None, Reason.COOLING_DOWN)
    assert trajectory.memo().done_s == {ScalingAction.OUT: 900.0, ScalingAction.IN: 900.0}


# Scopes


FORK = workflow(operator("a"), operator("b", upstream=("a",)))


def both(a: float, b: float, at_s: float = 1000.0) -> tuple[OperatorReading, ...]:
    return tuple(replace(seen(backlog, at_s), operator=name) for name, backlog in (("a", a), ("b", b)))


def test_or_by_all_together():
    made = policy({**OUT, "operator": "*", "together": True}, flow=FORK)

    def wanted(*readings: OperatorReading) -> set[int | None]:
        return {item.desired_replicas for item in made.analyze(observe(*readings), known()).values()}

    assert wanted(*both(450.0, 0.0)) == {None}
    assert wanted(*both(450.0, 450.0)) == {2}
    assert wanted(both(450.0, 450.0)[0]) == {None}  # of b nothing is known


# How it is built


def test_an_operator_that_is_not_there_is_named():
    with refused("rule-operator-unknown", InputError, place="rule 'backlog'", operator="op"):
        policy(OUT, flow=FORK)


def test_rules_come_from_a_file_or_from_the_settings(tmp_path: Path):
    file = tmp_path / "rules.yaml"
    file.write_text(
        "rules: [{name: x, operator: op, action: scale-in, by: {exact: 1}, when: [{metric: lag, below: 1, for: 1m}]}]"
    )
    made = policy_named("rules", workflow(), AnalyzeSettings(rules=RulesSettings(file=file)))
    assert [rule.name for rule in made.rules] == ["x"]
    with pytest.raises(ValidationError) as caught:
        rules_settings(OUT, file=file)
    error = caught.value.errors()[0]["ctx"]["error"]
    assert (error.code, error.fields["count"], error.fields["file"]) == ("rules-given-twice", 1, str(file))
    with refused("rules-file-unreadable", InputError):
        policy_named("rules", workflow(), AnalyzeSettings(rules=RulesSettings(file=tmp_path / "none.yaml")))
