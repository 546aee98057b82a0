"""The input rate of queries that are idle between batches: rows that wait for a least batch, and bursts."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from thoroughness import examples

from gesscale.model.observation import Batch, OperatorReading
from gesscale.monitor.source import WindowedReader

READER = WindowedReader(window_s=60.0, stale_after_s=180.0, history_s=300.0, timeout_s=5.0)
BEGAN_S = 1000.0


def batches_of(rows_per_s: float, trigger_s: float, every_s: float, until_s: float, ends_s: float) -> list[Batch]:
    """Return the batches of a query that waits for the rows of a number of seconds, until the load ends."""
    found: list[Batch] = []
    done = 0
    for step in range(int(until_s / trigger_s)):
        at_s = step * trigger_s
        total = int(rows_per_s * min(at_s, ends_s) + 1e-9)
        if total - done >= max(1.0, rows_per_s * every_s):
            rows, done = total - done, total
            found.append(
                Batch(
                    batch_id=len(found),
                    ended_at_s=BEGAN_S + at_s + 0.4 * trigger_s,
                    rows=rows,
                    seconds=0.4 * trigger_s,
                    nodes=("a",),
                    trigger_s=trigger_s,
                    offered_rows_total=total,
                    backlog_rows=0.0,
                )
            )
    return found


def rate_at(batches: list[Batch], at_s: float, idle_every_s: float) -> float | None:
    """Return the input rate that is read at an instant; the query has reported that it is idle, each few seconds."""
    ended = [batch for batch in batches if batch.ended_at_s <= at_s]
    newest_s = ended[-1].ended_at_s if ended else BEGAN_S
    heard_s = newest_s + math.floor((at_s - newest_s) / idle_every_s) * idle_every_s
    seen = READER.read("op", ended, now_s=at_s, last_progress_at_s=heard_s)
    return seen.input_rows_per_s if isinstance(seen, OperatorReading) else None


@settings(max_examples=examples(150))
@given(
    rows_per_s=st.floats(1, 1000),
    trigger_s=st.sampled_from([1.0, 2.0, 10.0]),
    every_s=st.floats(0, 240),
    at_s=st.floats(0, 3600),
    idle_every_s=st.sampled_from([2.0, 10.0]),
)
def test_a_steady_load_is_read_whatever_a_query_waits_for(
    rows_per_s: float, trigger_s: float, every_s: float, at_s: float, idle_every_s: float
) -> None:
    batches = batches_of(rows_per_s, trigger_s, every_s, 3600.0, math.inf)
    rate = rate_at(batches, BEGAN_S + at_s, idle_every_s)
    # A whole row more or less at both ends of the shortest interval
    tolerance = 0.02 * rows_per_s + 2 / max(trigger_s, every_s)
    assert rate is None or rate == pytest.approx(rows_per_s, abs=tolerance)
    interval_s = max(trigger_s, math.ceil(every_s / trigger_s + 1) * trigger_s)
    assert rate is not None or at_s < 3 * interval_s + trigger_s


@settings(max_examples=examples(100))
@given(
    rows_per_s=st.floats(10, 1000),
    trigger_s=st.sampled_from([1.0, 2.0, 10.0]),
    every_s=st.floats(0, 60),
    ends_s=st.floats(600, 700),
    since_s=st.floats(0, 2000),
)
def test_a_load_that_ends_is_never_above_what_can_be_waiting(
    rows_per_s: float, trigger_s: float, every_s: float, ends_s: float, since_s: float
) -> None:
    batches = batches_of(rows_per_s, trigger_s, every_s, 3600.0, ends_s)
    rate = rate_at(batches, BEGAN_S + ends_s + since_s, 10.0)
    assert rate is not None
    assert rate <= 1.1 * rows_per_s + 2
    interval_s = max(trigger_s, every_s + trigger_s)
    if since_s > 60 + 12 * interval_s + 10 or since_s > 1000:
        assert rate == 0.0
