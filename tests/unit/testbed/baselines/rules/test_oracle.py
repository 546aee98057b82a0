"""The tests of the thesis on SEEP, sections 5.2.2 to 5.2.7, on a fluid: what must come out follows from arithmetic.

Reports come every 5 s from 0 s on; changes take no time."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import pytest

from gesscale.model.workflow import Operator
from testbed.baselines.rules.evaluation import RuleContext, condition, evaluate_rules, rank_rules
from testbed.baselines.rules.model import Metric, Rule, ScalingAction, distinct
from testbed.baselines.rules.readings import MetricReport, MetricSamples, append_reports, prune_samples
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
    mine = rank_rules(distinct(rules), name)
    max_s = max((trigger.for_s for rule in mine for trigger in rule.when), default=0.0)
    context = {"operator": Operator(name=name, driver_node="n0", max_replicas=100)}
    done_s: dict[ScalingAction, float] = {}
    fired: frozenset[str] = frozenset()
    samples: MetricSamples = ()
    replicas, queue, found = 1, Fraction(0), Run()
    for step in range(int(seconds / PERIOD_S) + 1):
        now_s = step * PERIOD_S
        if step:
            queue = _after(queue, load(now_s - PERIOD_S), service_rows_per_s, replicas)
        found.queue[now_s] = float(queue)
        samples = append_reports(samples, [MetricReport(now_s, float(queue), PERIOD_S)], semantics.max_gap_s)
        samples = prune_samples(samples, max_s, 100)
        seen = {Metric.QUEUE_LENGTH: samples}
        conditions = {rule.name: condition(rule, seen, now_s, semantics) for rule in mine}
        now = RuleContext(now_s=now_s, replicas=replicas, done_s=done_s, fired=fired, **context)
        ruling = evaluate_rules(mine, conditions, now, semantics)
        fired = ruling.fired
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


MODES = pytest.mark.parametrize("mode", ["rearm", "edge"])


def rule(name: str, side: str, rows: int, for_s: float, **more: object) -> Rule:
    trigger = {"metric": "queue-length", side: rows, "unit": "tuples", "for": for_s}
    return Rule.model_validate({"name": name, "operator": "op", "action": "scale-out", "when": [trigger], **more})


def backlog_rule(*, by: int, most: int, name: str = "op") -> Rule:
    unless = [{"since": "scale-out", "within": "5m"}]
    return rule("backlog", "above", 300, 30, operator=name, by={"absolute": by}, max=most, unless=unless)


def peak_rules(hysteresis_s: float | None = None) -> list[Rule]:
    unless = [] if hysteresis_s is None else [{"since": "scale-out", "within": hysteresis_s}]
    by = {"absolute": 2}
    return [
        rule("out", "above", 100, 5, by=by, max=3),
        rule("in", "below", 1, 5, action="scale-in", by=by, min=1, unless=unless),
    ]


@MODES
def test_5_2_2_one_replica_more_keeps_up_but_drains_nothing(mode):
    # 10 - 5 rows/s: 300 at 60 s, above it from the report at 65 s on, for 30 s (half open) at 90 s: 450 rows.
    found = run([backlog_rule(by=1, most=2)], constant(10), 5, seconds=600, mode=mode)
    assert found.changes == [(90, 1, 2)]
    assert {rows for at_s, rows in found.queue.items() if at_s >= 90} == {450}


@MODES
def test_5_2_3_two_replicas_more_drain_the_backlog(mode):
    # 450 rows at 15 - 10 rows/s: 90 s more.
    found = run([backlog_rule(by=2, most=3)], constant(10), 5, seconds=600, mode=mode)
    assert found.changes == [(90, 1, 3)]
    assert max(found.queue.values()) == 450
    assert found.empty_at_s() == 180


@MODES
def test_5_2_4_only_the_bottleneck_grows(mode):
    rules = [backlog_rule(by=2, most=3, name="first"), backlog_rule(by=2, most=3, name="second")]
    assert run(rules, constant(10), 20, seconds=600, name="first", mode=mode).changes == []
    # The first hands all 10 rows/s on.
    assert run(rules, constant(10), 5, seconds=600, name="second", mode=mode).changes == [(90, 1, 3)]


@MODES
def test_5_2_5_short_peaks_move_nothing(mode):
    rules = [rule("", "above", 10000, 60, by={"absolute": 2}, max=3)]
    found = run(rules, peaks(10, 20, 5, 60), 10, seconds=600, mode=mode)
    assert found.changes == []
    # 5 s x 10 rows/s a peak, and between peaks the input is what one replica does.
    assert [found.queue[at_s] for at_s in (5.0, 60.0, 65.0, 125.0)] == [50, 50, 100, 150]


@MODES
def test_5_2_6_the_size_follows_the_peaks(mode):
    # 10 rows/s more than one does: 150 at 15 s. Three do 30: 100 at 20 s, and 0 at 25 s, as the input is 10 again.
    found = run(peak_rules(), peaks(10, 20, 20, 60), 10, seconds=180, allow_single_sample=True, mode=mode)
    assert found.changes == [(15, 1, 3), (25, 3, 1), (75, 1, 3), (85, 3, 1), (135, 1, 3), (145, 3, 1)]
    assert max(found.queue.values()) == 150


def test_5_2_6_with_a_guard_of_60_s_goes_back_late_into_the_next_peak():
    # Guards open 60 s after 15 s: 75 s, where a peak begun at 60 s leaves 50 rows by 80 s; the next one adds to them.
    found = run(peak_rules(60), peaks(10, 20, 20, 60), 10, seconds=200, allow_single_sample=True)
    assert found.changes == [(15, 1, 3), (75, 3, 1), (130, 1, 3), (190, 3, 1)]
    assert max(found.queue.values()) == 150


def test_5_2_7_goes_back_after_five_minutes():
    found = run(peak_rules(300), peaks(10, 20, 20, 60), 10, seconds=420, allow_single_sample=True)
    assert found.changes == [(15, 1, 3), (315, 3, 1), (370, 1, 3)]
    assert max(found.queue.values()) == 150


@pytest.mark.parametrize("guard_s", [60, 300])
def test_an_edge_that_meets_a_closed_guard_is_lost_word_for_word(guard_s):
    # The queue is empty from 25 s on; in mode edge that happens once, while the guard is closed.
    found = run(peak_rules(guard_s), peaks(10, 20, 20, 60), 10, seconds=900, allow_single_sample=True, mode="edge")
    assert found.changes == [(15, 1, 3)]


def test_rearmed_rules_go_on_step_by_step_and_edges_act_once():
    # 40 - 5 rows/s: above 10 from 5 s on, and never below again with up to 4 replicas.
    rules = [rule("", "above", 10, 30, by={"absolute": 1}, max=4)]
    # Conditions must hold for 30 s again: from the report after the change, 30 s less the tenth that may lack.
    assert run(rules, constant(40), 5, seconds=600).changes == [(30, 1, 2), (65, 2, 3), (100, 3, 4)]
    assert run(rules, constant(40), 5, seconds=600, mode="edge").changes == [(30, 1, 2)]
