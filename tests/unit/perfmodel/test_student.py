import pytest
import scipy

from perfmodel.interval import upper_quantile


@pytest.mark.parametrize("freedom", [1.0, 2.0, 3.7, 63.0, 1e5])
@pytest.mark.parametrize("tail", [0.4, 0.05, 0.001])
def test_quantiles_are_those_of_scipy(freedom, tail):
    assert upper_quantile(freedom, tail) == pytest.approx(-scipy.special.stdtrit(freedom, tail), rel=1e-9)
