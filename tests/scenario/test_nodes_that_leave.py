"""Nodes that leave and come back under a running stream: no row is lost, and the replicas work again soon."""

from dataclasses import replace

from complaint_world import changes, run
from spark_scenes import QUIET, Notes, equal_delays, one_operator

from gesscale.knowledge.memory import MemoryKnowledge
from gesscale.loop import ControlLoop
from gesscale.model.decision import Reason
from gesscale.model.order import Order
from gesscale.ports import Knowledge
from testbed.simulator.scene import NodeFailure, NodeLoss, Scene
from testbed.workloads.workload import Workload

#: One replica does 488 rows/s, three 1,460: a batch of 6,000 rows each takes 0.3 + 12 s, and 4 round trips of 5 ms.
PERIOD_S = 20.0
LOSS_S = 600.0
#: Reasons that would be false in these scenes: fewer replicas than the maximum, and all of them get rows.
FALSE_REASONS = {Reason.AT_MAX_REPLICAS, Reason.IDLE_REPLICA}


def scene_of(
    rates_by_minute: list[float], *failures: NodeFailure, nodes: int = 5, most: int = 4, **more: object
) -> Scene:
    """Return ``op`` with its driver on n0 and its replicas on n1, n2 and n3."""
    workload = Workload.of_rates("minutes", 60.0, rates_by_minute)
    initial = {"op": ("n1", "n2", "n3")}
    given = {"initial": initial, "failures": failures, "period_s": PERIOD_S, "min_period_s": PERIOD_S, **more}
    return one_operator(workload, delays=equal_delays(nodes, 5.0), most=most, **given)


def ordered(loop: ControlLoop) -> ControlLoop:
    """Let the loop know the order of the first replicas, as a driver has one."""
    order = Order(placement=("n1", "n2", "n3"), at_s=-600.0, before=0, reason="FirstPlacement", downtime_s=0.0)
    return replace(loop, knowledge=MemoryKnowledge(known=Knowledge(orders={"op": (order,)})))


def lost(node: str, until_s: float, loss: NodeLoss = NodeLoss.DOWN, from_s: float = LOSS_S) -> NodeFailure:
    return NodeFailure(node=node, from_s=from_s, until_s=until_s, loss=loss)


def serving(notes: Notes, at_s: float) -> int:
    return next(each.serving_replicas for each in reversed(notes.samples["op"]) if each.t_s <= at_s)


def rows_done(notes: Notes) -> float:
    return sum(each.rows for each in notes.completions)


def test_a_drain_during_a_scale_up_ends_with_all_replicas() -> None:
    # From 600 s on 1,300 rows/s need three replicas; the new ones start on n1 and n2, the only other nodes. n2 is
    # drained 15 s after the order, while its executor starts, and is back 60 s later.
    rates = [300.0] * 10 + [1300.0] * 30
    calm = scene_of(rates, nodes=3, most=3, initial={"op": ("n0",)}, rescale_timeout_s=60.0)
    slow = replace(QUIET, start_s=30.0, trigger_s=2.0)
    growth, *_ = changes(run(calm, physics=slow), 600.0)
    assert growth.plan.placement == ("n0", "n1", "n2")
    drained = lost("n2", growth.at_s + 75, NodeLoss.DRAINED, growth.at_s + 15)
    notes = run(replace(calm, failures=(drained,)), physics=slow)
    assert serving(notes, growth.at_s + 180) == 3
    assert serving(notes, 2000) == 3
    reasons = {each.plan.reason for each in notes.decisions if len(each.plan.placement) < 3}
    assert not reasons & FALSE_REASONS
    assert rows_done(notes) == sum(rates) * 60


def test_a_start_that_takes_longer_than_the_timeout_is_not_idleness() -> None:
    # An image is pulled for 150 s, the rescale timeout is 60 s.
    rates = [300.0] * 10 + [1300.0] * 30
    scene = scene_of(rates, nodes=3, most=3, initial={"op": ("n0",)}, rescale_timeout_s=60.0)
    notes = run(scene, physics=replace(QUIET, start_s=150.0, trigger_s=2.0))
    (growth, *_) = changes(notes)
    assert serving(notes, growth.at_s + 180) == 3
    reasons = {each.plan.reason for each in notes.decisions if len(each.plan.placement) < 3}
    assert not reasons & FALSE_REASONS
    assert rows_done(notes) == sum(rates) * 60
