"""How fast nodes are, as task times tell."""

import math

import pytest

from gesscale.model.observation import NodeReading
from gesscale.policies.gesscale.analysis.speeds import NodeSpeeds


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
