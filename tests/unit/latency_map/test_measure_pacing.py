import pytest

from latency_map.measure.pacing import Pace, Pacer


def starts(pace, wishes_s):
    """When probes start that are wished for at these instants, one after the other."""
    instants = []
    for wish_s in wishes_s:
        start_s, pace = pace.start(max(wish_s, instants[-1] if instants else 0.0))
        instants.append(start_s)
    return instants


@pytest.mark.parametrize(
    ("burst", "wishes_s", "expected_s"),
    [
        (1, [0, 0, 0], [0, 0.5, 1.0]),  # 2 a second: half a second apart
        (1, [0, 3, 3], [0, 3, 3.5]),  # a pause saves nothing
        (3, [10, 10, 10, 10, 10], [10, 10, 10, 10.5, 11]),  # or up to two
        (3, [10, 10, 10, 10.5, 13, 13, 13], [10, 10, 10, 10.5, 13, 13, 13]),
    ],
)
def test_probes_start_by_the_rate_after_a_burst(burst, wishes_s, expected_s):
    assert starts(Pace(rate_per_s=2, burst=burst), wishes_s) == pytest.approx(expected_s)


class Time:
    """A clock that only sleeping moves."""

    def __init__(self, ends_at_s=1e9):
        self.now_s = 100.0
        self.ends_at_s = ends_at_s

    def sleep(self, seconds):
        self.now_s += seconds
        return self.now_s >= self.ends_at_s

    def pacer(self, rate_per_s):
        return Pacer(Pace(rate_per_s=rate_per_s), clock=lambda: self.now_s, sleep=self.sleep)


def test_a_pacer_sleeps_until_the_next_start():
    pacer = Time().pacer(4)
    assert [pacer.wait() for _ in range(3)] == pytest.approx([100.0, 100.25, 100.5])


def test_a_pacer_says_when_it_is_time_to_end():
    pacer = Time(ends_at_s=100.15).pacer(10)
    assert [pacer.wait() for _ in range(3)] == [100.0, pytest.approx(100.1), None]
