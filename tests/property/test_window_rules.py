"""Whatever a driver says, a reading keeps its ranges."""

import math

from hypothesis import given
from hypothesis import strategies as st

from gesscale.model.observation import Batch, OperatorReading
from gesscale.monitor.batch_screen import screen_batches
from gesscale.monitor.window import summarise

NOW_S = 1_795_000_000.0

anything = st.floats(allow_nan=True, allow_infinity=True) | st.integers(-5, 10**7)
wild = st.builds(
    Batch,
    batch_id=st.integers(-2, 30),
    ended_at_s=st.floats(NOW_S - 100, NOW_S + 10) | anything,
    rows=st.integers(-5, 10**6) | anything,
    seconds=st.floats(0, 60) | anything,
    nodes=st.lists(st.sampled_from("abc"), max_size=3).map(tuple),
    trigger_s=st.none() | anything,
    cap_rows=st.none() | anything,
    offered_rows_total=st.none() | anything,
    backlog_rows=st.none() | anything,
)
durations = st.lists(st.integers(1, 4000), min_size=2, max_size=30)


@given(st.lists(wild, max_size=30), st.none() | anything)
def test_nonsense_never_raises_nor_leaves_the_ranges(batches: list[Batch], heard_s: float | None) -> None:
    seen = summarise(
        "op", screen_batches(batches, NOW_S), now_s=NOW_S, window_s=20.0, stale_after_s=60.0, last_progress_at_s=heard_s
    )
    if isinstance(seen, OperatorReading):
        assert 0 <= seen.saturated_share <= 1
        assert 0 <= seen.busy_share <= 1
        assert seen.placement
        assert math.isfinite(seen.throughput_rows_per_s)
        assert seen.throughput_rows_per_s >= 0
        assert seen.input_rows_per_s is None or seen.input_rows_per_s >= 0
        assert set(seen.warm_batches) <= set(seen.batches)
    else:
        assert str(seen.problem)


@given(durations, st.integers(1, 500), st.floats(1, 300))
def test_a_steady_offer_is_read_exactly_whatever_the_batches_took(
    milliseconds: list[int], rows_per_s: int, window_s: float
) -> None:
    """Back-to-back batches of any lengths: their unequal durations do not distort the rate."""
    batches = []
    at_s = NOW_S - sum(milliseconds) / 1000
    for index, duration in enumerate(milliseconds):
        offered = rows_per_s * sum(milliseconds[:index]) / 1000
        at_s += duration / 1000
        batches.append(
            Batch(
                batch_id=index,
                ended_at_s=at_s,
                rows=0,
                seconds=duration / 1000,
                nodes=("a",),
                trigger_s=5.0,
                offered_rows_total=offered,
            )
        )
    seen = summarise("op", screen_batches(batches, at_s), now_s=at_s, window_s=window_s, stale_after_s=60.0)
    assert isinstance(seen, OperatorReading)
    assert seen.input_rows_per_s is not None
    assert math.isclose(seen.input_rows_per_s, rows_per_s, rel_tol=0.01)
    assert seen.busy_share > 0.0
