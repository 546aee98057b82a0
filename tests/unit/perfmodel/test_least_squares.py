import numpy as np
import pytest
import scipy

from perfmodel.least_squares import minimise

FREE = np.full(2, -np.inf), np.full(2, np.inf)


def line(x, y):
    """Return residuals and derivatives of a line with an intercept."""
    design = np.column_stack([np.ones_like(x), x])
    return (lambda theta: design @ theta - y), (lambda _theta: design)


def test_one_point_far_out_hardly_moves_a_line():
    x = np.arange(10.0)
    y = 3 + 2 * x
    y[7] += 100
    start = minimise(*line(x, y), np.zeros(2), FREE, "soft_l1", 0.05)
    assert minimise(*line(x, y), start, FREE, "cauchy", 0.05) == pytest.approx([3, 2], abs=1e-3)


def test_a_parameter_stops_at_its_bound():
    # The best slope is 2, at most 1.5 is allowed: then the intercept is the mean of y - 1.5 x = 3 + 0.5 x, 3.5.
    x = np.array([0.0, 1.0, 2.0])
    limits = np.array([-np.inf, -np.inf]), np.array([np.inf, 1.5])
    found = minimise(*line(x, 3 + 2 * x), np.zeros(2), limits, "soft_l1", 1e6)
    assert found == pytest.approx([3.5, 1.5], rel=1e-4)


@pytest.mark.parametrize("loss", ["soft_l1", "cauchy"])
@pytest.mark.parametrize("seed", range(2))
def test_no_general_solver_finds_less(seed, loss):
    rng = np.random.default_rng(seed)
    n, apart_ms = rng.integers(1, 9, 25), rng.choice([0.0, 20.0, 150.0], 25)
    observed = (900 * n**0.8 - 2 * apart_ms) * np.exp(rng.normal(0, 0.1, 25))

    def residuals(theta):
        return (theta[0] * n ** theta[1] - theta[2] * apart_ms - observed) / 1000

    def jacobian(theta):
        power = n ** theta[1]
        return np.column_stack([power, theta[0] * power * np.log(n), -apart_ms]) / 1000

    def total(theta):
        z = (residuals(theta) / 0.05) ** 2
        return np.sum(np.log1p(z) if loss == "cauchy" else 2 * (np.sqrt(1 + z) - 1))

    limits = np.array([1e-12, 1e-3, 0.0]), np.array([np.inf, 1.2, np.inf])
    start = np.array([700.0, 0.9, 1.0])
    if loss == "cauchy":  # it has more than one minimum; a fit begins it from what the other loss found
        start = minimise(residuals, jacobian, start, limits, "soft_l1", 0.05)
    other = scipy.optimize.least_squares(
        residuals, start, jac=jacobian, bounds=limits, x_scale="jac", loss=loss, f_scale=0.05, xtol=1e-12
    )
    assert total(minimise(residuals, jacobian, start, limits, loss, 0.05)) <= total(other.x) * (1 + 1e-8)
