"""What the rivals that know the price observe: load, capacity, and when nothing may change."""

from dataclasses import replace

from edge import known
from priced_situations import analysed

from gesscale.model.decision import Reason
from gesscale.model.order import Order
from testbed.baselines.quantile import QuantileMemo


def learned(offered: float, before: dict[int, float], **seen: object) -> dict[int, float]:
    past = QuantileMemo(policy="quantile", at_s=980.0, step_s=20.0, capacities=before)
    found = analysed("quantile", offered, known(memos={"op": past.model_dump_json()}), **seen)
    return dict(QuantileMemo.model_validate_json(found.memo or "").capacities)


def test_a_backlog_shows_the_capacity_and_is_averaged_with_the_past():
    # 100 rows/s while rows wait: the first time all of it, then half of it.
    assert learned(150.0, {}, backlog=5000.0) == {2: 100.0}
    assert learned(150.0, {2: 120.0}, backlog=5000.0) == {2: 110.0}


def test_without_a_backlog_it_is_a_lower_bound():
    assert learned(100.0, {2: 120.0}) == {2: 120.0}
    assert learned(100.0, {2: 80.0}) == {2: 100.0}
    # Four carry 200, so half as many would carry 100: nothing new.
    assert learned(100.0, {4: 200.0}) == {4: 200.0}


def test_new_replicas_are_cold_for_a_minute():
    order = Order(at_s=970.0, placement=("hub", "near"), downtime_s=1.0, settled_at_s=975.0)
    past = QuantileMemo(policy="quantile", at_s=980.0, step_s=20.0)
    memory = replace(known(memos={"op": past.model_dump_json()}), orders={"op": (order,)})
    found = analysed("quantile", 100.0, memory, backlog=5000.0)
    assert QuantileMemo.model_validate_json(found.memo or "").capacities == {}


def test_an_unknown_load_changes_nothing():
    assert (found := analysed("quantile", None)).desired_replicas is None
    assert found.reason is Reason.METRICS_MISSING


def test_no_replica_leaves_while_rows_wait():
    # 5,000 rows within 60 s and 150 rows/s: 233 rows/s, more than the 100 of one replica.
    found = analysed("quantile", 150.0, backlog=5000.0)
    assert found.desired_replicas is not None
    assert found.desired_replicas >= 2
