"""Properties of measurements with any options."""

from collections import Counter
from math import ceil

from hypothesis import given
from hypothesis import strategies as st

from latency_map.measure.gather import GaugeSample, gather_samples
from latency_map.measure.probes import Reply, RttSample, Timeout
from latency_map.measure.sweep import Pacer, neighbours

SAMPLES: st.SearchStrategy[RttSample] = st.one_of(
    st.just(Timeout(timeout_s=1.0)), st.builds(Reply, rtt_ms=st.floats(0, 1e6))
)


@given(st.floats(0.1, 100), st.lists(st.floats(0, 10), min_size=1, max_size=50))
def test_no_span_of_time_has_more_probes_than_the_budget(rate_per_s, pauses_s):
    now_s, starts_s = 0.0, []

    def pass_time(seconds):
        nonlocal now_s
        now_s += seconds
        return False

    pacer = Pacer(rate_per_s, clock=lambda: now_s, sleep=pass_time)
    for pause_s in pauses_s:
        pass_time(pause_s)
        starts_s.append(pacer.wait())
    for first in range(len(starts_s)):
        for last in range(first, len(starts_s)):
            span_s = starts_s[last] - starts_s[first]
            assert last - first <= rate_per_s * span_s + 1e-6


@given(
    st.sets(st.text("abc0-", min_size=1, max_size=4), min_size=2, max_size=30),
    st.integers(1, 40),
    st.integers(0, 10**6),
)
def test_every_round_is_fair_and_all_pairs_get_their_turn(names, each, first):
    rounds = ceil((len(names) - 1) / each)
    probed = Counter(
        (node, peer)
        for turn in range(first, first + rounds)
        for node in names
        for peer in neighbours(node, names, each=each, turn=turn)
    )
    assert set(probed) == {(node, peer) for node in names for peer in names if node != peer}
    assert probed.total() == len(names) * min(each, len(names) - 1) * rounds
    arrivals = Counter(peer for node in names for peer in neighbours(node, names, each=each, turn=first))
    assert set(arrivals.values()) == {min(each, len(names) - 1)}


NAMES = st.sampled_from(["a", "b", "c", "d"])
CELLS = st.dictionaries(st.tuples(NAMES, NAMES).filter(lambda pair: pair[0] != pair[1]), st.floats(0, 1e5), min_size=1)


@given(CELLS, st.randoms())
def test_the_order_of_samples_does_not_matter(cells, random):
    samples = [
        GaugeSample(name=name, labels={"source": source, "target": target}, value=value)
        for (source, target), seconds in cells.items()
        for name, value in (
            ("gesscale_latency_rtt_seconds", seconds),
            ("gesscale_latency_measured_timestamp_seconds", 1e9 + seconds),
        )
    ]
    shuffled = random.sample(samples, len(samples))
    one, other = (gather_samples(some, fill_missing=False).survey for some in (samples, shuffled))
    assert one.names == other.names
    assert one.rtt_ms.tobytes() == other.rtt_ms.tobytes()
    assert one.measured_at_s == other.measured_at_s == 1e9 + min(cells.values())
