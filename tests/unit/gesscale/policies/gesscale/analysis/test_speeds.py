"""How fast nodes are, as task times tell."""

import math

import pytest

from gesscale.model.observation import NodeReading
from gesscale.policies.gesscale.analysis.speeds import NodeSpeeds, even_split


def window(**rows_per_busy_s: float) -> dict[str, NodeReading]:
    """Return what replicas did that were busy for half of a window."""
    return {node: NodeReading(throughput_rows_per_s=rows / 2, busy_share=0.5) for node, rows in rows_per_busy_s.items()}


def updated(*windows: dict[str, NodeReading], weights: dict[str, float] | None = None) -> NodeSpeeds:
    speeds = NodeSpeeds()
    for each in windows:
        speeds = speeds.updated(each, weights or {})
    return speeds


def test_a_slow_node_is_known_after_some_windows() -> None:
    # They differ by a factor of 2, log 0.69: one is 0.35 above the query, one 0.35 below it.
    weights = updated(*[window(near=200, far=100)] * 20).weights({})
    assert weights == pytest.approx({"near": math.sqrt(2), "far": math.sqrt(0.5)}, rel=0.01)


def test_a_node_whose_speed_changes_within_a_minute_is_followed_both_ways() -> None:
    # Throttled to half its speed: log 0.69 apart as above. Each window brings it 0.3 of the rest nearer.
    throttled = updated(window(near=200, far=200), *[window(near=200, far=100)] * 20)
    assert throttled.weights({}) == pytest.approx({"near": math.sqrt(2), "far": math.sqrt(0.5)}, rel=0.01)
    cooled = updated(*[window(near=200, far=100)] * 20, *[window(near=200, far=200)] * 20)
    assert cooled.weights({}) == {}


def test_rows_that_become_costlier_make_no_node_slower() -> None:
    apart = updated(*[window(near=200, far=100, mid=100)] * 20)
    # All that still work take four times as long for a row; near, which is not there, stays as it was.
    later = apart
    for _ in range(20):
        later = later.updated(window(far=25, mid=25), {})
    assert later.logs == pytest.approx(apart.logs, rel=0.01)


def test_a_node_that_is_throttled_is_slow_within_a_few_windows() -> None:
    # 1 - 0.7^7 = 0.92 of the change is learned in seven windows.
    speeds = updated(*[window(near=100, far=100)] * 20, *[window(near=100, far=40)] * 7)
    apart = speeds.logs["near"] - speeds.logs["far"]
    assert apart == pytest.approx(0.92 * math.log(100 / 40), rel=0.02)


@pytest.mark.parametrize(
    ("rows", "split"),
    [
        # weights 4, 1, 1: by weight 2/3, 1/6, 1/6 of the rows; evenly 1/3 each
        ((800, 200, 200), 0.0),
        ((400, 400, 400), 1.0),
        ((600, 300, 300), 0.5),
        ((900, 150, 150), 0.0),  # more than by weight
        ((100, 550, 550), 1.0),  # less than evenly
    ],
)
def test_the_split_of_rows_is_seen_in_the_shares_of_the_replicas(rows, split):
    by_node = {
        node: NodeReading(throughput_rows_per_s=float(each), busy_share=0.5)
        for node, each in zip("abc", rows, strict=True)
    }
    assert even_split(by_node, {"a": 4.0}, 0.7) == split


def test_equal_weights_show_no_split():
    by_node = {node: NodeReading(throughput_rows_per_s=100.0, busy_share=0.5) for node in "abc"}
    assert even_split(by_node, {"a": 1.1}, 0.7) == 0.7
    assert even_split({"a": by_node["a"]}, {"a": 4.0}, 0.7) == 0.7
