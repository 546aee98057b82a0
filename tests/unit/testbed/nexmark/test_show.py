import pytest
from refusals import refused

from testbed.nexmark.day import NexmarkDay
from testbed.nexmark.queries import nexmark_query


def test_the_load_rises_and_falls_between_its_bounds():
    rates = NexmarkDay(
        query=nexmark_query("q5"), policy="static", min_rows_per_s=100, max_rows_per_s=300
    ).load.rows_per_s
    assert len(rates) == 24
    assert rates[:12] == rates[:11:-1]
    assert list(rates[:12]) == sorted(rates[:12])
    # half a wave of 24 steps, each at its middle: sin(pi / 48) = 0.0654, sin(23 pi / 48) = 0.9979
    assert rates[0] == pytest.approx(100 + 200 * 0.0654, abs=0.1)
    assert rates[11] == pytest.approx(100 + 200 * 0.9979, abs=0.1)


# (240 s of the day + 120 s of draining) / 2 s: 180 batches, of 3 x 300 rows, through Kafka of 750
@pytest.mark.parametrize(("kafka", "most", "rows"), [(False, 162_000, 900), (True, 135_000, 750)])
def test_a_load_beyond_full_batches_is_refused(kafka, most, rows):
    def day(max_rows_per_s):
        return NexmarkDay(query=nexmark_query("q5"), policy="static", max_rows_per_s=max_rows_per_s, kafka=kafka)

    with refused("nexmark-overload", max=most, batch_rows=rows):
        day(1.6 * most / 240)
    assert most * 0.98 < day(1.55 * most / 240).load.total_rows < most  # in the mean 2 / pi of the most
