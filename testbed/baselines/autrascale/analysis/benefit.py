"""The benefit of a configuration: latency against its target, replicas against the least (IV-C, Eq. 4 and 8)."""

from collections.abc import Sequence
from statistics import fmean


def benefit(
    replicas: Sequence[int], least: Sequence[int], latency_s: float, target_s: float, weight: float
) -> float:
    """Return the benefit score F of a configuration (Eq. 4).

    Parameters
    ----------
    replicas
        Of each operator, at least 1.
    least
        What the throughput needs of each operator, pi^t.
    latency_s, target_s
        Processing latency l_p with this configuration, and L_p; infinity for no target.
    weight
        alpha: how much the latency counts, 0..1; the replicas count for the rest.

    Returns
    -------
    float
        Above 0 and up to 1. Fewer replicas than the least count as the least.

    Examples
    --------
    The best that was found for WordCount and for Yahoo in V-C, where the latency was met; alpha is inferred from them.

    >>> round(benefit((7, 8, 12, 38), (3, 4, 12, 10), 0.15, 0.18, 0.8), 4)
    0.9096
    >>> round(benefit((4, 2, 1, 1, 40), (4, 2, 1, 1, 34), 0.2237, 0.3, 0.8), 3)
    0.994
    """
    in_time = 1.0 if latency_s <= target_s else target_s / latency_s
    frugal = fmean(min(1.0, few / have) for few, have in zip(least, replicas, strict=True))
    return weight * in_time + (1 - weight) * frugal


def acceptable(weight: float, over_allocation: float) -> float:
    """Return s_l, the score from which a configuration is accepted (Eq. 8).

    Parameters
    ----------
    weight
        alpha of the score.
    over_allocation
        w: by how much the replicas may exceed the least, as a share of it.

    Examples
    --------
    >>> acceptable(0.8, 1.0)
    0.9
    """
    return weight + (1 - weight) / (1 + over_allocation)
