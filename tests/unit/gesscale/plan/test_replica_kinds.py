"""Replicas by kind, and those that are missing."""

from dataclasses import replace

import pytest
from edge import batches, known
from recorded_steps import LIVE, T0_S, decided, ordered

from gesscale.model.cycles import working_nodes
from gesscale.plan.replica_kinds import replica_kinds
from gesscale.ports import ClusterState

SETTLED = ordered(downtime_s=1.0)  # of hub, mid and near


def seen(*, ended_ago_s=0.0, rows=10, workers=("hub",)):
    made = decided(T0_S)
    done = tuple(
        replace(each, workers=workers) for each in batches(LIVE, at_s=T0_S - ended_ago_s, rows=rows, seconds=2.0)
    )
    return replace(made, analysis=replace(made.analysis, reading=replace(made.analysis.reading, batches=done)))


def test_ordered_running_and_working_replicas():
    found = replica_kinds(seen(), ordered(), ClusterState(placements={"op": LIVE}))
    assert (found.ordered, found.running, found.working) == (("hub", "mid", "near"), LIVE, ("hub",))
    found = replica_kinds(seen(), known(), ClusterState(placements={"op": ("near",)}))
    assert (found.ordered, found.running, found.working) == (None, ("near",), ())


def test_without_the_cluster_the_driver_reports_running_replicas():
    assert replica_kinds(seen(), known(), ClusterState()).running == LIVE
    found = replica_kinds(seen(), known(), ClusterState(problem="it cannot be read"))
    assert (found.running, found.working) == (None, None)


@pytest.mark.parametrize(
    ("changes", "working"),
    [
        ({}, {"hub"}),
        ({"workers": None}, set(LIVE)),
        ({"rows": 0}, None),
        ({"ended_ago_s": 61.0}, None),  # older than a minute and three cycles of 2 s
    ],
)
def test_a_working_replica_ran_a_task_in_a_recent_batch_with_rows(changes, working):
    assert working_nodes(seen(**changes).analysis.reading.batches, T0_S) == working


@pytest.mark.parametrize(
    ("orders", "left", "starting", "missing"),
    [
        (SETTLED, {}, (), {"mid"}),
        (SETTLED, {}, ("mid",), {"mid"}),
        (ordered(), {}, ("mid",), set()),  # the order is being applied
        (ordered(), {"mid": "cordoned"}, (), {"mid"}),
        (SETTLED, {"mid": "cordoned"}, (), {"mid"}),
        (known(), {}, (), set()),
    ],
)
def test_a_replica_is_missing_after_its_order_has_settled_or_its_node_has_left(orders, left, starting, missing):
    cluster = ClusterState(placements={"op": LIVE}, left={"op": left}, starting={"op": starting})
    assert set(replica_kinds(seen(), orders, cluster).missing) == missing
