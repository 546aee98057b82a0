"""The autoscaler of the Flink Kubernetes operator: sizes, bounds, windows, delayed scale-in."""

import json
import math

import pytest
from edge import known, observe, operator, reading, workflow

from gesscale.model.decision import Reason, Verdict
from gesscale.model.order import Order
from gesscale.policies import policy_named
from gesscale.settings.analyze import AnalyzeSettings
from testbed.baselines.flink_autoscaler import Evaluated, FlinkAutoscalerMemo, FlinkAutoscalerSettings

NODES = tuple(f"n{index}" for index in range(40))
CHAIN = workflow(operator("op", max_replicas=40), operator("next", upstream=("op",), max_replicas=40))
ALONE = workflow(operator("op", max_replicas=40))


def memo(*samples, at_s=1000.0, **kept):
    """Return the memo of an operator whose metrics are (minutes ago, rows/s, busy share, lag)."""
    placed = tuple((at_s - 60.0 * ago, rate, busy, lag) for ago, rate, busy, lag in samples)
    return FlinkAutoscalerMemo(policy="flink-autoscaler", at_s=at_s - 60.0, samples=placed, **kept).model_dump_json()


def decided(seen, memos, *, flow=ALONE, orders=None, **settings):
    group = FlinkAutoscalerSettings.model_validate(settings)
    policy = policy_named("flink-autoscaler", flow, AnalyzeSettings(flink_autoscaler=group))
    return policy.analyze(observe(*seen), known(memos=memos, orders=orders or {}))


def sized(replicas, rate, busy, *, lag=0.0, earlier_lag=None, **more):
    """Return the decision after 15 min of the same metrics, with a lag that may have grown."""
    before = memo((15, rate, busy, lag if earlier_lag is None else earlier_lag), **more.pop("kept", {}))
    seen = reading(NODES[:replicas], throughput=rate, busy_share=busy, backlog=lag)
    return decided([seen], {"op": before}, **more)["op"]


def test_capacity_is_for_the_load_the_backlog_and_a_restart():
    found = Evaluated(true_rate=0.0, target_rate=700.0, catch_up_rate=50.0)
    settings = FlinkAutoscalerSettings()
    # 50 + 700 x 300 / 1800 + 700 / 0.7 = 50 + 116.7 + 1000 = 1166.7, rounded
    assert found.capacity(0.7, settings, with_restart=True) == 1167
    assert found.capacity(0.7, settings, with_restart=False) == 1050
    assert found.capacity(1.3, settings, with_restart=False) == 750  # no more than 1
    assert found.capacity(0.0, settings, with_restart=True) == math.inf
    ignoring = FlinkAutoscalerSettings.model_validate({"catch_up": None})
    assert found.capacity(0.7, ignoring, with_restart=True) == 1050


@pytest.mark.parametrize(
    ("rate", "busy", "lag", "earlier", "wanted"),
    [
        # lag grew by 360,000 in 900 s: 400 rows/s more are offered, 1400. True rate 1000. Backlog 360,000 / 1800 = 200:
        # 200 + 1400 x 300 / 1800 + 1400 / 0.7 = 200 + 233 + 2000 = 2433, of 10 replicas 24.33
        (1000.0, 1.0, 360_000.0, 0.0, 25),
        # True rate 1000 < 980 / 1.0 does not hold: within bounds.
        (980.0, 0.98, 0.0, 0.0, None),
    ],
)
def test_a_size_is_for_the_offered_rate_once_it_is_out_of_bounds(rate, busy, lag, earlier, wanted):
    found = sized(10, rate, busy, lag=lag, earlier_lag=earlier)
    assert found.desired_replicas == wanted
    assert found.verdict is (Verdict.SAME if wanted is None else Verdict.MORE)


def test_nothing_changes_before_the_window_since_the_last_change_is_full():
    seen = reading(NODES[:4], busy_share=1.0, backlog=0.0)
    first = decided([seen], {})["op"]
    assert (first.verdict, first.reason) == (Verdict.SAME, Reason.COOLING_DOWN)
    assert json.loads(first.memo)["samples"] == [[1000.0, 100.0, 1.0, 0.0]]
    # The change 4 min ago is younger than the stabilization interval: no sample.
    change = Order(at_s=760.0, placement=NODES[:4], downtime_s=1.0)
    stabilising = decided([seen], {"op": memo((15, 100.0, 1.0, 0.0), at_s=760.0)}, orders={"op": (change,)})["op"]
    assert json.loads(stabilising.memo)["samples"] == []
    # 15 min of 100 rows/s that take all time, target 700 a replica: it is full, and 100 < 100 / 1.0 does not hold.
    assert decided([seen], {"op": memo((15, 100.0, 1.0, 0.0))})["op"].reason is Reason.WITHIN_TARGET


def test_samples_are_at_most_a_sixtieth_of_the_window_apart():
    text, at_s = memo((15, 100.0, 0.6, 0.0)), 1000.0
    for step in range(400):
        seen = reading(NODES[:4], at_s=at_s + 5.0 * step, busy_share=0.6, backlog=0.0)
        found = decided([seen], {"op": text})["op"]
        assert found.reason is not Reason.METRICS_MISSING
        assert not step or found.reason is Reason.WITHIN_TARGET  # the window stays full
        text = found.memo
    assert 55 <= len(json.loads(text)["samples"]) <= 63


def test_scale_in_waits_an_hour_and_takes_the_highest_proposal():
    # True rate 100 / 0.1 = 1000, capacity(0.4) = 16.7 + 250 = 267: out of bounds. Needed 16.7 + 142.9 = 160: of 10
    # replicas 1.6, but at most 60 % go: 4.
    first = sized(10, 100.0, 0.1)
    assert (first.verdict, first.reason) == (Verdict.SAME, Reason.COOLING_DOWN)
    assert json.loads(first.memo)["delayed"] == [[1000.0, 4, True]]
    waited = {"delayed_since_s": -2600.0, "delayed": ((-2000.0, 6, True), (500.0, 5, True))}
    assert sized(10, 100.0, 0.1, kept=waited).desired_replicas == 6
    forgotten = {"delayed_since_s": -2700.0, "delayed": ((-2650.0, 9, True), (500.0, 5, True))}
    assert sized(10, 100.0, 0.1, kept=forgotten).desired_replicas == 5
    assert sized(10, 100.0, 0.1, scale_down_interval=None).desired_replicas == 4


def test_a_change_or_a_higher_size_forgets_the_delayed_scale_in():
    waited = {"delayed_since_s": -2600.0, "delayed": ((500.0, 5, True),)}
    # 100 rows/s at 0.6 busy: needed 16.7 + 142.9 = 160 of 167: all ten
    assert json.loads(sized(10, 100.0, 0.6, kept=waited).memo)["delayed"] == []
    change = Order(at_s=945.0, placement=NODES[:10], downtime_s=1.0)
    found = sized(10, 100.0, 0.1, kept=waited, orders={"op": (change,)})
    assert json.loads(found.memo)["delayed_since_s"] is None


def test_an_old_lag_forbids_scale_in():
    # 40,000 rows at 100 rows/s are 400 s old, above 300: no lower bound, and the upper one is 1. The observed rate
    # needs two samples with the lag: both have it. 100 rows/s are far less than the 1000 by busy time.
    # Needed: 40,000 / 1800 + 16.7 + 142.9 = 182 of 100, of 10 replicas 18.2.
    assert sized(10, 100.0, 0.1, lag=40_000.0).desired_replicas == 19
    # 20,000 rows are 200 s: the same by the observed rate.
    assert sized(10, 100.0, 0.1, lag=20_000.0).desired_replicas == 18  # 11.1 + 159.5 = 171 of 100


def test_a_scale_out_that_did_not_help_blocks_the_next():
    # It was expected to bring 1000 rows/s to 2000, and there are 1050: 5 % of the gain.
    kept = {"scale_out": (10, 1000.0, 2000.0)}
    more = {"lag": 360_000.0, "earlier_lag": 0.0, "kept": kept}
    assert sized(10, 1050.0, 1.0, **more).verdict is Verdict.MORE
    blocked = sized(10, 1050.0, 1.0, detect_ineffective=True, **more)
    assert (blocked.verdict, blocked.reason) == (Verdict.SAME, Reason.DELAY_EATS_GAIN)
    assert sized(10, 1150.0, 1.0, detect_ineffective=True, **more).verdict is Verdict.MORE
    assert json.loads(sized(10, 1000.0, 1.0, lag=360_000.0, earlier_lag=0.0).memo)["scale_out"][0] == 25


def test_all_operators_change_once_one_is_out_of_bounds():
    # next: half of 1000 rows/s, busy 0.9: true rate 556. Needed 83 + 714 = 798, of 10 replicas 14.4; within bounds.
    second = reading(NODES[:10], name="next", throughput=500.0, busy_share=0.9, backlog=0.0)
    calm = reading(NODES[:10], throughput=1000.0, busy_share=0.7, backlog=0.0, output_rows_per_s=500.0)
    memos = {"op": memo((15, 1000.0, 0.7, 0.0)), "next": memo((15, 500.0, 0.9, 0.0))}
    found = decided([calm, second], memos, flow=CHAIN)
    assert {each.verdict for each in found.values()} == {Verdict.SAME}
    late = reading(NODES[:10], throughput=1000.0, busy_share=1.0, backlog=90_000.0, output_rows_per_s=500.0)
    found = decided([late, second], {**memos, "op": memo((15, 1000.0, 1.0, 0.0))}, flow=CHAIN)
    # The lag grew by 100 rows/s. op: 50 + 1100 / 6 + 1100 / 0.7 = 1805 of 1000; next: 25 + 550 / 6 + 550 / 0.7 = 902 of
    # 556.
    assert {name: each.desired_replicas for name, each in found.items()} == {"op": 19, "next": 17}


@pytest.mark.parametrize("backlog", [None, math.nan])
def test_an_unknown_lag_changes_nothing(backlog):
    seen = reading(NODES[:4], backlog=backlog)
    assert decided([seen], {"op": memo((15, 100.0, 1.0, 0.0))})["op"].reason is Reason.METRICS_MISSING
