"""Random latency maps of a few sites."""

import numpy as np
from hypothesis import strategies as st

from latency_map import LatencyMap


@st.composite
def site_maps(draw: st.DrawFn, *, gaps: bool = False) -> LatencyMap:
    """Return nodes at up to three sites, 10 to 300 ms apart; with gaps, some of these delays are unknown."""
    site = draw(st.lists(st.integers(0, 2), min_size=1, max_size=7))
    rtt_ms = np.zeros((len(site), len(site)))
    far = st.just(np.nan) | st.floats(10, 300) if gaps else st.floats(10, 300)
    for one, other in zip(*np.triu_indices(len(site), 1), strict=True):
        rtt_ms[one, other] = draw(st.floats(1, 10) if site[one] == site[other] else far)
    return LatencyMap(names=tuple(f"n{index}" for index in range(len(site))), rtt_ms=rtt_ms + rtt_ms.T)
