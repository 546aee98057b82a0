"""What each number of replicas is expected to cost."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gesscale.model.decision import CandidateCost
from gesscale.model.order import Order
from gesscale.policies.gesscale.analysis.changes import buckets_ahead, change_cost
from gesscale.policies.gesscale.analysis.costs import estimate_costs
from gesscale.policies.gesscale.analysis.planning_horizon import ChangeCost, FirstAction, PlanningHorizon
from gesscale.policies.gesscale.analysis.rollout import Rollout


def horizon(**changes: object) -> PlanningHorizon:
    """Return 15 rows/s for ten minutes in steps of one; a replica does 10; rows may wait for 40 s."""
    steps_s = np.full(10, 60.0)
    instants_s = np.arange(11) * 60.0
    made = PlanningHorizon(
        rows_per_s=np.array([10.0, 20.0, 30.0]),
        replicas=1,
        present_rows_per_s=10.0,
        min_replicas=1,
        max_replicas=3,
        steps_s=steps_s,
        offered=15.0 * instants_s[None, :],
        deadline_rows=15.0 * (instants_s - 40.0)[None, :],
        weights=np.ones(1),
        backlog_rows=0.0,
        change=ChangeCost(stop_s=0.0, start_s=0.0, settle_s=0.0, replica_minutes=1.0),
        late_minute_price=10.0,
    )
    return replace(made, **changes)


def costs_of(asked: PlanningHorizon, *counts: int) -> tuple[CandidateCost, ...]:
    (found,) = estimate_costs([Rollout(asked, [FirstAction(count, count != asked.replicas) for count in counts])])
    return found


def test_too_few_replicas_wait_and_are_late() -> None:
    only = horizon(max_replicas=1, steps_s=np.full(4, 60.0))
    only = replace(only, offered=only.offered[:, :5], deadline_rows=only.deadline_rows[:, :5])
    (one,) = costs_of(only, 1)
    # 10 of 15 rows/s are served: 10 t < 15 (t - 40) after 120 s, so 2 of 4 minutes are late. At the end 15 * 200 are
    # due and 10 * 240 served. The load is above the capacity of all, so a quarter of that is spare, 600 / 2.5 = 240 s.
    assert one.late_minutes == pytest.approx(2 + 4)
    # 4 replica-minutes, and 1,200 waiting rows of 2 minutes of one replica.
    assert one.replica_minutes == pytest.approx(4 + 2)
    assert one.total == pytest.approx(6 + 10 * 6)


def test_lateness_that_is_allowed_is_used() -> None:
    found = {cost.replicas: cost for cost in costs_of(horizon(), 1, 2, 3)}
    # Two from now on: ten minutes of two and one change, 21, or less where one is enough for a while later. One for
    # two minutes leaves 600 rows, of 40 s, which two work off: 2 + 8 * 2 + 1 = 19, and no row is late. What is advised
    # may be a minute earlier, as backlogs between those of the table cost what lies between. Three cost at least one
    # replica-minute more than two.
    assert found[2].late_minutes == found[1].late_minutes == 0
    assert found[2].total <= 21
    assert found[1].total in (pytest.approx(19), pytest.approx(20))
    assert found[3].total > found[2].total
    # With a backlog of 40 s no minute can be waited for: 600 rows and 5 rows/s more than are served.
    waiting = {cost.replicas: cost for cost in costs_of(horizon(backlog_rows=600.0), 1, 2, 3)}
    assert waiting[1].total > waiting[2].total


def test_rollout_does_not_foresee_the_scenario() -> None:
    # 15 rows/s that stay, and 15 rows/s that end after two minutes: alone, the first one wants a second replica and
    # the other one does not. While they are alike, the same is done on both: at least what each costs alone.
    stays = horizon()
    ends = replace(
        stays, offered=np.minimum(stays.offered, 15.0 * 120), deadline_rows=np.minimum(stays.deadline_rows, 15.0 * 120)
    )
    either = replace(
        stays,
        offered=np.concatenate([stays.offered, ends.offered]),
        deadline_rows=np.concatenate([stays.deadline_rows, ends.deadline_rows]),
        weights=np.array([0.5, 0.5]),
    )
    alone = [costs_of(each, 1, 2) for each in (stays, ends)]
    for found, one, other in zip(costs_of(either, 1, 2), *alone, strict=True):
        assert (one.total + other.total) / 2 <= found.total <= max(one.total, other.total)
        assert found.total == pytest.approx(found.replica_minutes + 10 * found.late_minutes + 1 * found.changes)


def test_stop_may_cost_more_than_it_saves() -> None:
    # One replica too many for 10 minutes costs 10 replica-minutes; a stop of 120 s makes rows late for 80 s and more.
    held = horizon(
        replicas=3,
        present_rows_per_s=30.0,
        change=ChangeCost(stop_s=120.0, start_s=0.0, settle_s=0.0, replica_minutes=1.0),
    )
    found = {cost.replicas: cost for cost in costs_of(held, 2, 3)}
    assert found[3].total == pytest.approx(30)
    assert found[2].late_minutes > 80 / 60
    assert found[2].total > found[3].total
    # Where late minutes are worth next to nothing it is, and to one replica at once: of 9,000 rows it serves 4,800 in
    # the 480 s when the job does not stop, and 4,200 wait, 7 minutes of one replica.
    cheap = {cost.replicas: cost for cost in costs_of(replace(held, late_minute_price=0.1), 1, 2, 3)}
    assert cheap[1].replica_minutes == pytest.approx(10 + 7)
    assert cheap[1].total < min(cheap[2].total, cheap[3].total)


def test_a_new_replica_does_not_count_until_it_has_started() -> None:
    # The first 30 s of the minute are served at 10 rows/s, which leaves 150 rows to wait for 15 s more: none is late.
    slow = horizon(change=ChangeCost(stop_s=0.0, start_s=30.0, settle_s=0.0, replica_minutes=0.0), backlog_rows=600.0)
    quick = horizon(change=ChangeCost(stop_s=0.0, start_s=0.0, settle_s=0.0, replica_minutes=0.0), backlog_rows=600.0)
    assert costs_of(slow, 2)[0].late_minutes > costs_of(quick, 2)[0].late_minutes


def test_change_cost_is_learned_from_the_last_changes() -> None:
    def order(at_s: float, *, nodes: int, first_tasks_s: float, settled_s: float) -> Order:
        placement = tuple("abcd"[:nodes])
        return Order(placement=placement, at_s=at_s, before=2).ended(
            at_s + settled_s, 11.0, arrived=True, first_tasks_s=first_tasks_s
        )

    before = change_cost((), 10.0, restarts=False, replica_minutes=1.0)
    # Batches went on within the trigger. New replicas needed 5, 15 and 6 s; a removal says nothing of that.
    orders = [
        order(400.0, nodes=3, first_tasks_s=5.0, settled_s=20.0),
        order(300.0, nodes=1, first_tasks_s=90.0, settled_s=40.0),
        order(200.0, nodes=4, first_tasks_s=15.0, settled_s=60.0),
        order(100.0, nodes=3, first_tasks_s=6.0, settled_s=50.0),
    ]
    found = change_cost(orders, 10.0, restarts=False, replica_minutes=1.0)
    assert (before.stop_s, before.start_s, before.settle_s) == (0.0, 8.0, 28.0)
    assert (found.stop_s, found.start_s, found.settle_s) == (0.0, 6.0, 45.0)
    # Nothing was measured yet, but a change is known to restart the query: the paper's two minutes.
    assert change_cost((), 10.0, restarts=True, replica_minutes=1.0).stop_s == 120.0


@pytest.mark.parametrize(
    ("stop_s", "bucket_s", "buckets"),
    [
        (0.0, 60.0, 6),
        (8.0, 20.0, 7),  # 6 + 3 * 0.4
        (120.0, 60.0, 12),  # 6 + 3 * 2
        (120.0, 5.0, 24),  # 6 + 3 * 24 would be 78 steps: no more than 24
    ],
)
def test_horizon_is_longer_if_a_change_stops_the_job(stop_s: float, bucket_s: float, buckets: int) -> None:
    assert buckets_ahead(ChangeCost(stop_s=stop_s, start_s=8.0, settle_s=0.0, replica_minutes=1.0), bucket_s) == buckets


@given(
    load=st.floats(0, 40),
    backlog=st.floats(0, 1e5),
    price=st.floats(1e-3, 1e6),
    stop_s=st.sampled_from([0.0, 30.0, 300.0]),
)
def test_costs_are_finite_and_not_negative(load: float, backlog: float, price: float, stop_s: float) -> None:
    instants_s = np.arange(11) * 60.0
    asked = horizon(
        offered=load * instants_s[None, :],
        deadline_rows=load * (instants_s - 40.0)[None, :],
        backlog_rows=backlog,
        late_minute_price=price,
        change=ChangeCost(stop_s=stop_s, start_s=8.0, settle_s=0.0, replica_minutes=1.0),
    )
    for cost in costs_of(asked, 1, 2, 3):
        parts = (cost.replica_minutes, cost.late_minutes, cost.changes)
        assert min(parts) >= 0
        assert math.isfinite(cost.total)
        assert cost.total == pytest.approx(parts[0] + price * parts[1] + parts[2])
