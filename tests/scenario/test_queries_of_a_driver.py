"""No order for a query that does not run or is one of several, and one order at most against a quota."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import pytest
from field_world import PHYSICS, scene_of, steady
from spark_scenes import Notes

from gesscale.model.decision import Decision, Outcome, Reason
from gesscale.model.observation import MissingReading, OperatorReading, WorkflowObservation
from gesscale.options import PolicyOptions
from gesscale.policies import GuardedPolicy, policy_named
from gesscale.ports import Cluster, ClusterState, MetricSource
from testbed.simulator.simulation import assemble
from testbed.simulator.spark.plant import SparkPlant
from testbed.workloads.workload import Workload

BEGIN_S, END_S = 1800.0, 3600.0
SENTENCE = "exceeded quota: two"


@dataclass
class Changed:
    """A metric source whose readings of operator ``op`` a test replaces."""

    source: MetricSource
    change: Callable[[float, OperatorReading], OperatorReading | MissingReading]

    def observe(self, now_s: float) -> WorkflowObservation:
        seen = self.source.observe(now_s)
        if (reading := seen.readings.get("op")) is None:
            return seen
        found = self.change(now_s, reading)
        if isinstance(found, OperatorReading):
            return replace(seen, readings={"op": found})
        return replace(seen, readings={}, missing_readings={"op": found})


@dataclass
class Quota:
    """A cluster whose API server allows a number of executors; Spark creates the others as soon as it may."""

    cluster: Cluster
    most: int
    ordered: tuple[str, ...] = ()

    @property
    def refuses(self) -> bool:
        return len(self.ordered) > self.most

    def state(self) -> ClusterState:
        if self.ordered:
            self.apply("op", self.ordered)
        state = self.cluster.state()
        live = {*state.placements["op"], *state.starting.get("op", ())}
        missing = tuple(node for node in self.ordered if node not in live)
        return replace(state, starting={"op": (*state.starting.get("op", ()), *missing)})

    def apply(self, operator: str, placement: tuple[str, ...]) -> Outcome:
        live = self.cluster.state().placements[operator]
        kept = [node for node in placement if node in live]
        allowed = [*kept, *(node for node in placement if node not in live)][: self.most]
        self.ordered = placement
        return self.cluster.apply(operator, tuple(sorted(allowed)))


def step_of(rows_per_s: float, then: float, hours: float) -> Workload:
    return Workload.of_rates("step", BEGIN_S, [rows_per_s] + [then] * round(2 * hours - 1))


def played(load: Workload, wrap: Callable[[MetricSource, Cluster], tuple[MetricSource, Cluster]]) -> list[Decision]:
    scene, notes = scene_of(load), Notes()
    policy = GuardedPolicy(policy_named("gesscale", scene.workflow, PolicyOptions()))
    loop, clock = assemble(scene, SparkPlant(scene, {"op": PHYSICS}, seed=1), policy, notes, seed=1)
    metrics, cluster = wrap(loop.metrics, loop.cluster)
    loop = replace(loop, metrics=metrics, cluster=cluster)
    loop.run(clock, scene.period_s, notes.on_decisions, immediately=True, min_period_s=scene.min_period_s)
    return notes.decisions


@pytest.mark.parametrize("code", ["query-ended", "queries-several", "query-not-found"])
def test_no_order_while_no_query_can_be_judged(code: str) -> None:
    missing = MissingReading(operator="op", code=code, fields={"query": "q", "queries": ["p", "q"]})

    def judged(now_s: float, reading: OperatorReading) -> OperatorReading | MissingReading:
        return missing if BEGIN_S <= now_s < END_S else reading

    # 150 rows/s need two of 98, then 350 need four: from the second on that the query cannot be judged.
    decisions = played(step_of(150.0, 350.0, 2.0), lambda metrics, cluster: (Changed(metrics, judged), cluster))
    during = [each for each in decisions if BEGIN_S <= each.at_s < END_S]
    assert {each.plan.reason for each in during} == {Reason.METRICS_MISSING}
    assert not [each for each in during if each.acted]
    after = [each for each in decisions if each.at_s >= END_S and each.acted]
    assert len(after[-1].plan.placement) >= 4


def test_a_quota_is_named_and_gets_one_order_until_it_is_raised() -> None:
    quota: list[Quota] = []

    def refused(now_s: float, reading: OperatorReading) -> OperatorReading:
        quota[0].most = 2 if now_s < END_S else 8
        return replace(reading, executor_refusal=SENTENCE if quota[0].refuses else "")

    def wrap(metrics: MetricSource, cluster: Cluster) -> tuple[MetricSource, Cluster]:
        quota.append(Quota(cluster, most=2))
        return Changed(metrics, refused), quota[0]

    decisions = played(steady(350.0, 2.0), wrap)
    during = [each for each in decisions if 120.0 <= each.at_s < END_S]
    assert not [each for each in during if each.acted]
    assert {rejection.reason for each in during for rejection in each.ineligible} == {Reason.POD_REFUSED}
    assert all(SENTENCE in each.plan.detail for each in during)
    last = decisions[-1].plan  # 350 rows/s need four of 98
    assert last.change is None
    assert len(last.placement) in {4, 5}
