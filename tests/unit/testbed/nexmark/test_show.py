import pytest

from testbed.nexmark.queries import query_named
from testbed.nexmark.show import NexmarkDay


def test_the_load_rises_and_falls_between_its_bounds():
    rates = NexmarkDay(
        query=query_named("q5"), policy="static", least_rows_per_s=100, most_rows_per_s=300
    ).load.rows_per_s
    assert len(rates) == 24
    assert rates[:12] == rates[:11:-1]
    assert list(rates[:12]) == sorted(rates[:12])
    # half a wave of 24 steps, each at its middle: sin(pi / 48) = 0.0654, sin(23 pi / 48) = 0.9979
    assert rates[0] == pytest.approx(100 + 200 * 0.0654, abs=0.1)
    assert rates[11] == pytest.approx(100 + 200 * 0.9979, abs=0.1)
