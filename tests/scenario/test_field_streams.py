"""Situations of real streams that public reports describe, by kind; docs/evidence/complaints.md is the list.

One replica does 98 rows/s (`field_world`): with the cap of 4,000 rows, 4,000 / (0.32 + 40) = 99.
"""

from dataclasses import replace
from functools import partial

import pytest
from field_world import PHYSICS, bursts, longest_wait_s, play, replicas_of, resizes, scene_of, steady

from gesscale.model.workflow import BatchCap
from testbed.simulator.scene import CostChange
from tests.spark_progress import SimulatedSource, recreated, successive, transactional

HOUR_S = 3600.0


@pytest.mark.parametrize("offset_of", [recreated, successive])
def test_a_topic_that_is_made_again_changes_nothing(offset_of: object) -> None:
    """spark#15102, #31089: 350 rows/s need 4 replicas; after 30 min the topic begins at 0, or an old one goes."""
    source = SimulatedSource(offset_of=partial(offset_of, after_rows=350 * 1800))  # type: ignore[operator, arg-type]
    notes = play(scene_of(steady(350, 2)), source=source)
    assert len(resizes(notes, 1800.0)) <= 1
    assert replicas_of(notes, 2400.0, 7200.0) == {4}
    assert longest_wait_s(notes, 1800.0) < 60.0


@pytest.mark.parametrize(("rows_per_s", "replicas", "rows_per_transaction"), [(150, 2, 3), (250, 3, 1), (350, 4, 10)])
def test_markers_of_transactions_are_no_rows(rows_per_s: float, replicas: int, rows_per_transaction: int) -> None:
    """keda#5675: each transaction takes an offset, so offsets grow by up to twice the rows."""
    source = SimulatedSource(offset_of=partial(transactional, rows_per_transaction=rows_per_transaction))
    notes = play(scene_of(steady(rows_per_s, 1.5)), source=source)
    assert replicas_of(notes, 3000.0, 5400.0) == {replicas}


def test_batches_counted_twice_keep_the_load() -> None:
    """An action per batch too many: a report counts each row twice, and the offsets once."""
    notes = play(scene_of(steady(150, 1.5)), source=SimulatedSource(counted_rows=lambda rows: 2 * rows))
    assert replicas_of(notes, 3000.0, 5400.0) == {2}


def test_an_offset_that_is_a_clock_is_no_load() -> None:
    """spark#31944: 10 rows/s; the offset is a time in milliseconds. Nothing is scaled by 1,000 rows/s."""

    def clock(rows: int) -> object:
        return {"plc1": {"0": 1_767_225_600_000 + 100 * rows}}

    source = SimulatedSource(description="org.example.PlcStream@1f", offset_of=clock)
    notes = play(scene_of(steady(10, 1)), source=source)
    assert resizes(notes) == []


@pytest.mark.parametrize(("rows_per_s", "minimum_s", "most"), [(70, 120, 1), (150, 30, 2), (70, 30, 1)])
def test_rows_that_wait_for_a_minimum_are_expected(rows_per_s: float, minimum_s: float, most: int) -> None:
    """spark#32653: minOffsetsPerTrigger; while rows wait for the minimum, the load is not 0."""
    physics = replace(PHYSICS, min_rows=round(rows_per_s * minimum_s))
    notes = play(scene_of(steady(rows_per_s, 2), cap=None), physics=physics)
    assert max(replicas_of(notes, 2400.0, 7200.0)) <= most + 1
    assert len(resizes(notes, 2400.0)) <= 2


@pytest.mark.parametrize("every_s", [10, 20, 30])
def test_bursts_count_over_whole_intervals(every_s: float) -> None:
    """knative#3153: 150 rows/s in bursts need 2 replicas; a window that holds one burst more shows 225."""
    notes = play(scene_of(bursts(150, every_s, 1.5)))
    assert max(replicas_of(notes, 2400.0, 5400.0)) <= 3
    assert len(resizes(notes, 2400.0)) <= 2


@pytest.mark.parametrize("trigger_s", [2.0, 10.0])
def test_a_row_that_costs_more_is_seen_within_minutes(trigger_s: float) -> None:
    """linux#1337: nodes throttle after an hour, a row costs 1.6 times as much, and 160 rows/s need 3 of 62 rows/s."""
    scene = scene_of(steady(160, 3), cost_changes=(CostChange(from_s=HOUR_S, until_s=3 * HOUR_S, factor=1.6),))
    notes = play(scene, physics=replace(PHYSICS, trigger_s=trigger_s))
    assert replicas_of(notes, HOUR_S + 900, 3 * HOUR_S) == {3}
    assert longest_wait_s(notes, HOUR_S) < 90.0
    assert len(resizes(notes, HOUR_S + 900)) <= 1


@pytest.mark.parametrize("trigger_s", [30.0, 45.0, 60.0])
def test_an_objective_shorter_than_the_cycle_costs_nothing(trigger_s: float) -> None:
    """The objective is 1 min: two replicas carry 150 rows/s, and more do not make rows younger than the trigger."""
    notes = play(scene_of(steady(150, 3), cap=None), physics=replace(PHYSICS, trigger_s=trigger_s))
    assert replicas_of(notes, HOUR_S, 3 * HOUR_S) == {2}
    assert len(resizes(notes, HOUR_S)) == 0


def test_a_cap_below_the_load_is_no_reason_for_replicas() -> None:
    """metabolicdata/core#33: 200 rows each 2 s are all that a batch may have, and 140 rows/s come."""
    notes = play(scene_of(steady(140, 2), cap=BatchCap(rows=200)))
    # A batch of 200 rows takes 0.32 + 2 / n s: two replicas do it within the trigger.
    assert max(replicas_of(notes, 1800.0, 7200.0)) <= 2
