import numpy as np
import scipy

from gesscale.policies.gesscale.analysis.draws import normal_draws


def test_draws_come_in_pairs_and_cover_the_normal_distribution():
    draws = normal_draws(16, 300)
    assert np.array_equal(draws[:8], -draws[8:])
    # Eight even draws: in each step one in each eighth of the distribution, in an order of its own.
    eighths = np.floor(8 * scipy.special.ndtr(draws[:8]))
    assert np.array_equal(np.sort(eighths, axis=0), np.tile(np.arange(8), (300, 1)).T)
    assert len(np.unique(eighths, axis=1).T) > 290
