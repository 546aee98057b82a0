"""Rules in Python that read like English, after the embedded language of Rouaux (2014), section 4.4.

A ``with`` block takes the place of the initialiser block of a Java class; ``is_`` and ``and_`` are spelled so since
Python keeps the words.

Examples
--------
>>> with PolicyRules("demo") as demo:
...     backlog = (
...         demo.rule("backlog").scale_out(operator("agg")).by(absolute(2)).never_above(nodes(3))
...         .when(metric("queue-length")).is_(above(tuples(300))).for_at_least(seconds(30))
...         .no_scale_out_since(minutes(5))
...     )
>>> demo.rules[0].sentence
'scale-out agg +2, max 3 when queue-length > 300 tuples for 30s, unless scale-out within 5m'
"""

from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

from pydantic import ValidationError

from testbed.baselines.rules.model import (
    ALL,
    Factor,
    PolicyError,
    Rule,
    RuleSet,
    ScalingAction,
    Unit,
    distinct,
)
from testbed.baselines.rules.wording import faults_in_a_line

_SECONDS = {Unit.MILLISECONDS: 0.001, Unit.SECONDS: 1.0, Unit.MINUTES: 60.0}


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number with its unit: a value of a metric, or a time."""

    value: float
    unit: Unit | None = None


@dataclass(frozen=True, slots=True)
class RuleScope:
    """The operators that a rule scales."""

    operator: str
    together: bool = False


@dataclass(frozen=True, slots=True)
class Bound:
    """A number of replicas, or a multiple of the first one."""

    value: float
    of_initial: bool = False


@dataclass(frozen=True, slots=True)
class Threshold:
    """A value, and the side of it that counts: ``above`` or ``below``."""

    side: str
    quantity: Quantity


class PolicyRules:
    """A set of rules in the making.

    Parameters
    ----------
    name
        For people.

    Notes
    -----
    As a context manager it builds, at its end, every rule that was begun in it; one that is not complete is then an
    error. Outside of a ``with`` block each rule ends with `RuleBuilder.build`.
    """

    def __init__(self, name: str = "") -> None:
        self._name = name
        self._begun: list[RuleBuilder] = []

    def rule(self, name: str = "") -> "RuleBuilder":
        """Begin a rule; one without a name is called by its number."""
        builder = RuleBuilder(name)
        self._begun.append(builder)
        return builder

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The rules that are built, in the order in which they were begun, each with a name of its own."""
        return distinct(builder.built for builder in self._begun if builder.built is not None)

    @property
    def rule_set(self) -> RuleSet:
        """The same as a value with a name, see `testbed.baselines.rules.reading`."""
        return RuleSet(name=self._name, rules=self.rules)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            for builder in self._begun:
                builder.build()


class RuleBuilder:
    """A rule in the making; each call says one thing more, and none twice.

    Parameters
    ----------
    name
        What it is to be called; may be empty.

    Attributes
    ----------
    built
        The rule, once it is built.
    """

    def __init__(self, name: str) -> None:
        self.built: Rule | None = None
        self._said: dict[str, Any] = {"name": name} if name else {}
        self._when: list[dict[str, Any]] = []
        self._unless: list[dict[str, Any]] = []
        self._trigger: dict[str, Any] | None = None

    def scale_out(self, scope: RuleScope) -> Self:
        """Add replicas to these operators."""
        return self._scale(ScalingAction.OUT, scope)

    def scale_in(self, scope: RuleScope) -> Self:
        """Remove replicas of these operators."""
        return self._scale(ScalingAction.IN, scope)

    def by(self, factor: Factor) -> Self:
        """Say how many."""
        return self._say(by=factor)

    def never_above(self, bound: Bound) -> Self:
        """Set the most replicas that it may lead to."""
        return self._say(**{"max_factor" if bound.of_initial else "max": bound.value})

    def never_below(self, bound: Bound) -> Self:
        """Set the fewest replicas that it may lead to."""
        return self._say(**{"min_factor" if bound.of_initial else "min": bound.value})

    def when(self, name: str) -> Self:
        """Begin the first condition: on which metric."""
        if self._trigger is not None or self._when:
            raise self._fault("`when` begins the first condition; say `and_` for a further one")
        self._trigger = {"metric": name}
        return self

    def and_(self, name: str) -> Self:
        """Begin a further condition; all must hold."""
        if self._trigger is not None or not self._when:
            raise self._fault("`and_` follows a whole condition; say `when`, `is_` and `for_at_least` before")
        self._trigger = {"metric": name}
        return self

    def is_(self, threshold: Threshold) -> Self:
        """Say on which side of which value the metric must be."""
        if self._trigger is None or "unit" in self._trigger:
            raise self._fault("`is_` follows `when` or `and_`")
        self._trigger |= {threshold.side: threshold.quantity.value, "unit": threshold.quantity.unit}
        return self

    def for_at_least(self, time: Quantity) -> Self:
        """Say for how long, which ends the condition."""
        if self._trigger is None or "unit" not in self._trigger:
            raise self._fault("`for_at_least` follows `is_`")
        self._when.append({**self._trigger, "for": self._time_s(time)})
        self._trigger = None
        return self

    def no_scale_out_since(self, time: Quantity) -> Self:
        """Wait for so long after the last scale-out of the operator, by whatever rule."""
        return self._wait(ScalingAction.OUT, time)

    def no_scale_in_since(self, time: Quantity) -> Self:
        """Wait for so long after the last scale-in of the operator, by whatever rule."""
        return self._wait(ScalingAction.IN, time)

    def build(self) -> Rule:
        """Return the rule; a second call returns the same one.

        Raises
        ------
        PolicyError
            Where something is missing, or does not fit.
        """
        if self.built is None:
            if self._trigger is not None:
                raise self._fault(f"the condition on {self._trigger['metric']} lacks `is_` or `for_at_least`")
            needed = {"scale_out or scale_in": "action" in self._said, "by": "by" in self._said}
            missing = [name for name, there in {**needed, "when": bool(self._when)}.items() if not there]
            if missing:
                raise self._fault(f"it lacks {', '.join(missing)}")
            try:
                document = {**self._said, "when": self._when, "unless": self._unless}
                self.built = Rule.model_validate(document)
            except ValidationError as error:
                raise self._fault(faults_in_a_line(error)) from None
        return self.built

    def _scale(self, action: ScalingAction, scope: RuleScope) -> Self:
        return self._say(action=action, operator=scope.operator, together=scope.together)

    def _say(self, **said: Any) -> Self:
        self._check_open()
        if twice := next((name for name in said if name in self._said), None):
            raise self._fault(f"{twice} is said already: {self._said[twice]}")
        self._said |= said
        return self

    def _wait(self, since: ScalingAction, time: Quantity) -> Self:
        self._check_open()
        self._unless.append({"since": since, "within": self._time_s(time)})
        return self

    def _time_s(self, time: Quantity) -> float:
        self._check_open()
        if time.unit not in _SECONDS:
            raise self._fault(f"expected a time such as seconds(30), got {time.value:g} {time.unit}")
        return time.value * _SECONDS[time.unit]

    def _check_open(self) -> None:
        if self.built is not None:
            raise self._fault("it is built, and does not change any more")

    def _fault(self, what: str) -> PolicyError:
        return PolicyError(f"rule {self._said.get('name') or 'without a name'!r}: {what}")


# What rules are made of


def operator(name: str) -> RuleScope:
    """Return one operator as a scope."""
    return RuleScope(name)


def all_operators(*, together: bool = False) -> RuleScope:
    """Return every operator as a scope: each by its own readings, or all by those of all."""
    return RuleScope(ALL, together)


def absolute(replicas: int) -> Factor:
    """Return so many replicas more or fewer."""
    return _factor(absolute=replicas)


def relative(factor: float) -> Factor:
    """Return so many times the replicas, or the same part of them; above 1."""
    return _factor(relative=factor)


def percentage(percent: float) -> Factor:
    """Return so many per cent of the replicas more or fewer, at least one."""
    return _factor(percent=percent)


def exactly(replicas: int) -> Factor:
    """Return a number of replicas that is to be reached."""
    return _factor(exact=replicas)


def nodes(count: int) -> Bound:
    """Return a number of replicas as a bound."""
    return Bound(count)


def factor(ratio: float) -> Bound:
    """Return a multiple of the operator's first number of replicas as a bound."""
    return Bound(ratio, of_initial=True)


def metric(name: str) -> str:
    """Return a metric by its name, one of `testbed.baselines.rules.model.Metric`; a rule checks it when it is built."""
    return name


def above(value: Quantity | float) -> Threshold:
    """Return what is greater than a value; a bare number is in the metric's own unit."""
    return _threshold("above", value)


def below(value: Quantity | float) -> Threshold:
    """Return what is less than a value; a bare number is in the metric's own unit."""
    return _threshold("below", value)


def percent(value: float) -> Quantity:
    """Return per cent."""
    return Quantity(value, Unit.PERCENT)


def tuples(count: float) -> Quantity:
    """Return tuples, which are rows."""
    return Quantity(count, Unit.TUPLES)


def rows(count: float) -> Quantity:
    """Return rows."""
    return Quantity(count, Unit.ROWS)


def rows_per_second(rate: float) -> Quantity:
    """Return rows per second."""
    return Quantity(rate, Unit.ROWS_PER_SECOND)


def millis(count: float) -> Quantity:
    """Return milliseconds."""
    return Quantity(count, Unit.MILLISECONDS)


def seconds(count: float) -> Quantity:
    """Return seconds."""
    return Quantity(count, Unit.SECONDS)


def minutes(count: float) -> Quantity:
    """Return minutes."""
    return Quantity(count, Unit.MINUTES)


def _factor(**kind: float) -> Factor:
    try:
        return Factor.model_validate(kind)
    except ValidationError as error:
        raise PolicyError(faults_in_a_line(error)) from None


def _threshold(side: str, value: Quantity | float) -> Threshold:
    return Threshold(side, value if isinstance(value, Quantity) else Quantity(value))
