"""Evaluation of rules for an operator at an instant: pure functions of readings, sizes and last actions.

The evaluation follows Rouaux (2014, section 4.3.5, Algorithms 4.2 and 4.3), without the errors of its pseudo-code.
"""

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from gesscale.formatting import format_duration
from gesscale.model.decision import Reason
from gesscale.model.workflow import Operator
from testbed.baselines.rules.model import ALL, Guard, Rule, RuleTrigger, ScalingAction
from testbed.baselines.rules.readings import MetricSample, MetricSamples
from testbed.baselines.rules.settings import RulesSettings

#: Share of a time window that may be missing at its beginning, in whole seconds.
_TOLERANCE = 0.1

#: Share of a time window that readings must cover.
_REPORTED_SHARE = 0.7

#: Times are exact to the millisecond.
_TICK_S = 0.001

#: Sums of times are exact to this share.
_ROUNDING = 1e-9


class State(StrEnum):
    """State of a condition."""

    INSUFFICIENT_DATA = "insufficient data"
    NOT_FIRED = "not fired"
    FIRED = "fired"


class Phase(StrEnum):
    """Phase of a rule at an instant."""

    INSUFFICIENT_DATA = "insufficient data"
    IDLE = "idle"
    PENDING = "pending"
    ACTING = "acting"


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleCondition:
    """Combined condition of all triggers of a rule."""

    #: Fired if all have fired; insufficient data if any of them has insufficient data.
    state: State
    #: The figures of each trigger as text.
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleContext:
    """State of the operator that rules are evaluated for."""

    #: Seconds since the epoch.
    now_s: float
    #: The operator, whose limits apply in addition to the bounds of rules.
    operator: Operator
    #: Its present replicas.
    replicas: int
    #: Time of the last completed action of each kind.
    done_s: Mapping[ScalingAction, float] = field(default_factory=dict)
    #: The rules whose conditions had fired at the evaluation before.
    fired: Collection[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleFinding:
    """Result of one rule."""

    #: The rule, its phase, and the explanation (rule, phase, text).
    rule: Rule
    phase: Phase
    text: str
    #: Reason why a pending rule does not act.
    reason: Reason = Reason.WITHIN_TARGET
    #: Target of an acting rule.
    replicas: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleEvaluation:
    """Result of all rules of an operator."""

    #: One finding per rule, in order of priority.
    findings: tuple[RuleFinding, ...]
    #: The finding to apply; None if no rule acts.
    acting: RuleFinding | None
    #: The rules whose conditions have fired.
    fired: frozenset[str]


def rank_rules(rules: Iterable[Rule], operator: str) -> tuple[Rule, ...]:
    """Return the rules of an operator: its own first, then those for all operators, each in order (Algorithm 4.1)."""
    mine = [rule for rule in rules if rule.operator in {ALL, operator}]
    return tuple(sorted(mine, key=lambda rule: rule.operator != operator))


def trigger_state(
    trigger: RuleTrigger, samples: Sequence[MetricSample], now_s: float, semantics: RulesSettings
) -> State:
    """Return whether a condition has held for its time.

    Notes
    -----
    Time is counted back from the newest sample. A sample at the very start of the window is outside: reports every 5 s
    that exceed a threshold from 65 s on have done so for 30 s at 90 s, as in section 5.2 of the thesis.
    """
    if not samples or now_s - samples[-1].at_s > semantics.max_gap_s:
        return State.INSUFFICIENT_DATA
    missing_s = math.floor(_TOLERANCE * trigger.for_s)
    if samples[-1].at_s - samples[0].at_s < trigger.for_s - missing_s - _TICK_S:
        return State.INSUFFICIENT_DATA
    window = _window(trigger.for_s, samples, semantics)
    if _covered_s(window) < _REPORTED_SHARE * trigger.for_s - _TICK_S:
        return State.INSUFFICIENT_DATA
    return State.FIRED if _holds(trigger, window) else State.NOT_FIRED


def _holds(trigger: RuleTrigger, window: Sequence[MetricSample]) -> bool:
    """Return whether every reading, their mean, or a share of them is beyond the threshold, each for its time."""
    covered_s = _covered_s(window)
    if trigger.mean and covered_s > 0:
        low = sum(item.covers_s * item.low for item in window) / covered_s
        return trigger.holds(low, sum(item.covers_s * item.high for item in window) / covered_s)
    beyond = [item for item in window if trigger.holds(item.low, item.high)]
    if trigger.share == 1 or covered_s == 0:
        return len(beyond) == len(window)
    return _covered_s(beyond) >= trigger.share * covered_s * (1 - _ROUNDING)


def _covered_s(samples: Iterable[MetricSample]) -> float:
    return sum(sample.covers_s for sample in samples)


def condition(
    rule: Rule, samples: Mapping[str, MetricSamples], now_s: float, semantics: RulesSettings
) -> RuleCondition:
    """Evaluate all triggers of a rule."""
    found = []
    for trigger in rule.when:
        trigger_samples = samples.get(trigger.metric, ())
        state = trigger_state(trigger, trigger_samples, now_s, semantics)
        found.append(RuleCondition(state=state, text=_condition_text(trigger, state, trigger_samples)))
    return conjunction(found)


def conjunction(conditions: Sequence[RuleCondition]) -> RuleCondition:
    """Return the conjunction of conditions."""
    states = {each.state for each in conditions}
    worst = next((state for state in State if state in states), State.INSUFFICIENT_DATA)
    return RuleCondition(state=worst, text=" and ".join(each.text for each in conditions))


def evaluate_rules(
    rules: Sequence[Rule], conditions: Mapping[str, RuleCondition], context: RuleContext, semantics: RulesSettings
) -> RuleEvaluation:
    """Evaluate the rules of an operator."""
    findings = tuple(_find(rule, conditions[rule.name], context, semantics) for rule in rules)
    fired = frozenset(
        rule.name
        for rule in rules
        if conditions[rule.name].state is State.FIRED
        or (conditions[rule.name].state is State.INSUFFICIENT_DATA and rule.name in context.fired)
    )
    return RuleEvaluation(findings=findings, acting=_largest(findings, context.replicas), fired=fired)


def resized(rule: Rule, replicas: int, context: RuleContext, semantics: RulesSettings) -> int | None:
    """Return the number of replicas after a rule; None if a bound blocks it."""
    target, operator = rule.by.resized(replicas, rule.action), context.operator
    if rule.action is ScalingAction.OUT:
        bound = operator.max_replicas if rule.max is None else min(operator.max_replicas, rule.max)
        beyond = target > bound
    else:
        bound = operator.min_replicas if rule.min is None else max(operator.min_replicas, rule.min)
        beyond = target < bound
    if not beyond:
        return target
    below_bound = bound > replicas if rule.action is ScalingAction.OUT else bound < replicas
    return bound if semantics.bounds == "clamp" and below_bound else None


def _window(for_s: float, samples: Sequence[MetricSample], semantics: RulesSettings) -> Sequence[MetricSample]:
    begins_s = samples[-1].at_s - for_s + _TICK_S
    newest = len(samples) - 1
    first = next((index for index, sample in enumerate(samples) if sample.at_s > begins_s), newest)
    if not semantics.allow_single_sample:
        first = min(first, max(0, newest - 1))
    return samples[first:]


def _find(rule: Rule, found: RuleCondition, context: RuleContext, semantics: RulesSettings) -> RuleFinding:
    text = f"{rule.name}: {found.text}"
    if found.state is State.INSUFFICIENT_DATA:
        return RuleFinding(rule=rule, phase=Phase.INSUFFICIENT_DATA, text=text)
    if found.state is State.NOT_FIRED:
        return RuleFinding(rule=rule, phase=Phase.IDLE, text=text)
    if semantics.mode == "edge" and rule.name in context.fired:
        return RuleFinding(rule=rule, phase=Phase.IDLE, text=f"{text} (fired before)")
    replicas = resized(rule, context.replicas, context, semantics)
    if closed := next(filter(None, (_closed_guard(guard, context) for guard in rule.unless)), ""):
        reason, obstacle = Reason.COOLING_DOWN, closed
    elif replicas is None:
        reason = Reason.AT_MAX_REPLICAS if rule.action is ScalingAction.OUT else Reason.AT_MIN_REPLICAS
        obstacle = f"{rule.by.notation(rule.action)} at {context.replicas} replicas is beyond a bound"
    elif replicas == context.replicas:
        return RuleFinding(rule=rule, phase=Phase.IDLE, text=f"{text}; has {replicas} replicas already")
    else:
        return RuleFinding(rule=rule, phase=Phase.ACTING, text=text, replicas=replicas)
    return RuleFinding(rule=rule, phase=Phase.PENDING, text=f"{text}; {obstacle}", reason=reason)


def _closed_guard(guard: Guard, context: RuleContext) -> str:
    """Return the text of a closed guard; empty if it is open."""
    done_s = context.done_s.get(guard.since)
    if done_s is None or context.now_s - done_s >= guard.within_s - _TICK_S:
        return ""
    ago = format_duration(max(0.0, context.now_s - done_s))
    return f"guard closed: {guard.since} {ago} ago, waits {format_duration(guard.within_s)}"


def _largest(findings: Iterable[RuleFinding], present: int) -> RuleFinding | None:
    """Return the finding with the largest change; scale-out takes precedence."""
    acting = [item for item in findings if item.replicas is not None]
    acting = [item for item in acting if item.rule.action is ScalingAction.OUT] or acting
    return max(acting, key=lambda item: abs((item.replicas or 0) - present), default=None)


def _condition_text(trigger: RuleTrigger, state: State, samples: MetricSamples) -> str:
    name, lasting = trigger.metric, format_duration(trigger.for_s)
    if state is State.INSUFFICIENT_DATA or not samples:
        return f"insufficient data of {name} for {lasting}"
    value = _figure(samples[-1].high) + (f" {trigger.own_unit.sign}" if trigger.own_unit else "")
    side = "above" if trigger.above is not None else "below"
    negation = "" if state is State.FIRED else "not "
    manner = "on average " if trigger.mean else f"in {trigger.share:.0%} " if trigger.share < 1 else ""
    return f"{name} {value}, {negation}{manner}{side} {_figure(trigger.threshold)} for {lasting}"


def _figure(value: float) -> str:
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"
