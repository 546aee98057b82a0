"""What rules come to for an operator at an instant.

The evaluation of Rouaux (2014, section 4.3.5, Algorithms 4.2 and 4.3) without the slips of its pseudo-code: pure
functions of readings, sizes and last actions.
"""

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from gesscale.formatting import format_duration
from gesscale.model.decision import Reason
from gesscale.model.workflow import Operator
from testbed.baselines.rules.model import Guard, Metric, Rule, ScalingAction, Trigger
from testbed.baselines.rules.readings import MetricSample, MetricSamples
from testbed.baselines.rules.settings import RulesSettings

#: Share of a time that may lack at its beginning, in whole seconds.
_TOLERANCE = 0.1

#: Share of a time that readings must speak for.
_REPORTED_SHARE = 0.7

#: Times are exact to the millisecond.
_TICK_S = 0.001


class State(StrEnum):
    """What can be said of a condition."""

    INSUFFICIENT_DATA = "insufficient data"
    NOT_FIRED = "not fired"
    FIRED = "fired"


class Phase(StrEnum):
    """Where a rule stands at an instant."""

    INSUFFICIENT_DATA = "insufficient data"
    IDLE = "idle"
    PENDING = "pending"
    ACTING = "acting"


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleCondition:
    """All triggers of a rule together."""

    #: Fired where every one has fired; insufficient where it is of any one.
    state: State
    #: What was seen of each trigger.
    words: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleContext:
    """What a rule is compared with."""

    #: Seconds since the epoch.
    now_s: float
    #: With its limits, which hold in addition to the bounds of rules.
    operator: Operator
    #: How many it has.
    replicas: int
    #: When an action of each kind was last completed.
    done_s: Mapping[ScalingAction, float] = field(default_factory=dict)
    #: The rules whose conditions held one evaluation before.
    held: Collection[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleFinding:
    """What one rule comes to."""

    #: Which, where it stands, and why in a sentence (rule, phase, words).
    rule: Rule
    phase: Phase
    words: str
    #: What keeps a pending rule from acting.
    reason: Reason = Reason.WITHIN_TARGET
    #: How many an acting rule wants.
    replicas: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Ruling:
    """What all rules of an operator come to."""

    #: One of each rule, in the order of rank.
    findings: tuple[RuleFinding, ...]
    #: The one that counts; None where no rule acts.
    acting: RuleFinding | None
    #: The rules whose conditions hold.
    held: frozenset[str]


def ranked(rules: Iterable[Rule], operator: str) -> tuple[Rule, ...]:
    """Return the rules of an operator: its own first, then those of all, each in their order (Algorithm 4.1)."""
    mine = [rule for rule in rules if rule.is_for(operator)]
    return tuple(sorted(mine, key=lambda rule: rule.operator != operator))


def trigger_state(trigger: Trigger, samples: Sequence[MetricSample], now_s: float, semantics: RulesSettings) -> State:
    """Say whether a condition has held for its time.

    Notes
    -----
    Time is counted back from the newest sample. A sample as old as the whole time is outside: reports every 5 s that
    exceed a threshold from 65 s on have done so for 30 s at 90 s, as in the thesis's section 5.2.
    """
    if not samples or now_s - samples[-1].at_s > semantics.max_gap_s:
        return State.INSUFFICIENT_DATA
    missing_s = math.floor(_TOLERANCE * trigger.for_s)
    if samples[-1].at_s - samples[0].at_s < trigger.for_s - missing_s - _TICK_S:
        return State.INSUFFICIENT_DATA
    window = _window(trigger.for_s, samples, semantics)
    if sum(sample.covers_s for sample in window) < _REPORTED_SHARE * trigger.for_s - _TICK_S:
        return State.INSUFFICIENT_DATA
    return State.FIRED if all(trigger.holds(item.low, item.high) for item in window) else State.NOT_FIRED


def condition(
    rule: Rule,
    samples: Mapping[Metric, MetricSamples],
    now_s: float,
    semantics: RulesSettings,
    labels: Mapping[Metric, str] | None = None,
) -> RuleCondition:
    """Judge all triggers of a rule."""
    judged = []
    for trigger in rule.when:
        seen = samples.get(trigger.metric, ())
        state = trigger_state(trigger, seen, now_s, semantics)
        judged.append(RuleCondition(state=state, words=_words(trigger, state, seen, labels or {})))
    return joined(judged)


def joined(conditions: Sequence[RuleCondition]) -> RuleCondition:
    """Return the condition that holds where all of these hold."""
    states = {each.state for each in conditions}
    worst = next((state for state in State if state in states), State.INSUFFICIENT_DATA)
    return RuleCondition(state=worst, words=" and ".join(each.words for each in conditions))


def judge(
    rules: Sequence[Rule], conditions: Mapping[str, RuleCondition], standing: RuleContext, semantics: RulesSettings
) -> Ruling:
    """Say what rules come to for an operator."""
    findings = tuple(_find(rule, conditions[rule.name], standing, semantics) for rule in rules)
    held = frozenset(
        rule.name
        for rule in rules
        if conditions[rule.name].state is State.FIRED
        or (conditions[rule.name].state is State.INSUFFICIENT_DATA and rule.name in standing.held)
    )
    return Ruling(findings=findings, acting=_largest(findings, standing.replicas), held=held)


def resized(rule: Rule, replicas: int, standing: RuleContext, semantics: RulesSettings) -> int | None:
    """Return how many replicas a rule makes of some; None where a bound forbids it."""
    wanted, operator = rule.by.resized(replicas, rule.action), standing.operator
    if rule.action is ScalingAction.OUT:
        bound = operator.max_replicas if rule.max is None else min(operator.max_replicas, rule.max)
        beyond = wanted > bound
    else:
        bound = operator.min_replicas if rule.min is None else max(operator.min_replicas, rule.min)
        beyond = wanted < bound
    if not beyond:
        return wanted
    goes_on = bound > replicas if rule.action is ScalingAction.OUT else bound < replicas
    return bound if semantics.bounds == "clamp" and goes_on else None


def _window(for_s: float, samples: Sequence[MetricSample], semantics: RulesSettings) -> Sequence[MetricSample]:
    begins_s = samples[-1].at_s - for_s + _TICK_S
    newest = len(samples) - 1
    first = next((index for index, sample in enumerate(samples) if sample.at_s > begins_s), newest)
    if not semantics.allow_single_sample:
        first = min(first, max(0, newest - 1))
    return samples[first:]


def _find(rule: Rule, judged: RuleCondition, standing: RuleContext, semantics: RulesSettings) -> RuleFinding:
    said = f"{rule.name}: {judged.words}"
    if judged.state is State.INSUFFICIENT_DATA:
        return RuleFinding(rule=rule, phase=Phase.INSUFFICIENT_DATA, words=said)
    if judged.state is State.NOT_FIRED:
        return RuleFinding(rule=rule, phase=Phase.IDLE, words=said)
    if semantics.mode == "edge" and rule.name in standing.held:
        return RuleFinding(rule=rule, phase=Phase.IDLE, words=f"{said}, and did so before")
    replicas = resized(rule, standing.replicas, standing, semantics)
    if closed := next(filter(None, (_closed(guard, standing) for guard in rule.unless)), ""):
        reason, hindrance = Reason.COOLING_DOWN, closed
    elif replicas is None:
        reason = Reason.AT_MAX_REPLICAS if rule.action is ScalingAction.OUT else Reason.AT_MIN_REPLICAS
        hindrance = f"a bound forbids {rule.by.sentence(rule.action)} at {standing.replicas} replicas"
    elif replicas == standing.replicas:
        return RuleFinding(rule=rule, phase=Phase.IDLE, words=f"{said}; there are {replicas} already")
    else:
        return RuleFinding(rule=rule, phase=Phase.ACTING, words=said, replicas=replicas)
    return RuleFinding(rule=rule, phase=Phase.PENDING, words=f"{said}; but {hindrance}", reason=reason)


def _closed(guard: Guard, standing: RuleContext) -> str:
    """Return what a guard waits for; empty where it is open."""
    done_s = standing.done_s.get(guard.since)
    if done_s is None or standing.now_s - done_s >= guard.within_s - _TICK_S:
        return ""
    ago = format_duration(max(0.0, standing.now_s - done_s))
    return f"a {guard.since} was {ago} ago, and it waits for {format_duration(guard.within_s)}"


def _largest(findings: Iterable[RuleFinding], present: int) -> RuleFinding | None:
    """Return the finding that counts: the largest change, where adding comes before removing."""
    acting = [item for item in findings if item.replicas is not None]
    acting = [item for item in acting if item.rule.action is ScalingAction.OUT] or acting
    return max(acting, key=lambda item: abs((item.replicas or 0) - present), default=None)


def _words(trigger: Trigger, state: State, samples: MetricSamples, labels: Mapping[Metric, str]) -> str:
    name, lasting = labels.get(trigger.metric, trigger.metric), format_duration(trigger.for_s)
    if state is State.INSUFFICIENT_DATA or not samples:
        return f"too few readings of {name} for {lasting}"
    value, unit = _figure(samples[-1].high), trigger.own_unit.sign
    side = "above" if trigger.above is not None else "below"
    negation = "" if state is State.FIRED else "not "
    return f"{name} {value} {unit}, {negation}{side} {_figure(trigger.threshold)} for {lasting}"


def _figure(value: float) -> str:
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"
