import pytest

from testbed.cluster.check import evaluate_pair


@pytest.mark.parametrize(
    ("expected_ms", "answers_ms", "ok"),
    [
        # 10 ms: tolerance is 2 ms, as 5 % would be 0.5 ms
        (10.0, [12.0], True),
        (10.0, [12.1], False),
        (10.0, [7.9], False),
        # 300 ms: tolerance is 15 ms
        (300.0, [315.0], True),
        (300.0, [284.9], False),
        # the median counts, not an outlier
        (10.0, [10.1, 10.2, 90.0], True),
        (10.0, [None, None, 10.1], True),
        (10.0, [None, None, None], False),
    ],
)
def test_tolerance_is_two_milliseconds_or_five_per_cent(
    expected_ms: float, answers_ms: list[float | None], ok: bool
) -> None:
    assert evaluate_pair(expected_ms, answers_ms, first="a", second="b").ok is ok


@pytest.mark.parametrize(
    ("answers_ms", "min_ok"),
    [
        # expected 10 ms, tolerance 2 ms: a busy machine adds to all echoes but one
        ([60.0, 11.9, 45.0], True),
        ([60.0, 12.1, 45.0], False),
        # an echo that comes too early is none that a busy machine could make
        ([60.0, 7.9, 45.0], False),
        ([None, None], False),
    ],
)
def test_the_smallest_echo_excludes_a_busy_machine(answers_ms: list[float | None], min_ok: bool) -> None:
    assert evaluate_pair(10.0, answers_ms, first="a", second="b").min_ok is min_ok


@pytest.mark.parametrize(
    ("answers_ms", "seen"),
    [([11.0, None, 10.5, 12.0], (11.0, 1.0, 10.5, 1.5, 1)), ([None, None], (None, None, None, None, 2))],
)
def test_median_spread_and_losses_are_reported(answers_ms: list[float | None], seen: tuple[float | None, ...]) -> None:
    pair = evaluate_pair(10.0, answers_ms, first="a", second="b")
    assert (pair.measured_ms, pair.error_ms, pair.min_ms, pair.spread_ms, pair.lost) == seen
