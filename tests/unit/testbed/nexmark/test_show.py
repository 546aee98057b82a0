import pytest

from testbed.nexmark.queries import query_named
from testbed.nexmark.show import NexmarkDay


def test_the_load_rises_and_falls_between_its_bounds():
    rates = NexmarkDay(
        query=query_named("q5"), policy="static", least_rows_per_s=100, most_rows_per_s=300
    ).rates
    assert len(rates) == 24
    assert rates[:12] == rates[:11:-1]
    assert list(rates[:12]) == sorted(rates[:12])
    # half a wave of 24 steps, each at its middle: sin(pi / 48) = 0.0654, sin(23 pi / 48) = 0.9979
    assert rates[0] == pytest.approx(100 + 200 * 0.0654, abs=0.1)
    assert rates[11] == pytest.approx(100 + 200 * 0.9979, abs=0.1)


def test_events_are_those_that_are_due():
    day = NexmarkDay(query=query_named("q5"), policy="static", day_s=240.0)
    assert day.events == int(sum(day.rates) * 10)
    # their own time passes as the day's does in the mean
    assert day.events / day.events_per_s == pytest.approx(240.0, rel=0.01)


def test_a_query_that_reads_the_events_twice_works_half_as_long_on_each(tmp_path):
    programs = [
        NexmarkDay(query=query_named(name), policy="static").program(tmp_path, 1000.0)
        for name in ("q5", "q8")
    ]
    worked = [words[words.index("--service-ms-per-row") + 1] for words in programs]
    assert worked == ["8.0", "4.0"]
    assert programs[0][:4] == ("-m", "testbed.nexmark", "stream", "q5")
