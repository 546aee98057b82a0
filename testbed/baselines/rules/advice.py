"""What is valid but probably not meant: missing bounds, times too short, thresholds that meet."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product

from gesscale.fields import format_duration
from testbed.baselines.rules.model import ALL, Rule, ScalingAction, Trigger, distinct
from testbed.baselines.rules.readings import BATCH_METRICS


def advice(rules: Sequence[Rule], *, period_s: float, batch_s: float) -> tuple[str, ...]:
    """Return the remarks on rules, one sentence each.

    Parameters
    ----------
    rules
        As they were written.
    period_s
        Time between two steps of the loop, for metrics that are reported once a step, seconds.
    batch_s
        Time between two batches, for metrics that each batch reports, seconds.

    Notes
    -----
    The warnings that the thesis on SEEP (Rouaux 2014) does not have: missing bound, a time that rests on a single
    reading, a name used twice, no dead band between scaling out and in.
    """
    named = distinct(rules)
    return (
        *_renamed(rules, named),
        *_unbounded(named),
        *_too_short(named, period_s, batch_s),
        *_meeting(named),
    )


def _renamed(rules: Iterable[Rule], named: Iterable[Rule]) -> Iterator[str]:
    for rule, own in zip(rules, named, strict=True):
        if rule.name not in {"", own.name}:
            yield f"two rules are called {rule.name!r}; one of them is now {own.name!r}"


def _unbounded(rules: Iterable[Rule]) -> Iterator[str]:
    for rule in rules:
        if (
            rule.action is ScalingAction.OUT
            and rule.max is None
            and rule.max_factor is None
            and not rule.by.exact
        ):
            yield f"{rule.name}: it has no max; only the operator's max_replicas bounds it"


def _too_short(rules: Iterable[Rule], period_s: float, batch_s: float) -> Iterator[str]:
    for rule in rules:
        for trigger in rule.when:
            every_s = batch_s if trigger.metric in BATCH_METRICS else period_s
            if trigger.for_s < 2 * every_s:
                yield (
                    f"{rule.name}: {trigger.metric} is reported every {format_duration(every_s)}, so a time of "
                    f"{format_duration(trigger.for_s)} holds a single reading; two that agree are required"
                )


def _meeting(rules: Sequence[Rule]) -> Iterator[str]:
    ins = [rule for rule in rules if rule.action is ScalingAction.IN]
    outs = [rule for rule in rules if rule.action is ScalingAction.OUT]
    for shrinks, grows in product(ins, outs):
        if ALL not in {shrinks.operator, grows.operator} and shrinks.operator != grows.operator:
            continue
        lower, upper = _thresholds(shrinks.when, below=True), _thresholds(grows.when, below=False)
        for metric in lower.keys() & upper.keys():
            if lower[metric] >= upper[metric]:
                yield (
                    f"{grows.name} and {shrinks.name} leave no dead band: {metric} above {upper[metric]:g} adds and "
                    f"below {lower[metric]:g} removes replicas"
                )


def _thresholds(triggers: Iterable[Trigger], *, below: bool) -> Mapping[str, float]:
    return {trigger.metric: trigger.threshold for trigger in triggers if (trigger.below is not None) == below}
