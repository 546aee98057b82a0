import numpy as np
import pytest

from latency_map import LatencyMapError
from latency_map.generate import Clusters, Span, generate_clustered, node_names

SITES = Clusters(count=4, within=Span(low_ms=2, high_ms=10), between=Span(low_ms=30, high_ms=150))


def rng(seed=1):
    return np.random.default_rng(seed)


def test_generated_delays_are_valid_and_reproducible():
    rtt_ms = generate_clustered(rng(), 12, SITES)
    np.testing.assert_array_equal(rtt_ms, rtt_ms.T)
    assert (rtt_ms.diagonal() == 0).all()
    assert (rtt_ms[~np.eye(12, dtype=bool)] > 0).all()
    np.testing.assert_array_equal(rtt_ms, generate_clustered(rng(), 12, SITES))


def test_clusters_are_near_inside_and_far_between():
    spread = Clusters(count=2, within=Span(low_ms=2, high_ms=4), between=Span(low_ms=50, high_ms=60))
    rtt_ms = generate_clustered(rng(), 5, spread)  # as equal as can be: 3 and 2 nodes
    first, second, between = rtt_ms[0, 1], rtt_ms[3, 4], rtt_ms[0, 3]
    assert 2 <= first <= 4
    assert 2 <= second <= 4
    assert 50 <= between <= 60
    assert rtt_ms[1, 2] == first
    assert (rtt_ms[:3, 3:] == between).all()


def test_names_have_as_many_digits_as_the_last_one_needs():
    assert node_names(3) == ("node-01", "node-02", "node-03")
    assert node_names(120)[0] == "node-001"


@pytest.mark.parametrize(
    "make",
    [
        lambda: Span(low_ms=2, high_ms=1),
        lambda: Span(low_ms=-1, high_ms=1),
        lambda: generate_clustered(rng(), 3, SITES),
    ],
)
def test_what_cannot_be_generated_is_refused(make):
    with pytest.raises(LatencyMapError):
        make()
