"""A queue that is a fluid, reported every 5 s, under rules: the thesis's section 5.2 with instantaneous changes."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from gesscale.model.workflow import Operator
from testbed.baselines.rules.evaluation import RuleContext, condition, judge, ranked
from testbed.baselines.rules.model import Metric, Rule, ScalingAction, distinct
from testbed.baselines.rules.readings import MetricReport, MetricSamples, appended, pruned
from testbed.baselines.rules.settings import RulesSettings

PERIOD_S = 5.0


@dataclass
class Run:
    """What came of it: (time, replicas before, after) of each change, and the rows that waited at each report."""

    changes: list[tuple[float, int, int]] = field(default_factory=list)
    queue: dict[float, float] = field(default_factory=dict)

    def empty_at_s(self) -> float:
        return next(at_s for at_s, rows in self.queue.items() if at_s > 0 and rows == 0)


def constant(rows_per_s: float) -> Callable[[float], float]:
    return lambda _: rows_per_s


def peaks(base: float, peak: float, peak_s: float, every_s: float) -> Callable[[float], float]:
    """Peaks first: whole multiples of the report period, so that the rate is the same between two reports."""
    return lambda at_s: peak if at_s % every_s < peak_s else base


def run(
    rules: Sequence[Rule],
    load: Callable[[float], float],
    service_rows_per_s: float,
    *,
    seconds: float,
    name: str = "op",
    **read: object,
) -> Run:
    """Let rules scale one operator, whose replicas take from one queue."""
    semantics = RulesSettings.model_validate(read)
    mine = ranked(distinct(rules), name)
    longest_s = max((trigger.for_s for rule in mine for trigger in rule.when), default=0.0)
    standing = {"operator": Operator(name=name, driver_node="n0", max_replicas=100), "initial": 1}
    done_s: dict[ScalingAction, float] = {}
    held: frozenset[str] = frozenset()
    samples: MetricSamples = ()
    replicas, queue, found = 1, Fraction(0), Run()
    for step in range(int(seconds / PERIOD_S) + 1):
        now_s = step * PERIOD_S
        if step:
            queue = _after(queue, load(now_s - PERIOD_S), service_rows_per_s, replicas)
        found.queue[now_s] = float(queue)
        samples = appended(samples, [MetricReport(now_s, float(queue), PERIOD_S)], semantics.max_gap_s)
        samples = pruned(samples, longest_s, 100)
        seen = {Metric.QUEUE_LENGTH: samples}
        conditions = {rule.name: condition(rule, seen, now_s, semantics) for rule in mine}
        now = RuleContext(now_s=now_s, replicas=replicas, done_s=done_s, held=held, **standing)
        ruling = judge(mine, conditions, now, semantics)
        held = ruling.held
        if ruling.acting is not None:
            after = ruling.acting.replicas
            found.changes.append((now_s, replicas, after))
            done_s[ScalingAction.OUT if after > replicas else ScalingAction.IN] = now_s
            replicas = after
            if semantics.mode == "rearm":
                samples = ()
    return found


def _after(queue: Fraction, rate: float, service: float, replicas: int) -> Fraction:
    growth = Fraction(rate) - Fraction(service) * replicas
    return max(Fraction(0), queue + int(PERIOD_S) * growth)
