"""Replicas that get no rows or bring nothing are given back: the sink, a hot or few partitions limit them."""

from dataclasses import replace

import pytest
from complaint_world import changes, replicas_at, run, under
from spark_scenes import QUIET, equal_delays

from gesscale.model.decision import Reason

NOISY = replace(QUIET, batch_noise=0.05)
# One replica does 488 rows/s; the limit, rows/s, and the fewest replicas that reach it.
LIMITS = {
    "sink-1": ({"sink_rows_per_s": 450.0}, 450.0, 1),
    "sink-2": ({"sink_rows_per_s": 950.0}, 950.0, 2),
    # A batch of 6,000 n rows takes 0.3 + 12 x 0.7 n s: 690 rows/s from two replicas on; with 0.45 1,080 from three on.
    "hot-2": ({"hottest_share": 0.7}, 690.0, 2),
    "hot-3": ({"hottest_share": 0.45}, 1080.0, 3),
    "partitions-2": ({"partitions": 2}, 970.0, 2),
    "partitions-4": ({"partitions": 4}, 1900.0, 4),
}
NAMED = {"sink": Reason.SINK_LIMIT, "hot": Reason.HOT_PARTITION, "partitions": Reason.PARTITION_LIMIT}


@pytest.mark.parametrize("limit", LIMITS)
@pytest.mark.parametrize("load_share", [1.15, 1.5, 2.0])
@pytest.mark.parametrize("initial", [1, 4])
def test_the_useful_number_is_held_and_named(limit: str, load_share: float, initial: int) -> None:
    constants, most_rows_per_s, useful = LIMITS[limit]
    kind = limit.partition("-")[0]
    if kind == "sink" and initial > useful:
        pytest.skip("no smaller number has been seen, so the speed of one replica is not known")
    nodes = tuple(f"n{index}" for index in range(initial))
    scene = under([load_share * most_rows_per_s] * 40, delays=equal_delays(9, 5.0), initial={"op": nodes})
    notes = run(scene, physics=replace(NOISY, **constants))
    assert abs(replicas_at(notes, 1800) - useful) <= 1
    last = next(each for each in reversed(notes.decisions) if each.at_s <= 2300)
    assert last.analysis.reading.throughput_rows_per_s >= 0.88 * most_rows_per_s  # what was gained stays
    # Growth in at most three steps, and one back.
    assert len(changes(notes, 0, 1800)) <= 4
    assert last.plan.reason is NAMED[kind]
    assert Reason.CHEAPER_TO_WAIT not in {each.plan.reason for each in notes.decisions if 900 <= each.at_s <= 2300}


@pytest.mark.parametrize("load", [300.0, 900.0, 1900.0])
def test_replicas_that_bring_what_is_expected_stay(load: float) -> None:
    """The same plant without a limit: no growth is given back, and nothing is named."""
    notes = run(under([load] * 40, delays=equal_delays(9, 5.0)), physics=NOISY)
    reasons = {each.plan.reason for each in notes.decisions}
    assert not reasons & {Reason.SINK_LIMIT, Reason.HOT_PARTITION, Reason.IDLE_REPLICA}
    assert replicas_at(notes, 1800) >= load / 488


@pytest.mark.parametrize("seed", [1, 2])
def test_one_more_is_tried_after_an_hour_and_the_load_lifts_the_limit_at_once(seed: int) -> None:
    sink = replace(NOISY, sink_rows_per_s=950.0)
    # 1,300 rows/s for two hours, while the sink takes 950.
    notes = run(under([1300] * 120, delays=equal_delays(9, 5.0)), physics=sink, seed=seed)
    back, *_ = [each for each in changes(notes) if each.plan.reason is Reason.SINK_LIMIT]
    again = changes(notes, back.at_s + 1)
    assert again[0].at_s >= back.at_s + 3600
    assert len(again[0].plan.placement) == len(back.plan.placement) + 1
    assert again[1].plan.reason is Reason.SINK_LIMIT
    assert again[1].at_s <= again[0].at_s + 600
    # From 30 min on the load is 1.5 times as high: more is tried then.
    notes = run(under([1300] * 30 + [1950] * 10, delays=equal_delays(9, 5.0)), physics=sink, seed=seed)
    assert [each for each in changes(notes, 1800, 2300) if each.plan.reason is Reason.OVERLOADED]
