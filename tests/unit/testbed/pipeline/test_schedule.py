import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from testbed.pipeline.schedule import ReplaySchedule, split_by_speed, split_rows


def schedule(pickup_s=(0.0, 10.0, 10.0, 40.0), **changes):
    fields = {"speed": 10.0, "copies": 3, "start_at_s": 1000.0, **changes}
    return ReplaySchedule(pickup_s=np.array(pickup_s, dtype=float), **fields)


@given(
    st.lists(st.integers(0, 1000), min_size=1, max_size=50),
    st.integers(1, 4),
    st.integers(-200, 4400).map(lambda quarters: quarters / 4),
)
def test_offered_rows_agree_with_due_times(pickups, copies, after_s):
    plan = schedule(sorted(pickups), copies=copies, speed=1.0, start_at_s=0.0)
    due = plan.due_at_s(np.arange(len(pickups)))
    # whole seconds, quarters, speed 1 and start 0 are exact in floating point: counting is the definition
    assert plan.offered_rows(after_s) == int((due <= after_s).sum()) * copies


@given(st.integers(0, 1000), st.integers(0, 1000), st.integers(1, 20))
def test_split_covers_each_row_once_and_evenly(start, rows, tasks):
    ranges = split_rows(start, start + rows, tasks)
    assert [row for low, high in ranges for row in range(low, high)] == list(range(start, start + rows))
    sizes = [high - low for low, high in ranges]
    assert len(sizes) == min(rows, tasks)
    assert not sizes or max(sizes) - min(sizes) <= 1


@given(st.integers(0, 1000), st.integers(1, 1000), st.integers(1, 8), st.floats(0.0, 1.0))
def test_a_split_by_speed_covers_each_row_once_and_no_task_is_longer_than_the_first(start, rows, slots, share):
    ranges = split_by_speed(start, start + rows, slots, share / slots)
    assert [row for low, high in ranges for row in range(low, high)] == list(range(start, start + rows))
    sizes = [high - low for low, high in ranges]
    assert max(sizes) <= max(1, sizes[0] + 1)  # an even split differs by one
    # about two tasks for each share of the slowest, which counts as an eighth of the mean at least: see the docstring
    assert len(sizes) <= max(slots, 4 * 8 * slots)


def test_slots_of_unequal_speed_end_together():
    # speeds 1, 2 and 7, so the slowest has a tenth: 1000 rows take 100 at best, and 333 where they are spread evenly
    free_at = {1.0: 0.0, 2.0: 0.0, 7.0: 0.0}
    for low, high in split_by_speed(0, 1000, 3, 0.1):
        speed = min(free_at, key=lambda each: (free_at[each], each))  # the slowest asks first: the worst order
        free_at[speed] += (high - low) / speed
    assert max(free_at.values()) < 115
