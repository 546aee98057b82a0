import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from latency_map import (
    LatencyMap,
    by_distance,
    least_nd_max_subset,
)

node_names = st.text(min_size=1, max_size=6).filter(lambda text: text == text.strip() and text.isprintable())
round_trips = st.one_of(st.integers(0, 4).map(float), st.floats(0, 1e9), st.just(math.nan))


@st.composite
def latency_maps(draw, *, min_size=1, max_size=8, delays=round_trips):
    names = draw(st.lists(node_names, min_size=min_size, max_size=max_size, unique=True))
    count = len(names)
    upper = draw(st.lists(delays, min_size=count * (count - 1) // 2, max_size=count * (count - 1) // 2))
    matrix = np.zeros((count, count))
    matrix[np.triu_indices(count, 1)] = upper
    return LatencyMap(names=tuple(names), rtt_ms=matrix + matrix.T)


complete_maps = latency_maps(min_size=3, delays=st.one_of(st.integers(0, 4).map(float), st.floats(0, 1e9)))


@given(complete_maps)
def test_the_first_of_the_nearest_gives_the_least_nd_max_of_one_addition(latencies):
    members, others = latencies.names[:2], latencies.names[2:]
    first = by_distance(latencies, members, others).names[0]
    least = min(latencies.nd_max_ms([*members, node]) for node in others)
    assert latencies.nd_max_ms([*members, first]) == least


@given(complete_maps, st.data())
def test_a_larger_set_is_never_closer_together(latencies, data):
    size = data.draw(st.integers(2, len(latencies)))
    assert (
        least_nd_max_subset(latencies, size - 1).nd_max_ms <= least_nd_max_subset(latencies, size).nd_max_ms
    )
