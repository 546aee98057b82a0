"""The figures of one operator, known or unknown."""

from dataclasses import replace

import pytest
from edge import known, operator
from recorded_steps import LIVE, T0_S, decided, ordered

from gesscale.model.decision import Reason, Verdict
from gesscale.service.metrics import figures_of
from perfmodel import Reading, law_named


def test_figures_are_there_or_absent():
    figures = figures_of(decided(T0_S + 60), operator(), ordered(), LIVE, T0_S + 60)
    assert (figures.current_replicas, figures.desired_replicas, figures.order_pending_s) == (2, 3, 60.0)
    assert (figures.nd_max_s, figures.model_error_share) == (0.01, None)
    blind = decided(reason=Reason.METRICS_MISSING, verdict=Verdict.UNKNOWN, seen=False, placement=())
    figures = figures_of(blind, operator(), known(), None, T0_S)
    assert (figures.current_replicas, figures.desired_replicas, figures.mst) == (None, None, None)


def test_the_model_error_is_that_of_the_newest_readings():
    # alpha 300 rows/s fits these exactly (Eq. 1 with beta 1 and without delay: 300 n); half of that is 100 % off.
    exact = tuple(Reading(replicas=n, nd_max_ms=0.0, rows_per_s=300.0 * n, at_s=T0_S - n) for n in (1, 2, 3, 4, 5))
    decision = decided(model=law_named("gesscale").fit(exact))
    share = figures_of(decision, operator(), known(readings={"op": exact}), LIVE, T0_S).model_error_share
    assert share == pytest.approx(0.0, abs=0.01)
    halved = tuple(replace(item, rows_per_s=item.rows_per_s / 2) for item in exact)
    share = figures_of(decision, operator(), known(readings={"op": halved}), LIVE, T0_S).model_error_share
    assert share == pytest.approx(1.0, abs=0.02)
