"""What a rule says: frozen values with units, checked as they are made.

The model of M. Rouaux's thesis (Framework for Dynamic Scaling in Master-Slave Stream Processing Systems, Imperial
College London, 2014), section 4.2.
"""

import math
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Self

from pydantic import Field, model_validator

from gesscale.fields import MAX_ROWS, Duration, SettingsGroup
from gesscale.wire import MAX_REPLICAS

#: The scope of a rule that holds for every operator.
ALL = "*"

#: Characters of a name.
NAME_AT_MOST = 120


class Metric(StrEnum):
    """What a rule may look at; `testbed.baselines.rules.readings` reads it from an operator."""

    CPU = "cpu"
    BUSY = "busy"
    SATURATED = "saturated"
    QUEUE_LENGTH = "queue-length"
    LAG = "lag"
    LATENCY = "latency"
    INPUT_RATE = "input-rate"
    THROUGHPUT = "throughput"


class Unit(StrEnum):
    """What a threshold is measured in."""

    PERCENT = "percent"
    ROWS = "rows"
    TUPLES = "tuples"
    MILLISECONDS = "ms"
    SECONDS = "s"
    MINUTES = "min"
    ROWS_PER_SECOND = "rows/s"

    @property
    def sign(self) -> str:
        """How it is written behind a number."""
        return "%" if self is Unit.PERCENT else self.value


_SHARE = {Unit.PERCENT: 1.0}
_RATE = {Unit.ROWS_PER_SECOND: 1.0}
#: The units of each metric, its own first, and how many of its own each is.
UNITS: Mapping[Metric, Mapping[Unit, float]] = {
    Metric.CPU: _SHARE,
    Metric.BUSY: _SHARE,
    Metric.SATURATED: _SHARE,
    Metric.QUEUE_LENGTH: {Unit.ROWS: 1.0, Unit.TUPLES: 1.0},
    Metric.LAG: {Unit.SECONDS: 1.0, Unit.MILLISECONDS: 0.001, Unit.MINUTES: 60.0},
    Metric.LATENCY: {Unit.MILLISECONDS: 1.0, Unit.SECONDS: 1000.0, Unit.MINUTES: 60_000.0},
    Metric.INPUT_RATE: _RATE,
    Metric.THROUGHPUT: _RATE,
}


class ScalingAction(StrEnum):
    """What a rule does."""

    OUT = "scale-out"
    IN = "scale-in"


class Factor(SettingsGroup):
    """By how much an operator grows or shrinks; exactly one of four kinds."""

    absolute: int | None = Field(None, ge=1, le=MAX_REPLICAS)
    """Replicas that are added or removed. Default: none, another kind is given."""
    relative: float | None = Field(None, gt=1, le=MAX_REPLICAS)
    """Multiplies the replicas, or divides them. Default: none, another kind is given."""
    percent: float | None = Field(None, gt=0, le=100 * MAX_REPLICAS)
    """Share of the present replicas that is added or removed, at least one replica. Default: none, another kind is
    given."""
    exact: int | None = Field(None, ge=1, le=MAX_REPLICAS)
    """Number of replicas to reach. Default: none, another kind is given."""

    @model_validator(mode="after")
    def _check_kind(self) -> Self:
        given = [name for name in Factor.model_fields if getattr(self, name) is not None]
        if len(given) != 1:
            raise ValueError(
                f"expected one of absolute, relative, percent and exact, got {' and '.join(given) or 'none'}"
            )
        return self

    def resized(self, replicas: int, action: ScalingAction) -> int:
        """Return how many replicas there are after an action, before any limit; at least 1.

        Notes
        -----
        Rouaux 2014, Fig. 4.6 and Source Code 4.6, with the rounding of the author's code: to the nearest, halves up.

        Examples
        --------
        >>> Factor(relative=2).resized(5, ScalingAction.IN), Factor(absolute=2).resized(2, ScalingAction.IN)
        (3, 1)
        """
        out = action is ScalingAction.OUT
        if self.exact is not None:
            return (max if out else min)(replicas, self.exact)
        if self.relative is not None:
            return max(1, _nearest(replicas * self.relative if out else replicas / self.relative))
        step = self.absolute or max(1, _nearest(replicas * (self.percent or 0.0) / 100))
        return replicas + step if out else max(1, replicas - step)

    def sentence(self, action: ScalingAction) -> str:
        """Return it in the notation of a rule's sentence."""
        out = action is ScalingAction.OUT
        if self.exact is not None:
            return f"to {self.exact}"
        if self.relative is not None:
            return f"{'×' if out else '÷'}{self.relative:g}"
        size = f"{self.absolute}" if self.absolute else f"{self.percent:g} %"
        return f"{'+' if out else '−'}{size}"


class Trigger(SettingsGroup):
    """A condition on one metric that must have held for a time."""

    metric: Metric
    """The metric that the condition reads."""
    above: float | None = Field(None, ge=-MAX_ROWS, le=MAX_ROWS)
    """The metric must be greater than this. Default: none, `below` is given instead."""
    below: float | None = Field(None, ge=-MAX_ROWS, le=MAX_ROWS)
    """The metric must be less than this. Default: none, `above` is given instead."""
    unit: Unit | None = None
    """Unit of the threshold. Default: the metric's own."""
    for_s: Duration
    """The condition must hold for at least this long."""

    @model_validator(mode="after")
    def _check_threshold(self) -> Self:
        given = [name for name in ("above", "below") if getattr(self, name) is not None]
        if len(given) != 1:
            raise ValueError(f"{self.metric}: expected above or below, got {' and '.join(given) or 'none'}")
        if self.unit is not None and self.unit not in UNITS[self.metric]:
            known = " or ".join(UNITS[self.metric])
            raise ValueError(f"{self.metric}: expected a threshold in {known}, got one in {self.unit}")
        return self

    @property
    def own_unit(self) -> Unit:
        """The unit in which the metric is reported."""
        return next(iter(UNITS[self.metric]))

    @property
    def threshold(self) -> float:
        """The value that decides, in the metric's own unit."""
        value = self.above if self.above is not None else self.below
        return (value or 0.0) * UNITS[self.metric][self.unit or self.own_unit]

    def holds(self, low: float, high: float) -> bool:
        """Say whether all values between two, in the metric's own unit, meet the threshold; equality does not."""
        return low > self.threshold if self.above is not None else high < self.threshold


class Guard(SettingsGroup):
    """What keeps a rule from acting: a recent action of a kind."""

    since: ScalingAction
    """The kind of action, by whatever rule."""
    within_s: Duration
    """After such an action, the rule waits for this long."""


class Rule(SettingsGroup):
    """One rule: an operator, an action, when it is taken, and within which limits."""

    name: str = Field("", max_length=NAME_AT_MOST)
    """For people. Default: `default-rule-` and its number."""
    operator: str = Field(min_length=1, max_length=NAME_AT_MOST)
    """The operator that the rule scales; `*` for each on its own."""
    together: bool = False
    """With `*`: the readings of all operators count together, and all are scaled. Default: each operator is judged by
    its own readings."""
    action: ScalingAction
    """Whether replicas are added or removed."""
    by: Factor
    """How many."""
    max: int | None = Field(None, ge=1, le=MAX_REPLICAS)
    """Replicas beyond which it never scales out. Default: the operator's own limit."""
    min: int | None = Field(None, ge=1, le=MAX_REPLICAS)
    """Replicas below which it never scales in. Default: the operator's own limit."""
    when: tuple[Trigger, ...] = Field(min_length=1)
    """Conditions; all must hold."""
    unless: tuple[Guard, ...] = ()
    """What must not have happened lately. Default: nothing."""

    @model_validator(mode="after")
    def _check_rule(self) -> Self:
        if self.min is not None and self.max is not None and self.min > self.max:
            raise ValueError(f"expected min <= max, got {self.min} and {self.max}")
        if self.together and self.operator != ALL:
            raise ValueError(f"together is for rules of all operators ({ALL}), got operator {self.operator!r}")
        return self

    def is_for(self, operator: str) -> bool:
        """Say whether it scales an operator."""
        return self.operator in {ALL, operator}


class RuleSet(SettingsGroup):
    """Rules that hold side by side; none at all change nothing."""

    name: str = Field("", max_length=NAME_AT_MOST)
    """For people. Default: none."""
    rules: tuple[Rule, ...] = ()
    """The rules in the order of their rank. Default: none."""


def distinct(rules: Iterable[Rule]) -> tuple[Rule, ...]:
    """Return the rules, each with a name of its own."""
    taken: set[str] = set()
    named = []
    for number, rule in enumerate(rules, start=1):
        wanted = rule.name or f"default-rule-{number}"
        name, copy = wanted, 2
        while name in taken:
            name, copy = f"{wanted} ({copy})", copy + 1
        taken.add(name)
        named.append(rule.model_copy(update={"name": name}))
    return tuple(named)


def _nearest(value: float) -> int:
    return math.floor(value + 0.5)
