"""Gaussian processes over configurations (IV-C1, Eq. 5), and what one rate says about another (IV-D, Algorithm 2)."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.float64]
Posterior = Callable[[Values], tuple[Values, Values]]
"""Gives means and standard deviations of the scores of configurations, one to a row."""

_RESTARTS = 2
"""Of the optimiser: three more found no better likelihood in 23 of 24 made-up cases, at twice the time."""


@dataclass(frozen=True, slots=True)
class GaussianProcess:
    """Scores by configuration, estimated from samples: Matern 2.5 with one length scale per operator, and noise.

    Attributes
    ----------
    regressor
        Of scikit-learn, fitted to standardised scores.
    mean, scale
        By which they were standardised.
    """

    regressor: Any
    mean: float
    scale: float

    @classmethod
    def fitted(cls, configurations: Values, scores: Values, seed: int) -> Self:
        """Fit a process to samples by maximum likelihood.

        Parameters
        ----------
        configurations
            One to a row, from 0 to 1; at least one.
        scores
            Of each.
        seed
            Of the starts of the optimiser.
        """
        from sklearn.exceptions import ConvergenceWarning
        from sklearn.gaussian_process import GaussianProcessRegressor
        from sklearn.gaussian_process.kernels import ConstantKernel, Matern, WhiteKernel

        operators = configurations.shape[1]
        smooth = Matern(length_scale=np.ones(operators), length_scale_bounds=(0.2, 5.0), nu=2.5)
        kernel = ConstantKernel(1.0, (0.25, 4.0)) * smooth + WhiteKernel(1e-3, (1e-6, 1e-1))
        regressor = GaussianProcessRegressor(kernel, n_restarts_optimizer=_RESTARTS, random_state=seed)
        mean, spread = float(np.mean(scores)), float(np.std(scores))
        scale = spread if spread > 0 else 1.0
        with warnings.catch_warnings():
            # Few samples often bring a parameter to its bound; the optimiser's other starts are there for the rest.
            warnings.simplefilter("ignore", ConvergenceWarning)
            regressor.fit(configurations, (scores - mean) / scale)
        return cls(regressor, mean, scale)

    def __call__(self, configurations: Values) -> tuple[Values, Values]:
        """Return means and standard deviations of the scores of configurations, the noise of a sample left out."""
        mean, deviation = self.regressor.predict(configurations, return_std=True)
        noise = self.regressor.kernel_.k2.noise_level
        variance = np.maximum(0.0, deviation**2 - noise)
        return self.mean + self.scale * mean, self.scale * np.sqrt(variance)


def transferred(
    old: Posterior, old_samples: int, configurations: Values, scores: Values, seed: int, trust: float = 1.0
) -> Posterior:
    """Return what is believed at a new rate, from a belief at another one and a few samples (Algorithm 2).

    Parameters
    ----------
    old
        The belief at the other rate, its samples scored by the targets of the new one.
    old_samples
        From how many samples it was made.
    configurations, scores
        Samples of the new rate, at least one.
    seed
        Of the fit to what the old belief leaves unexplained.
    trust
        ``a``: how much a new sample counts against an old one.

    Returns
    -------
    Posterior
        The mean of the old belief with the residuals' added; deviations as `shared_deviation` has them.
    """
    residual = GaussianProcess.fitted(configurations, scores - old(configurations)[0], seed)
    share = trust * len(scores) / (trust * len(scores) + old_samples)

    def belief(points: Values) -> tuple[Values, Values]:
        (old_mean, old_deviation), (mean, deviation) = old(points), residual(points)
        return old_mean + mean, shared_deviation(deviation, old_deviation, share)

    return belief


def shared_deviation(new: Values, old: Values, share: float) -> Values:
    """Return the geometric mean of two deviations, the new one weighted by its share (Algorithm 2, beta).

    Examples
    --------
    Three new samples against twelve old ones: beta is 0.2.

    >>> round(float(shared_deviation(np.array(0.1), np.array(0.05), 3 / (3 + 12))), 6)
    0.057435
    """
    deviation: Values = new**share * old ** (1 - share)
    return deviation
