"""The sizing rule: replicas of 100 rows/s, and rows that may wait 45 s."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gesscale.analyze.changes import ChangeTimes
from gesscale.model.decision import Reason, Verdict
from gesscale.policies.gesscale.analysis.limits import change_reason
from gesscale.policies.gesscale.analysis.sizing import LoadAhead, Size, SizingRule, TooFew, Why
from gesscale.policies.gesscale.reasons import reason_to_stay

SIZES = tuple(Size(n, 100.0 * n, 95.0 * n) for n in range(1, 9))


def rule(
    present: int, load: float, *, high: float | None = None, past: float | None = None, **given: Any
) -> SizingRule:
    """Return the rule for replicas under a load that was the same for an hour."""
    return SizingRule(
        present=SIZES[present - 1],
        sizes=given.pop("sizes", SIZES),
        max_replicas=given.pop("max_replicas", 8),
        load=LoadAhead(
            expected=load,
            high=load if high is None else high,
            past=[load if past is None else past] * 60,
            backlog_rows=given.pop("backlog", 0.0),
            bucket_s=60.0,
        ),
        change=given.pop("change", ChangeTimes(start_s=10.0)),
        allowed_s=45.0,
        step_s=20.0,
        change_price=given.pop("change_price", 2.0),
        late_minute_price=10.0,
        **given,
    )


def chosen(one: SizingRule) -> tuple[int, Why]:
    choice = one.choose()
    return choice.size.replicas, choice.why


@pytest.mark.parametrize(
    ("load", "present", "replicas", "why"),
    [
        (250, 3, 3, Why.NO_SMALLER),  # two carry 190 to 200
        (185, 3, 2, Why.SURPLUS),
        (205, 3, 3, Why.NO_SMALLER),  # above the middle of two
        (100, 8, 2, Why.SURPLUS),  # one carries 95 to 100
        (900, 8, 8, Why.LARGEST),
    ],
)
def test_the_fewest_that_carry_the_load_stay(load: float, present: int, replicas: int, why: Why) -> None:
    assert chosen(rule(present, load)) == (replicas, why)


@pytest.mark.parametrize(("backlog", "why"), [(0, Why.CAN_WAIT), (2400, Why.CAN_WAIT), (2600, Why.NEEDED)])
def test_an_addition_waits_while_rows_stay_within_the_objective(backlog: float, why: Why) -> None:
    # 120 rows/s on one: in 30 s, a step and a start, 600 more wait; 0.7 x 45 s x 120 = 3,780 may. (In a bucket 1,200.)
    backlog += 750
    assert chosen(rule(1, 120, backlog=backlog))[1] is why


def test_a_jump_is_answered_with_all_replicas_that_it_needs() -> None:
    # 350 rows/s on one, 4,000 wait. Four begin after 10 s, in which 2,500 more wait; in the other 50 s they process
    # 2,500 more than come: 4,000, which wait 10 s.
    assert chosen(rule(1, 350, backlog=20_000)) == (5, Why.NEEDED)
    one = rule(1, 350, backlog=4000)
    assert one.wait_s(SIZES[3]) == pytest.approx(10.0)
    assert chosen(rule(1, 350, backlog=9000)) == (4, Why.NEEDED)


def test_a_higher_load_is_expected_to_end_within_the_objective() -> None:
    # Two carry 190. At 290, 6,000 rows more than two process would wait after the bucket, 30 s of their work.
    assert rule(2, 190, high=290).wait_s(SIZES[1]) == pytest.approx(27.0)
    assert chosen(rule(2, 190, high=290))[1] is Why.NO_SMALLER
    assert chosen(rule(2, 190, high=400, backlog=7000))[1] is Why.NEEDED


@pytest.mark.parametrize(("price", "buckets"), [(0.0, 0), (1.0, 0), (2.0, 1), (4.0, 3), (10.0, 9)])
def test_a_surplus_stays_until_it_has_cost_as_much_as_a_change(price: float, buckets: int) -> None:
    # One replica for a minute costs 1; the next bucket counts. Before, two were needed.
    for calm, why in ((buckets, Why.SURPLUS), (buckets - 1, Why.SURPLUS_STAYS)):
        if calm < 0:
            continue
        one = rule(2, 80, change_price=price)
        past = [150.0] * 60 + [80.0] * calm
        assert chosen(replace(one, load=one.load._replace(past=past)))[1] is why


UNSURE = (*(size._replace(low=0.8 * size.mid) for size in SIZES[:7]), SIZES[7])


def test_a_size_that_probably_suffices_is_tried_one_step_down() -> None:
    # Seven carry 560 to 700: 630 is halfway.
    assert chosen(rule(8, 590, sizes=UNSURE)) == (7, Why.TRIAL)
    assert chosen(rule(8, 550, sizes=UNSURE)) == (7, Why.SURPLUS)  # six may suffice, but seven do surely
    assert chosen(rule(8, 640, sizes=UNSURE)) == (8, Why.NO_SMALLER)


@pytest.mark.parametrize(("calm", "why"), [(3, Why.TRIAL), (2, Why.NO_SMALLER)])
def test_a_trial_waits_until_the_surplus_has_paid_for_a_change_there_and_back(calm: int, why: Why) -> None:
    # Two changes cost 4; one replica costs 1 a minute, and the next bucket of a minute counts.
    one = rule(8, 590, sizes=UNSURE)
    past = [750.0] * 60 + [590.0] * calm
    assert chosen(replace(one, load=one.load._replace(past=past)))[1] is why


@pytest.mark.parametrize(("low", "why"), [(362.0, Why.TRIAL), (361.0, Why.NO_SMALLER)])
def test_a_trial_risks_no_late_row(low: float, why: Why) -> None:
    # Replicas are back after two steps of 20 s and a start of 10 s. By then (590 - low) x 50 rows wait, and
    # 0.7 x 45 x low may: low is at least 29,500 / 81.5 = 361.96. Halfway to 830 is more than 590.
    sizes = (*SIZES[:5], Size(7, 830.0, low), SIZES[7]._replace(mid=850.0))
    assert chosen(rule(8, 590, sizes=sizes))[1] is why


@pytest.mark.parametrize(("backlog", "replicas"), [(0.0, 2), (3890.0, 2), (3910.0, 6)])
def test_a_smaller_addition_comes_first_where_rows_can_wait(backlog: float, replicas: int) -> None:
    # Three to five carry less than two. Two cost 4 a minute less than six: a change of 2 is paid after 30 s, and what
    # is ordered then serves 30 s later. 10 s at 120 rows/s too few and 60 s at 20 leave 2,400 rows; 0.7 x 45 x 200 may
    # wait.
    far = (*SIZES[:2], *SIZES[5:])
    assert chosen(rule(1, 220, sizes=far, backlog=backlog)) == (replicas, Why.NEEDED)


def test_nothing_is_tried_where_a_change_stops_the_job_or_that_was_too_few() -> None:
    assert chosen(rule(8, 590, sizes=UNSURE, change=ChangeTimes(10.0, 120.0)))[1] is not Why.TRIAL
    assert chosen(rule(8, 590, sizes=UNSURE, too_few=(TooFew(7, 600.0),)))[1] is Why.NO_SMALLER


def test_cheaper_nodes_replace_dear_ones_once_they_have_saved_a_change() -> None:
    # Two replicas on nodes of price 0.5 carry what one on a node of price 3 does: 2 a minute are saved, and a change
    # costs 2, so that the next bucket of a minute pays it.
    dear = Size(1, 200.0, 190.0, unit_price=3.0)
    cheap = tuple(Size(n, 100.0 * n, 95.0 * n, unit_price=0.5) for n in range(1, 9))
    one = replace(rule(1, 180), present=dear, sizes=(*cheap[:2], dear))
    assert one.choose() == (cheap[1], Why.SURPLUS)
    assert change_reason(dear, cheap[1], Verdict.FEWER) is Reason.BETTER_NODES
    # At 2.5 a minute only 1.5 are saved: the minutes before count too, and there was none.
    fair = dear._replace(unit_price=2.5)
    short = replace(one, present=fair, load=one.load._replace(past=[]))
    assert short.choose() == (fair, Why.SURPLUS_STAYS)
    assert replace(short, load=one.load).choose() == (cheap[1], Why.SURPLUS)


def test_a_large_surplus_goes_at_once() -> None:
    # Seven replicas for a minute cost more than a change; before, eight were needed.
    assert chosen(rule(8, 80, past=800)) == (1, Why.SURPLUS)


def test_what_was_too_few_is_not_tried_again_for_such_a_load() -> None:
    few = (TooFew(2, 180.0),)
    assert chosen(rule(3, 175, too_few=few)) == (3, Why.SMALLER_WAS_TOO_FEW)  # 0.95 x 180 = 171
    assert chosen(rule(3, 165, too_few=few)) == (2, Why.SURPLUS)
    # Four that are far apart carry less than two, so they are no choice, and show nothing about two.
    far = (*SIZES[:2], *SIZES[4:])
    assert chosen(rule(5, 175, sizes=far, too_few=(TooFew(4, 180.0),))) == (2, Why.SURPLUS)
    # Others were added to two at 60 rows/s, for a backlog: two carry far more.
    assert chosen(rule(3, 100, too_few=(TooFew(2, 60.0),))) == (2, Why.SURPLUS)


def test_a_backlog_that_fewer_would_not_process_in_time_keeps_replicas() -> None:
    # One would need 60 s for it, its low end more.
    assert chosen(rule(4, 50, backlog=6000))[0] == 2


def test_the_most_replicas_are_not_short_while_they_carry_the_expected_load() -> None:
    # At 1,500 rows/s rows would wait 52 s, but 790 are expected, and none wait.
    assert chosen(rule(8, 790, high=1500)) == (8, Why.NO_SMALLER)
    assert chosen(rule(8, 790, high=1500, backlog=30_000)) == (8, Why.LARGEST)


def test_limits_are_kept() -> None:
    assert chosen(rule(2, 50, sizes=SIZES[2:])) == (3, Why.NEEDED)
    assert chosen(rule(8, 790, sizes=SIZES[:4], max_replicas=4)) == (4, Why.NEEDED)


def test_fewer_that_carry_more_replace_far_ones() -> None:
    # Four far apart do 60 rows/s, one alone does 150.
    far = Size(4, 60.0, 55.0)
    one = replace(rule(4, 200, backlog=9000), present=far, sizes=(Size(1, 150.0, 140.0),))
    assert chosen(one) == (1, Why.NEEDED)


def test_a_stop_of_the_job_is_worth_replicas() -> None:
    # A stop of 120 s makes rows late for 75 s and until 50 x 120 rows are processed: more than one replica for an hour.
    stops = ChangeTimes(start_s=10.0, stop_s=120.0)
    assert chosen(rule(2, 50)) == (1, Why.SURPLUS)
    one = rule(2, 50, change=stops)
    recent = replace(one, load=one.load._replace(past=[50.0] * 10))
    assert chosen(recent) == (2, Why.SURPLUS_STAYS)
    # And more are added at once, as the load may rise further until one more has cost as much as a stop.
    once = rule(1, 190, high=200, backlog=4000)
    assert chosen(replace(once, change=stops))[0] > chosen(once)[0]


def test_a_size_of_which_nothing_is_certain_can_be_chosen() -> None:
    # Where a change stops the job, it is worth what the low end drains; here that is nothing.
    unsure = (*SIZES[:4], *(size._replace(low=0.0) for size in SIZES[4:]))
    choice = rule(4, 450, sizes=unsure, backlog=30_000, change=ChangeTimes(start_s=10.0, stop_s=120.0)).choose()
    assert choice.why is Why.NEEDED
    assert choice.size.replicas > 4


@given(
    load=st.floats(0, 2000),
    spread=st.floats(0, 500),
    backlog=st.floats(0, 1e6),
    present=st.integers(1, 8),
    stop_s=st.sampled_from([0.0, 120.0]),
)
def test_no_removal_leaves_less_than_the_load(
    load: float, spread: float, backlog: float, present: int, stop_s: float
) -> None:
    one = rule(present, load, high=load + spread, backlog=backlog, change=ChangeTimes(10.0, stop_s))
    size, why = one.choose()
    if size.replicas < present:
        assert why in {Why.SURPLUS, Why.TRIAL}
        assert (size.low if why is Why.SURPLUS else size.mid) >= load
    # After a change the same figures ask for no other one, if the job does not stop for it.
    if not stop_s and size.replicas >= present:
        assert replace(one, present=size).choose().size.replicas >= present


@given(
    present=st.integers(1, 8),
    most=st.integers(1, 8),
    load=st.floats(1, 1200),
    backlog=st.floats(0, 20_000),
    ceiling=st.floats(50, 800),
)
def test_rows_wait_for_cheapness_only_if_another_number_carries_more(
    present: int, most: int, load: float, backlog: float, ceiling: float
) -> None:
    flat = tuple(Size(n, min(100.0 * n, ceiling), min(95.0 * n, ceiling)) for n in range(1, 9))
    sizes = tuple(size for size in flat[:most] if size.replicas == 1 or size.mid > flat[size.replicas - 2].mid)
    one = replace(rule(present, load, backlog=backlog, sizes=sizes), present=flat[present - 1])
    choice = one.choose()
    if reason_to_stay(one, choice.why) is Reason.CHEAPER_TO_WAIT:
        assert max(size.mid for size in sizes) > one.present.mid
