"""The cheapest plan, compared with all plans of a small world and with the other policies of the arena."""

from collections import deque
from dataclasses import replace
from itertools import product

import pytest

from testbed.arena.experiments.experiment import experiment_of
from testbed.arena.policies.fluid_plan import Fluid, cheapest_plan
from testbed.arena.runner import run_case
from testbed.workloads.workload import Workload

MINUTES = (60, 150, 150, 60, 60, 60)  # rows/s; one replica processes 100, two 200


def load(rates=MINUTES) -> Workload:
    return Workload.of_rates("minutes", 60.0, rates)


SPARK = Fluid(
    inflow=((load(), 1.0),),
    duration_s=360.0,
    period_s=60.0,
    slo_s=30.0,
    replicas=(1, 2),
    initial=1,
    capacity_rows_per_s=(100.0, 200.0),
    changing_s=(20.0, 20.0),
    changing_rows_per_s=((100.0, 100.0), (100.0, 200.0)),
    batch_s=(0.0, 0.0),
)
FLINK = replace(SPARK, changing_s=(40.0, 40.0), changing_rows_per_s=((0.0, 0.0), (0.0, 0.0)))


def cost(fluid: Fluid, plan: tuple[int, ...]) -> float:
    """Return replica-minutes and late minutes at their price, simulated second by second with a queue of rows."""
    rates = [
        load.rows_per_s[int(second // load.step_s)]
        for load, _ in fluid.inflow
        for second in range(int(fluid.duration_s))
    ]
    waiting: deque[list[float]] = deque()  # second of the offer, rows
    paid = late = 0.0
    present, changed_s, before = plan[0], -1e9, plan[0]
    for second in range(3600):
        if second >= len(rates) and not waiting:
            break
        wanted = plan[min(second // 60, len(plan) - 1)]
        if wanted != present:
            before, present, changed_s = present, wanted, second
        index = fluid.replicas.index(present)
        able = fluid.capacity_rows_per_s[index]
        if second - changed_s < fluid.changing_s[index]:
            able = fluid.changing_rows_per_s[fluid.replicas.index(before)][index]
        if second < len(rates):
            waiting.append([second, rates[second]])
        while able > 0 and waiting:
            taken = min(able, waiting[0][1])
            able -= taken
            waiting[0][1] -= taken
            if waiting[0][1] <= 1e-9:
                waiting.popleft()
        paid += present / 60
        late += bool(waiting) and second + 1 - waiting[0][0] > fluid.slo_s
    return paid + fluid.price * late / 60


@pytest.mark.parametrize("fluid", [SPARK, FLINK], ids=["late start", "stop"])
@pytest.mark.parametrize("price", [0.5, 10.0])
@pytest.mark.parametrize("initial", [1, 2])
def test_no_plan_is_cheaper(fluid, price, initial):
    fluid = replace(fluid, price=price, initial=initial)
    plan = cheapest_plan(fluid)
    assert plan[0] == initial
    others = {others: cost(fluid, (initial, *others)) for others in product((1, 2), repeat=7)}
    # The plan counts in ticks of 10 s, this test in seconds; a tick of lateness costs price / 6.
    assert cost(fluid, plan) <= min(others.values()) + price / 6 + 0.1


def test_a_change_that_costs_more_than_it_saves_is_not_planned():
    # One replica fewer for the last three minutes saves 3 replica-minutes. The stop of 40 s makes rows at least 10 s
    # late, at a price of 10 per minute: at 60 rows/s, 2,400 rows wait, and their number falls by 40 each second.
    high = replace(FLINK, inflow=((load((150, 150, 150, 60, 60, 60)), 1.0),), initial=2)
    assert set(cheapest_plan(high)[:6]) == {2}
    # With a late start nothing is lost by a change, and late minutes are not needed.
    low = replace(high, changing_s=SPARK.changing_s, changing_rows_per_s=SPARK.changing_rows_per_s)
    assert 1 in cheapest_plan(low)[3:6]
    # It saves 3 replica-minutes: more than a change that is charged 2, less than one that is charged 4.
    assert 1 in cheapest_plan(replace(low, change_price=2.0))[3:6]
    assert set(cheapest_plan(replace(low, change_price=4.0))[:6]) == {2}


WORLD = {
    "name": "mine",
    "policies": ["oracle", "ideal", "gesscale", "thr-nlunaware", "ds2"],
    "workloads": ["kanis-convergence"],
    "nodes": {"generated": {"kind": "clustered", "high_ms": 300, "per_seed": True}, "count": 6},
    "operators": {"operator": {"max_replicas": 6}},
}


@pytest.mark.parametrize("engine", ["spark", "flink"])
def test_no_policy_in_the_same_world_has_a_lower_cost(engine):
    experiment = experiment_of({**WORLD, "engine": engine}, "mine.yaml")
    costs = {}
    for case in experiment.cases():
        if case.seed == 0 and case.policy != "ideal":
            metrics = run_case(experiment, case).metrics
            costs[case.policy] = metrics["node_seconds"] / 60 + 10 * metrics["lag_above_slo_s"] / 60
    assert min(costs, key=costs.get) == "oracle"
