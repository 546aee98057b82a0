"""Readings over time: what they cover, gaps, and that their number is bounded."""

from hypothesis import given
from hypothesis import strategies as st

from testbed.baselines.rules.readings import MetricReport, MetricSample, appended, pruned


def reports(*instants_s: float, reach_s: float = 5.0, value: float = 1.0) -> list[MetricReport]:
    return [MetricReport(at_s, value, reach_s) for at_s in instants_s]


def at_s(samples: tuple[MetricSample, ...]) -> list[float]:
    return [sample.at_s for sample in samples]


def test_a_report_speaks_for_the_time_since_the_one_before_as_far_as_it_reaches():
    samples = appended((), reports(5, 10, 20, 22), max_gap_s=60)
    assert [sample.covers_s for sample in samples] == [0, 5, 5, 2]


def test_one_sample_beyond_the_longest_time_is_kept_and_two_in_any_case():
    samples = appended((), reports(*range(0, 60, 11)), max_gap_s=60)  # 0, 11, ..., 55
    assert at_s(pruned(samples, 30, 100)) == [22, 33, 44, 55]
    assert at_s(pruned(samples, 33, 100)) == [22, 33, 44, 55]
    assert at_s(pruned(samples, 5, 100)) == [44, 55]
    assert at_s(pruned(samples[-1:], 5, 100)) == [55]
    assert pruned((), 30, 100) == ()


@given(
    values=st.lists(st.floats(-1e6, 1e6, allow_nan=False), min_size=2, max_size=300),
    most=st.integers(2, 40),
)
def test_merged_samples_hide_no_value_and_lose_no_time(values, most):
    samples = appended(
        (), [MetricReport(5.0 * n, value, 5.0) for n, value in enumerate(values)], max_gap_s=60
    )
    kept = pruned(samples, 1e9, most)
    assert len(kept) <= most
    assert kept[-1] == samples[-1]
    assert min(item.low for item in kept) == min(item.low for item in samples)
    assert max(item.high for item in kept) == max(item.high for item in samples)
    assert sum(item.covers_s for item in kept) == sum(item.covers_s for item in samples)
    assert set(at_s(kept)) <= set(at_s(samples))
