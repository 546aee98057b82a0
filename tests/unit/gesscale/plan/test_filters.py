"""Plans without a change have the figures of the present placement."""

import pytest
from edge import reading

from gesscale.model.decision import Analysis, Reason, Verdict
from gesscale.plan.node_ranking import keep_placement
from gesscale.ports import ClusterState
from perfmodel import Estimate

MST = Estimate(low=90.0, mid=100.0, high=110.0)


def stays(seen, live):
    """Return the plan to stay, where the newest batch ran on some nodes and the replicas are on others."""
    analysis = Analysis(
        operator="op",
        verdict=Verdict.SAME,
        reason=Reason.RECONFIGURING,
        reading=None if seen is None else reading(seen),
        mst=MST,
        nd_max_ms=40.0,
    )
    return keep_placement(analysis, ClusterState(placements={"op": live}))


@pytest.mark.parametrize("seen", [("hub", "near"), None])
def test_a_plan_to_stay_has_the_figures_of_the_replicas_that_run(seen):
    plan = stays(seen, ("near", "hub"))
    assert (plan.placement, plan.mst, plan.nd_max_ms) == (("hub", "near"), MST, 40.0)


def test_no_first_tasks_while_the_newest_batch_ran_elsewhere():
    plan = stays(("hub",), ("hub", "near"))
    assert (plan.placement, plan.mst, plan.nd_max_ms) == (("hub", "near"), None, None)
