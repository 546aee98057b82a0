"""The rules that hold where none are given."""

from testbed.baselines.rules.builder import (
    PolicyRules,
    above,
    absolute,
    all_operators,
    below,
    minutes,
    percent,
    percentage,
    seconds,
)
from testbed.baselines.rules.model import Metric

with PolicyRules("default") as _default:
    (
        _default.rule("behind")
        .scale_out(all_operators())
        .by(percentage(50))
        .when(Metric.LAG)
        .is_(above(seconds(30)))
        .for_at_least(minutes(1))
        .no_scale_out_since(minutes(2))
    )
    (
        _default.rule("hot")
        .scale_out(all_operators())
        .by(absolute(1))
        .when(Metric.CPU)
        .is_(above(percent(80)))
        .for_at_least(minutes(2))
        .no_scale_out_since(minutes(2))
    )
    (
        _default.rule("idle")
        .scale_in(all_operators())
        .by(percentage(25))
        .when(Metric.CPU)
        .is_(below(percent(40)))
        .for_at_least(minutes(3))
        .and_(Metric.LAG)
        .is_(below(seconds(10)))
        .for_at_least(minutes(3))
        .no_scale_out_since(minutes(5))
    )

DEFAULT_RULES = _default.rules
"""Fast up, slow down. Below 40 % one of two replicas can do the work of both at 80 %, so it is not added again."""
