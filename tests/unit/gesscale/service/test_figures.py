"""The figures of one operator, known or unknown."""

from edge import known, operator
from recorded_steps import LIVE, T0_S, decided, ordered

from gesscale.model.decision import Reason, Verdict
from gesscale.model.order import Order
from gesscale.plan.replica_kinds import ReplicaKinds
from gesscale.service.metrics import figures_of

THERE = ReplicaKinds(ordered=("hub", "mid", "near"), running=LIVE, working=("hub",))


def test_figures_are_there_or_absent():
    figures = figures_of(decided(T0_S + 60), operator(), ordered(), THERE, T0_S + 60)
    assert (figures.ordered_replicas, figures.running_replicas, figures.working_replicas) == (3, 2, 1)
    assert figures.order_pending_s == 60.0
    assert (figures.nd_max_s, figures.model) == (0.01, None)
    blind = decided(reason=Reason.METRICS_MISSING, verdict=Verdict.UNKNOWN, seen=False, placement=())
    figures = figures_of(blind, operator(), known(), ReplicaKinds(), T0_S)
    assert (figures.ordered_replicas, figures.running_replicas, figures.working_replicas) == (None, None, None)
    assert figures.mst is None


def test_growth_is_blocked_where_a_replica_is_needed_and_none_can_be_added():
    def blocked_by(**fields):
        return figures_of(decided(**fields), operator(), known(), THERE, T0_S).growth_blocked_by

    assert blocked_by(reason=Reason.DELAY_EATS_GAIN, verdict=Verdict.MORE) is Reason.DELAY_EATS_GAIN
    assert blocked_by(reason=Reason.AT_MAX_REPLICAS, verdict=Verdict.MORE) is Reason.AT_MAX_REPLICAS
    assert blocked_by(reason=Reason.AT_MIN_REPLICAS, verdict=Verdict.FEWER) is None
    assert blocked_by(reason=Reason.COOLING_DOWN, verdict=Verdict.MORE) is None
    assert blocked_by(reason=Reason.OVERLOADED, verdict=Verdict.MORE, before=("hub",)) is None


def test_changes_of_the_last_hour_and_those_undone():
    def order(minutes_ago, placement, before):
        return Order(at_s=T0_S - 60 * minutes_ago, placement=placement, before=before, downtime_s=5.0)

    # Newest first: a replica is removed 8 minutes after another was added; the oldest is more than an hour ago.
    orders = (order(2, ("hub", "near"), 3), order(10, ("hub", "mid", "near"), 2), order(70, ("hub", "near"), 1))
    figures = figures_of(decided(), operator(), known(orders={"op": orders}), THERE, T0_S)
    assert (figures.changes_last_hour, figures.undone_changes_last_hour) == (2, 1)
    figures = figures_of(decided(), operator(), known(), THERE, T0_S)
    assert (figures.changes_last_hour, figures.undone_changes_last_hour) == (0, 0)
