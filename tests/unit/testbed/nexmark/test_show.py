import pytest
from refusals import refused

from testbed.nexmark.day import NexmarkDay
from testbed.nexmark.queries import nexmark_query


def day(max_rows_per_s, *, kafka=False):
    return NexmarkDay(query=nexmark_query("q5"), policy="static", max_rows_per_s=max_rows_per_s, kafka=kafka)


def test_the_load_is_a_new_york_day_with_the_given_peak():
    load = day(300.0).load
    assert (load.duration_s, load.peak_rows_per_s) == pytest.approx((180.0, 300.0))
    # 6 January 2015: 1,774 passengers in the half hour from 04:00, 22,500 in the busiest: less than a tenth
    assert load.rows_per_s[0] < 30.0
    assert day(300.0).scenario.period_s == 7.5  # an hour of 180 s


def test_another_load_is_compressed_to_the_day():
    load = NexmarkDay(query=nexmark_query("q1"), policy="static", workload="kanis-cosine:noise=0", day_s=420.0).load
    # 140 minutes in 420 s: the lowest minute is the 30th, at 200,000 / 2,200,000 of the peak of 130
    assert (load.step_s, min(load.rows_per_s), load.rows_per_s[30]) == pytest.approx((3.0, 130 / 11, 130 / 11))


# (180 s of the day + 120 s of draining) / 2 s: 150 batches, of 3 x 300 rows, through Kafka of 750
@pytest.mark.parametrize(("kafka", "most", "rows"), [(False, 135_000, 900), (True, 112_500, 750)])
def test_a_load_beyond_full_batches_is_refused(kafka, most, rows):
    mean_share = day(100.0).load.total_rows / (180 * 100)
    with refused("nexmark-overload", max=most, batch_rows=rows):
        day(1.01 * most / (180 * mean_share), kafka=kafka)
    assert day(0.99 * most / (180 * mean_share), kafka=kafka).load.total_rows < most
