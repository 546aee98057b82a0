"""Algorithms 1-4 as the specification corrects them."""

from dataclasses import replace

import pytest
from edge import known, observe, operator, reading, workflow
from figures import figures

from gesscale.model.decision import Change, Reason, Verdict
from gesscale.model.order import Order
from gesscale.policies import policy_named
from gesscale.ports import ClusterState, Node
from gesscale.settings.analyze import AnalyzeSettings
from perfmodel import Reading


def policy(*operators, stabilization_window=None, **own):
    options = AnalyzeSettings(stabilization_window=stabilization_window, gesscale_2021=own)
    return policy_named("gesscale-2021", workflow(*operators), options)


def cluster(*placement, name="op", nodes=("hub", "near", "mid", "far", "edge"), **problems):
    return ClusterState(
        nodes={node: Node(name=node, problem=problems.get(node, "")) for node in nodes}, placements={name: placement}
    )


def decide(chosen, observation, state, knowledge=None):
    given = knowledge or known()
    analyses = chosen.analyze(observation, given)
    return analyses, chosen.plan(analyses, state, given)


def evidence(*rows):
    """Saturation readings (replicas, ND, rows/s)."""
    return known(
        readings={
            "op": tuple(
                Reading(replicas=n, nd_max_ms=nd, rows_per_s=rate, batch_rows=100.0 * n, weight=float(n))
                for n, nd, rate in rows
            )
        }
    )


# MST = 100 n - 0.2 ND, exactly: alpha 100, beta 1, gamma 0.2, on the placements that grow from hub.
EXACT = evidence((1, 0, 100), (2, 10, 198), (3, 50, 290), (4, 200, 360))

# The same, and five at 300 ms: 500 - 60.
EXACT_OF_FIVE = evidence((1, 0, 100), (2, 10, 198), (3, 50, 290), (4, 200, 360), (5, 300, 440))


def test_overload_adds_the_nearest_node_and_lists_rejections():
    seen = reading(("hub",), throughput=100, offered=150, saturated=1.0, backlog=400)
    analyses, plans = decide(policy(), observe(seen), cluster("hub"))
    assert analyses["op"].verdict is Verdict.MORE
    assert plans["op"].change == Change(add=("near",))
    assert plans["op"].placement == ("hub", "near")
    assert plans["op"].nd_max_ms == 10
    assert [(r.node, r.reason) for r in plans["op"].rejections] == [
        ("mid", Reason.FARTHER),
        ("far", Reason.FARTHER),
        ("edge", Reason.FARTHER),
    ]


def test_only_the_last_saturated_operator_of_a_chain_is_the_root():
    chain = (operator("first"), operator("second", upstream=("first",)))
    first = reading(name="first", throughput=100, offered=150, saturated=1.0, backlog=400)
    second = reading(name="second", throughput=90, offered=100, saturated=1.0, backlog=400)
    analyses = policy(*chain).analyze(observe(first, second), known())
    assert analyses["first"].reason is Reason.NOT_ROOT_OF_OVERLOAD
    assert analyses["first"].evidence  # held back or not, it worked at its limit
    assert analyses["second"].verdict is Verdict.MORE


def test_a_backlog_that_drains_in_time_is_no_overload():
    # MST 200 rows/s (saturated), IR 150: 500 rows of backlog are gone in 500 / 50 = 10 s.
    seen = reading(("hub", "near"), throughput=200, offered=150, saturated=1.0, backlog=500)
    in_time, _ = decide(policy(recovery_target=10), observe(seen), cluster("hub", "near"))
    too_late, _ = decide(policy(recovery_target=9.9), observe(seen), cluster("hub", "near"))
    assert in_time["op"].reason is Reason.DRAINING_BACKLOG
    assert too_late["op"].verdict is Verdict.MORE


def test_no_scale_out_if_delay_cancels_the_gain():
    # gamma 0.5 rows/s per ms: two at ND 10 sustain 195, three at ND 300 only 300 - 150 = 150, as was seen before.
    learned = evidence((1, 0, 100), (2, 10, 195), (2, 300, 50), (3, 300, 150), (3, 200, 200))
    seen = reading(("hub", "near"), throughput=180, offered=300, saturated=1.0, backlog=900)
    _, plans = decide(policy(), observe(seen), cluster("hub", "near", nodes=("hub", "near", "edge")), learned)
    assert (plans["op"].reason, plans["op"].change) == (Reason.DELAY_EATS_GAIN, None)
    assert [r.reason for r in plans["op"].rejections] == [Reason.DELAY_EATS_GAIN]


def test_calibrated_model_removes_several_far_replicas_at_once():
    # hub + near (ND 10) sustain 198, hub alone 100; 120 rows/s are needed: two replicas remain.
    placement = ("far", "hub", "mid", "near")
    seen = reading(placement, throughput=120)
    analyses, plans = decide(policy(), observe(seen), cluster(*placement), EXACT)
    assert analyses["op"].verdict is Verdict.FEWER
    assert plans["op"].change == Change(remove=("far", "mid"))
    assert plans["op"].placement == ("hub", "near")
    assert [(r.node, r.reason) for r in plans["op"].rejections] == [("near", Reason.FEWER_WOULD_NOT_SUSTAIN)]


def test_no_scale_down_below_the_threshold_of_headroom():
    # MST(2, 10 ms) = 198. DT >= 30 % needs a throughput of at most 138.6 (against the low end even less).
    placement = ("hub", "near")
    seen = reading(placement, throughput=150)
    analyses, _ = decide(policy(), observe(seen), cluster(*placement), EXACT)
    assert analyses["op"].reason is Reason.WITHIN_TARGET


def test_no_scale_down_when_one_fewer_would_not_sustain():
    # Slack at n = 2 is (198 - 110) / 198 = 44 %, but one replica sustains 100 < 110.
    placement = ("hub", "near")
    seen = reading(placement, throughput=110)
    _, plans = decide(policy(), observe(seen), cluster(*placement), EXACT)
    assert (plans["op"].reason, plans["op"].change) == (Reason.FEWER_WOULD_NOT_SUSTAIN, None)


@pytest.mark.parametrize(
    ("each", "threshold_pct", "removed", "kept"),
    [
        # 200 rows/s; MST 440 of five, 360 of four, 290 of three, 198 of two. DT of five is (440 - 200) / 440 = 55 %,
        # of four 44 % (by the low ends 51 and 40 %): too little for another removal.
        (True, 45, ("edge",), [("far", Reason.WITHIN_TARGET)]),
        # By the input alone three are enough: 290 >= 200 > 198.
        (False, 45, ("edge", "far"), [("mid", Reason.FEWER_WOULD_NOT_SUSTAIN)]),
        # Four have more than 30 %: the input decides.
        (True, 30, ("edge", "far"), [("mid", Reason.FEWER_WOULD_NOT_SUSTAIN)]),
    ],
)
def test_a_further_removal_needs_headroom_as_printed(each, threshold_pct, removed, kept):
    placement = ("edge", "far", "hub", "mid", "near")
    seen = reading(placement, throughput=200)
    chosen = policy(headroom_for_each_removal=each, headroom_threshold_pct=threshold_pct)
    _, plans = decide(chosen, observe(seen), cluster(*placement), EXACT_OF_FIVE)
    assert plans["op"].change == Change(remove=removed)
    assert [(r.node, r.reason) for r in plans["op"].rejections] == kept


def test_no_scale_down_with_a_backlog():
    # Two trigger intervals of 2 s bring 4 * 50 = 200 rows; 201 are a backlog.
    placement = ("hub", "near")
    calm = reading(placement, throughput=50, backlog=200)
    behind = reading(placement, throughput=50, backlog=201)
    assert decide(policy(), observe(calm), cluster(*placement), EXACT)[1]["op"].change is not None
    assert decide(policy(), observe(behind), cluster(*placement), EXACT)[1]["op"].change is None


@pytest.mark.parametrize(
    ("first", "pending"),
    [
        # Two trigger intervals of 2 s bring 4 * 100 = 400 rows; 5,000 are a backlog.
        (reading(name="first", throughput=100, backlog=5000), ()),
        (None, ()),  # what the operator before it does is unknown
        (reading(name="first", throughput=100), (Order(at_s=990.0, placement=("hub",)),)),
    ],
)
def test_starved_operator_is_not_underused(first, pending):
    chain = (operator("first"), operator("op", upstream=("first",)))
    placement = ("far", "hub", "mid", "near")
    seen = reading(placement, throughput=5)
    starved = replace(EXACT, orders={"first": pending} if pending else {})
    observed = observe(seen) if first is None else observe(first, seen)
    calm = observe(reading(name="first", throughput=100), seen)
    assert policy(*chain).analyze(observed, starved)["op"].reason is Reason.DRAINING_BACKLOG
    assert policy(*chain).analyze(calm, EXACT)["op"].verdict is Verdict.FEWER


def test_stabilization_window_blocks_analysis():
    seen = reading(("hub",), throughput=100, offered=150, saturated=1.0, backlog=400, at_s=1000.0)
    change = Order(at_s=700.0, placement=("hub",), downtime_s=5.0)
    learned = replace(EXACT, orders={"op": (change,)})
    held = policy(stabilization_window=300.5).analyze(observe(seen), learned)["op"]
    assert (held.reason, held.evidence) == (Reason.RECONFIGURING, ())
    assert figures(held.detail) == [300, 300.5]
    assert policy(stabilization_window=300.0).analyze(observe(seen), learned)["op"].verdict is Verdict.MORE


def test_unknown_delays_block_scale_in():
    placement = ("hub", "stranger")
    analyses, plans = decide(policy(), observe(reading(placement, throughput=5)), cluster(*placement), EXACT)
    assert (plans["op"].reason, plans["op"].change) == (Reason.DELAY_UNKNOWN, None)
    assert "monitor.hosts" in analyses["op"].detail


def test_reading_of_another_placement_blocks_plan():
    # Somebody added near a moment ago: the newest batch does not know it yet.
    seen = reading(("hub",), throughput=100, offered=150, saturated=1.0, backlog=400)
    _, plans = decide(policy(), observe(seen), cluster("hub", "near"))
    assert (plans["op"].reason, plans["op"].change) == (Reason.RECONFIGURING, None)
    assert "hub, near" in plans["op"].detail


def test_idle_query_is_planned_despite_old_placement():
    # far was given up while nothing ran: the newest batch is of the evening before.
    seen = reading(("far", "hub", "near"), throughput=0)
    _, plans = decide(policy(), observe(seen), cluster("hub", "near"), EXACT)
    assert plans["op"].change == Change(remove=("near",))
