"""The figures of one operator, known or unknown."""

from edge import known, operator
from model_summaries import eq1_summary
from recorded_steps import LIVE, T0_S, decided, ordered

from gesscale.model.decision import Reason, Verdict
from gesscale.service.metrics import figures_of


def test_figures_are_there_or_absent():
    figures = figures_of(decided(T0_S + 60), operator(), ordered(), LIVE, T0_S + 60)
    assert (figures.current_replicas, figures.desired_replicas, figures.order_pending_s) == (2, 3, 60.0)
    assert (figures.nd_max_s, figures.model_error_share) == (0.01, None)
    blind = decided(reason=Reason.METRICS_MISSING, verdict=Verdict.UNKNOWN, seen=False, placement=())
    figures = figures_of(blind, operator(), known(), None, T0_S)
    assert (figures.current_replicas, figures.desired_replicas, figures.mst) == (None, None, None)


def test_the_model_error_is_that_of_held_out_placements():
    for held_out_pct, share in ((4.0, 0.04), (None, None)):
        decision = decided(model=eq1_summary(held_out_error_pct=held_out_pct))
        figures = figures_of(decision, operator(), known(), LIVE, T0_S)
        assert figures.model_error_share == share
