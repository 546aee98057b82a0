import math

import numpy as np
import pytest

from latency_map.quality import coordinates
from latency_map.quality.coordinates import embed, held_out_error

NAN = math.nan


def places(nodes: int, *, scale: float = 1.0, seed: int = 3) -> np.ndarray:
    """Round trips of nodes in a plane, 0 to 100 ms apart along each side, with 0 to 10 ms of access each."""
    rng = np.random.default_rng(seed)
    points, access = rng.uniform(0, 100, (nodes, 2)), rng.uniform(0, 10, nodes)
    rtt_ms = np.linalg.norm(points[:, None] - points, axis=2) + access[:, None] + access
    np.fill_diagonal(rtt_ms, 0.0)
    return np.maximum(rtt_ms, rtt_ms.T) * scale  # sums in another order differ in the last bit


def relative_errors(estimates: np.ndarray, rtt_ms: np.ndarray) -> np.ndarray:
    apart = ~np.eye(len(rtt_ms), dtype=bool)
    return np.abs(estimates - rtt_ms)[apart] / rtt_ms[apart]


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_nodes_in_a_plane_are_embedded_at_any_scale(scale):
    rtt_ms = places(30, scale=scale)
    found = embed(rtt_ms)
    assert found.positions_ms.shape == (30, coordinates.DIMENSIONS)
    assert (found.heights_ms >= 0).all()
    assert np.quantile(relative_errors(found.rtt_ms(), rtt_ms), 0.9) < 0.02


def test_pairs_that_nobody_measured_are_estimated_from_the_rest():
    rtt_ms = places(40)
    gaps = np.triu(np.random.default_rng(5).random(rtt_ms.shape) < 0.4, 1)
    known = np.where(gaps | gaps.T, NAN, rtt_ms)
    estimates = embed(known).rtt_ms()
    errors = np.abs(estimates - rtt_ms)[gaps] / rtt_ms[gaps]
    assert np.median(errors) < 0.02


@pytest.mark.parametrize("hole", [NAN, 0.0])
def test_one_direction_is_enough_and_zero_is_no_measurement(hole):
    rtt_ms = places(20)
    one_way = np.where(np.tri(20, dtype=bool), hole, rtt_ms)
    assert np.allclose(embed(one_way).rtt_ms(), embed(rtt_ms).rtt_ms())


def test_islands_have_no_place_relative_to_each_other():
    rtt_ms = places(10)
    rtt_ms[:4, 4:] = rtt_ms[4:, :4] = NAN
    estimates = embed(rtt_ms).rtt_ms()
    assert np.isnan(estimates[:4, 4:]).all()
    assert not np.isnan(estimates[:4, :4]).any()
    assert not np.isnan(estimates[4:, 4:]).any()


@pytest.mark.parametrize(
    "rtt_ms", [[[0.0]], [[0.0, NAN], [NAN, 0.0]], [[0.0, 0.0], [0.0, 0.0]], [[0.0, 5.0], [5.0, 0.0]]]
)
def test_too_few_pairs_are_placed_and_their_error_is_not_known(rtt_ms):
    assert embed(np.array(rtt_ms)).rtt_ms().shape == np.shape(rtt_ms)
    error = held_out_error(np.array(rtt_ms))
    assert error.pairs == 0
    assert math.isnan(error.median_ratio)


def test_the_error_is_measured_on_a_tenth_of_the_pairs():
    error = held_out_error(places(30))
    assert error.pairs == 44  # 10 % of 30 * 29 / 2 = 435, rounded to even
    assert error.median_ratio <= error.p90_ratio < 0.05
