"""What users of other scalers saw when the load was steady or gone: no rest, no reason: docs/evidence/complaints.md."""

from dataclasses import replace

import pytest
from complaint_world import changes, lasting, run, under, undone_after
from faulty_ports import Fault
from figures import figures
from spark_scenes import QUIET, drawn_delays
from staircase import climb

from gesscale.model.decision import Decision, Reason
from testbed.arena.case import Case
from testbed.arena.experiments.experiment import read_experiment
from testbed.arena.runner import run_case
from testbed.simulator.flink.physics import FlinkPhysics

#: An hour at rest begins 20 minutes after the start; the load lasts as long.
RESTS_FROM_S, RESTS_UNTIL_S = 1200.0, 4800.0

# Rows wait after each change: on Spark the first batch of a new replica takes 20 to 30 s longer, on Flink the job stops
# for 30 s. The speeds vary by 5 %.
COSTLY = {
    "spark": replace(QUIET, batch_noise=0.05, task_noise=0.05, cold_min_s=20.0, cold_max_s=30.0),
    "flink": FlinkPhysics(service_s=1 / 488, row_bytes=100.0, noise=0.05, restart_s=30.0, restart_spread=0.1),
}


@pytest.mark.parametrize("replicas", [0.4, 1.05, 1.6, 2.5, 3.05, 3.95, 4.6])
@pytest.mark.parametrize("engine", COSTLY)
def test_a_steady_load_comes_to_rest_although_each_change_costs(engine: str, replicas: float) -> None:
    """numaflow#1529: autoscaling "unable to stabilize", each added pod rebalances, "a spiraling downfall effect"."""
    # One replica does 488 rows/s, on either engine.
    notes = run(under([488 * replicas] * round(RESTS_UNTIL_S / 60)), physics=COSTLY[engine])
    assert len(changes(notes, RESTS_FROM_S, RESTS_UNTIL_S)) <= 1
    assert undone_after(notes.decisions, RESTS_FROM_S) == 0


@pytest.mark.parametrize("share", [0.15, 0.55, 0.7, 0.8, 0.9])
@pytest.mark.parametrize("engine", COSTLY)
def test_a_steady_load_comes_to_rest_with_the_noise_of_recorded_runs(engine: str, share: float) -> None:
    """The same with the arena's constants, at shares of what eight replicas do."""
    decisions: list[Decision] = []
    league = read_experiment("league").changed({"variants": {}, "length": RESTS_UNTIL_S})
    case = Case(workload="constant", seed=100, policy="gesscale")
    run_case(league.changed({"engine": engine, "peak_share": share}), case, on_decisions=decisions.extend)
    at_rest = [each for each in decisions if each.acted and RESTS_FROM_S <= each.at_s < RESTS_UNTIL_S]
    assert len(at_rest) <= 1
    assert undone_after(decisions, RESTS_FROM_S) == 0


@pytest.mark.parametrize("rows_per_s", [550, 650, 750, 900])
def test_replicas_on_equal_nodes_stay_where_they_are(rows_per_s: int) -> None:
    """karpenter#2388: a node was replaced by the exact same kind, pods were evicted 6,000 times a day."""
    assert changes(run(under([rows_per_s] * 80, initial={"op": ("n2", "n4")}))) == []


def test_a_move_to_better_nodes_comes_once() -> None:
    """karpenter#2388: "should reach a stable state" while nothing else changes."""
    # Two replicas do 926 rows/s there, and more on nearer nodes.
    scene = under([950] * 80, delays=drawn_delays(6, 3, 300.0), initial={"op": ("n3", "n5")})
    (move,) = changes(run(scene))
    assert move.plan.reason is Reason.BETTER_NODES


@pytest.mark.parametrize("rest", [300, 150, 20, 0])
def test_a_small_load_keeps_its_last_replica(rest: int) -> None:
    """ray#2317: idle nodes were killed and started again in turns."""
    (only,) = changes(run(under([900] * 8 + [rest] * 80, initial={"op": ("n0", "n1")})))
    assert (only.plan.reason, len(only.plan.placement)) == (Reason.UNDERUSED, 1)


def test_each_step_without_a_removal_has_its_reason() -> None:
    """ray#27986: it is hard to find out why the autoscaler "doesn't scale down a certain node"."""
    # 1200 rows/s need three; 200 rows/s from 600 s on need one, but until 1500 s the map is stale.
    notes = run(under([1200] * 10 + [200] * 20), faults=lasting(Fault.MAP_STALE, 300, 1500))
    assert all(each.plan.detail for each in notes.decisions)
    kept = [each for each in notes.decisions if 780 <= each.at_s < 1500]
    assert {each.plan.reason for each in kept} == {Reason.LATENCY_MAP_STALE}
    for each in kept:
        one = next(candidate for candidate in each.plan.candidates if candidate.replicas == 1)
        assert one.mst.mid > 200
        assert one.late_s == 0
        assert figures(each.plan.detail)[-1] == 2  # hours since the measurement
    assert [len(each.plan.placement) for each in changes(notes, 780)] == [1]


def test_long_stops_lead_to_fewer_changes() -> None:
    """flink-kubernetes-operator#711: the time to restart with its state was set by hand, wrong where it is long."""
    # Nine steps of load on Flink, where each change stops the job; gesscale learns the stop from its own changes.
    short, long = (
        climb("gesscale", "flink", {"operator": {"restart": restart}}, "steps:3").metrics["reconfigurations"]
        for restart in ("10s", "240s")
    )
    assert isinstance(short, int | float)
    assert isinstance(long, int | float)
    assert long <= short / 2
