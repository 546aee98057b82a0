import numpy as np
import pytest
import scipy

from gesscale.policies.gesscale2.analysis.draws import normal_draws, sobol


@pytest.mark.parametrize("dimensions", [1, 25, 256, 300])
@pytest.mark.parametrize("points", [1, 2, 8])
def test_the_points_are_those_of_scipy(points, dimensions):
    reference = scipy.stats.qmc.Sobol(dimensions, seed=2021).random(8)[:points]
    assert np.array_equal(sobol(points, dimensions), reference)


def test_draws_come_in_pairs_and_cover_the_normal_distribution():
    draws = normal_draws(16, 3)
    assert np.array_equal(draws[:8], -draws[8:])
    # Eight even points: in each dimension one in each eighth of the distribution.
    assert sorted(np.floor(8 * scipy.special.ndtr(draws[:8, 1]))) == list(range(8))


def test_more_points_than_there_are_directions_for_are_refused():
    with pytest.raises(ValueError, match="at most 8 points, got 9"):
        sobol(9, 2)
