"""Data model of rules: frozen, validated values with units.

The model follows the thesis of M. Rouaux (Framework for Dynamic Scaling in Master-Slave Stream Processing Systems,
Imperial College London, 2014), section 4.2.
"""

import math
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Annotated, Self

from pydantic import AfterValidator, Field, model_validator

from gesscale.batch_record import PREFIX, BatchFigures, figures_of
from gesscale.common.errors import InvalidValueError
from gesscale.fields import MAX_ROWS, Duration, SettingsGroup
from gesscale.validation import nearest
from gesscale.wire import MAX_REPLICAS

#: The operator of a rule for all operators.
ALL = "*"

#: Maximum length of a name.
MAX_NAME_LENGTH = 120


class Metric(StrEnum):
    """Metrics that a rule may use; `testbed.baselines.rules.readings` reads them from an operator."""

    CPU = "cpu"
    BUSY = "busy"
    SATURATED = "saturated"
    QUEUE_LENGTH = "queue-length"
    LAG = "lag"
    LATENCY = "latency"
    INPUT_RATE = "input-rate"
    THROUGHPUT = "throughput"


#: Field of a batch by its gauge, which a rule may name as its metric.
FIELD_OF_GAUGE = {f"{PREFIX}{figure.gauge}": name for name, figure in figures_of(BatchFigures).items()}


#: Begins the name of a metric that the query observes.
OBSERVED = "observed."


def _check_metric(name: str) -> str:
    known = {*(each.value for each in Metric), *FIELD_OF_GAUGE}
    if name in known or name.startswith(OBSERVED):
        return name
    raise InvalidValueError("rule-metric-unknown", got=name, nearest=nearest(name, known))


#: Name of a metric: one of `Metric`, a gauge of the driver, or ``observed.NAME.ALIAS``.
MetricName = Annotated[str, Field(max_length=MAX_NAME_LENGTH), AfterValidator(_check_metric)]


class Unit(StrEnum):
    """Units of thresholds."""

    PERCENT = "percent"
    ROWS = "rows"
    TUPLES = "tuples"
    MILLISECONDS = "ms"
    SECONDS = "s"
    MINUTES = "min"
    ROWS_PER_SECOND = "rows/s"

    @property
    def sign(self) -> str:
        """The sign after a number."""
        return "%" if self is Unit.PERCENT else self.value


_SHARE = {Unit.PERCENT: 1.0}
_RATE = {Unit.ROWS_PER_SECOND: 1.0}
#: The units of each metric, its own first, with their factors to its own.
UNITS: Mapping[str, Mapping[Unit, float]] = {
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
    """Action of a rule."""

    OUT = "scale-out"
    IN = "scale-in"


class Factor(SettingsGroup):
    """Size of a change; exactly one of four kinds."""

    absolute: int | None = Field(None, ge=1, le=MAX_REPLICAS)
    """Number of replicas to add or remove. Default: none, another kind is given."""
    relative: float | None = Field(None, gt=1, le=MAX_REPLICAS)
    """Factor that multiplies the replicas, or divides them. Default: none, another kind is given."""
    percent: float | None = Field(None, gt=0, le=100 * MAX_REPLICAS)
    """Percentage of the present replicas to add or remove, at least one replica. Default: none, another kind is
    given."""
    exact: int | None = Field(None, ge=1, le=MAX_REPLICAS)
    """Number of replicas to reach. Default: none, another kind is given."""

    @model_validator(mode="after")
    def _check_kind(self) -> Self:
        given = [name for name in Factor.model_fields if getattr(self, name) is not None]
        if len(given) != 1:
            raise InvalidValueError("rule-factor-ambiguous", got=" and ".join(given) or "none")
        return self

    def resized(self, replicas: int, action: ScalingAction) -> int:
        """Return the number of replicas after an action, before any limit; at least 1.

        Notes
        -----
        Rouaux 2014, Fig. 4.6 and Source Code 4.6, with the rounding of the author's code: to nearest, halves up.

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

    def notation(self, action: ScalingAction) -> str:
        """Return the change in short notation, such as +2 or ×1.5."""
        out = action is ScalingAction.OUT
        if self.exact is not None:
            return f"to {self.exact}"
        if self.relative is not None:
            return f"{'×' if out else '÷'}{self.relative:g}"
        size = f"{self.absolute}" if self.absolute else f"{self.percent:g} %"
        return f"{'+' if out else '−'}{size}"


class RuleTrigger(SettingsGroup):
    """A condition on one metric that must hold for a time."""

    metric: MetricName
    """The metric that the condition reads: a name of docs/reference/policies/rules.md, a gauge of the driver, or
    `observed.` and the name of an observed metric."""
    above: float | None = Field(None, ge=-MAX_ROWS, le=MAX_ROWS)
    """The metric must be greater than this. Default: none, `below` is given instead."""
    below: float | None = Field(None, ge=-MAX_ROWS, le=MAX_ROWS)
    """The metric must be less than this. Default: none, `above` is given instead."""
    unit: Unit | None = None
    """Unit of the threshold. Default: the metric's own."""
    for_s: Duration
    """The condition must hold for at least this long."""
    share: float = Field(1.0, gt=0, le=1)
    """Share of that time in which it must hold. Default: all of it, every reading; less ignores outliers."""
    mean: bool = False
    """Compare the mean over that time instead of the readings. Default: no, the readings."""

    @model_validator(mode="after")
    def _check_threshold(self) -> Self:
        given = [name for name in ("above", "below") if getattr(self, name) is not None]
        if len(given) != 1:
            got = " and ".join(given) or "none"
            raise InvalidValueError("rule-threshold-ambiguous", metric=self.metric, got=got)
        if self.mean and self.share < 1:
            raise InvalidValueError("rule-share-of-mean", metric=self.metric, share=self.share)
        if self.unit is not None and self.unit not in self._units:
            known = [unit.value for unit in self._units] or "no unit"
            raise InvalidValueError("rule-threshold-unit-invalid", metric=self.metric, known=known, got=self.unit.value)
        return self

    @property
    def _units(self) -> Mapping[Unit, float]:
        return UNITS.get(self.metric, {})

    @property
    def own_unit(self) -> Unit | None:
        """The unit of the metric; None for a gauge."""
        return next(iter(self._units), None)

    @property
    def threshold(self) -> float:
        """The threshold in the metric's own unit."""
        value = self.above if self.above is not None else self.below
        return (value or 0.0) * (self._units[self.unit] if self.unit else 1.0)

    def holds(self, low: float, high: float) -> bool:
        """Return True if all values between two, in the metric's own unit, are beyond the threshold."""
        return low > self.threshold if self.above is not None else high < self.threshold


class Guard(SettingsGroup):
    """Blocks a rule for some time after an action."""

    since: ScalingAction
    """The action that blocks the rule, whichever rule caused it."""
    within_s: Duration
    """Time after the action during which the rule is blocked."""


class Rule(SettingsGroup):
    """One rule: an operator, an action, its conditions and its limits."""

    name: str = Field("", max_length=MAX_NAME_LENGTH)
    """Name in messages. Default: `default-rule-` and its number."""
    operator: str = Field(min_length=1, max_length=MAX_NAME_LENGTH)
    """The operator that the rule scales; `*` for every operator separately."""
    together: bool = False
    """With `*`: the conditions must hold for all operators, and all are scaled. Default: each operator is evaluated by
    its own readings."""
    action: ScalingAction
    """Add or remove replicas."""
    by: Factor
    """Size of the change."""
    max: int | None = Field(None, ge=1, le=MAX_REPLICAS)
    """Maximum number of replicas when scaling out. Default: the operator's own limit."""
    min: int | None = Field(None, ge=1, le=MAX_REPLICAS)
    """Minimum number of replicas when scaling in. Default: the operator's own limit."""
    when: tuple[RuleTrigger, ...] = Field(min_length=1)
    """Conditions; all must hold."""
    unless: tuple[Guard, ...] = ()
    """Guards, which block the rule after recent actions. Default: none."""

    @model_validator(mode="after")
    def _check_rule(self) -> Self:
        if self.min is not None and self.max is not None and self.min > self.max:
            raise InvalidValueError("rule-bounds-reversed", min=self.min, max=self.max)
        if self.together and self.operator != ALL:
            raise InvalidValueError("rule-together-without-all", operator=self.operator)
        return self


class RuleSet(SettingsGroup):
    """Set of rules; may be empty."""

    name: str = Field("", max_length=MAX_NAME_LENGTH)
    """Name of the set. Default: none."""
    rules: tuple[Rule, ...] = ()
    """The rules in order of priority. Default: none."""


def distinct(rules: Iterable[Rule]) -> tuple[Rule, ...]:
    """Return the rules with unique names."""
    taken: set[str] = set()
    named = []
    for number, rule in enumerate(rules, start=1):
        base = rule.name or f"default-rule-{number}"
        name, copy = base, 2
        while name in taken:
            name, copy = f"{base} ({copy})", copy + 1
        taken.add(name)
        named.append(rule.model_copy(update={"name": name}))
    return tuple(named)


def _nearest(value: float) -> int:
    return math.floor(value + 0.5)
