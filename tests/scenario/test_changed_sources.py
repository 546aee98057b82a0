"""A constant load whose topics change, or whose offsets are no rows, gets the replicas that it gets otherwise.

150 rows/s; one replica does 98, so two are needed.
"""

from collections.abc import Callable
from functools import partial

import pytest
from field_world import play, resizes, scene_of, steady

from tests.spark_progress import SimulatedSource, recreated, successive, topic, transactional

ROWS_PER_S, CHANGED_S = 150.0, 1200.0
CHANGED_ROWS = int(ROWS_PER_S * CHANGED_S)


def partitions_added(rows: int) -> object:
    """Return the offset of a topic that gets a third partition, which has all rows from then on."""
    old = topic(min(rows, CHANGED_ROWS))
    return {"rides": {**old["rides"], "2": rows - CHANGED_ROWS}} if rows > CHANGED_ROWS else old


def truncated(rows: int) -> object:
    """Return the offset of a topic that loses its newest 50 rows of 400,000 in each partition."""
    return topic(rows, first=400_000 - (50 if rows > CHANGED_ROWS else 0))


@pytest.mark.parametrize(
    "offset_of",
    [
        partial(recreated, after_rows=CHANGED_ROWS),
        partial(successive, after_rows=CHANGED_ROWS),
        partitions_added,
        truncated,
        partial(transactional, rows_per_transaction=1),
        partial(transactional, rows_per_transaction=40),
    ],
)
@pytest.mark.parametrize("counted_rows", [lambda rows: rows, lambda rows: 2 * rows])
def test_replicas_do_not_follow_the_offsets(
    offset_of: Callable[[int], object], counted_rows: Callable[[int], int]
) -> None:
    notes = play(
        scene_of(steady(ROWS_PER_S, hours=0.6), replicas=2),
        source=SimulatedSource(offset_of=offset_of, counted_rows=counted_rows),
    )
    assert resizes(notes) == []
    loads = [each.analysis.reading.input_rows_per_s for each in notes.decisions if each.analysis.reading is not None]
    known = [load for load in loads if load is not None]
    assert len(known) > 0.9 * len(loads)
    # Where markers and repeated reads cancel out, a row that is read twice counts as two, in load and capacity.
    assert all(0.9 * ROWS_PER_S <= load <= 2.1 * ROWS_PER_S for load in known)
