"""Triggers and batches of seconds to hours: decided within two batches, near the need, and at rest."""

from dataclasses import replace

import pytest
from complaint_world import changes, replicas_at, run, under
from spark_scenes import QUIET, Notes, equal_delays, one_operator, run_scene

from gesscale.model.decision import Reason
from testbed.workloads.workload import Workload

#: One replica does about 488 rows/s (`under`): two are needed.
ROWS_PER_S, NEEDED = 800, 2


def played(trigger_s: float, minutes: list[float]) -> Notes:
    """Run the default policy without a cap: a batch takes all that waits."""
    scene = under(minutes, period_s=20.0, rows=10**9)
    return run_scene(scene, "gesscale", physics=replace(QUIET, trigger_s=trigger_s))


def second_batch_s(notes: Notes) -> float:
    """Return when the second batch was known."""
    read = (each.analysis.reading for each in notes.decisions if each.analysis.reading is not None)
    return next(reading.at_s for reading in read if len(reading.batches) > 1)


@pytest.mark.parametrize("trigger_s", [2.0, 10.0, 30.0, 60.0, 300.0, 600.0])
def test_a_decision_comes_within_two_batches_whatever_the_trigger(trigger_s: float) -> None:
    # The longest: batches of 10 min of rows take 16 min on one replica, the next 27.
    notes = played(trigger_s, [ROWS_PER_S] * (60 + round(trigger_s / 3)))
    first, *later = changes(notes)
    assert first.at_s <= second_batch_s(notes) + 40
    assert len(first.plan.placement) in {NEEDED, NEEDED + 1}
    counted_s = 3 * trigger_s  # the objective, where one minute is shorter
    assert (f"{counted_s:g} s" in first.plan.detail) == (counted_s > 60)
    # The surplus replica of a first guess goes; nothing else changes.
    assert [len(each.plan.placement) for each in later] in ([], [NEEDED])


@pytest.mark.parametrize("trigger_s", [60.0, 120.0])
def test_a_first_batch_of_half_an_hour_is_followed_by_a_decision(trigger_s: float) -> None:
    # A million rows come in the first minute, in one batch of 34 min; 270 rows/s need one replica, 60 % of it.
    notes = played(trigger_s, [1e6 / 60] + [270.0] * 120)
    assert not {each.plan.reason for each in notes.decisions} & {Reason.METRICS_STALE}
    first, *later = changes(notes)
    assert first.at_s <= second_batch_s(notes) + 40
    assert len(later) <= 3
    assert len(notes.decisions[-1].plan.placement) <= 2


@pytest.mark.parametrize("every", [2, 3, 6])
def test_pauses_between_bursts_cost_nothing(every: int) -> None:
    # Bursts of 10 s each 20, 30 or 60 s; on average 300 rows/s for 20 min, 1400 for 30, and 300 again: 1, 3 or 4, 1.
    bursts = [
        rate * every * (step % every == 0)
        for rate, minutes in ((300, 20), (1400, 30), (300, 30))
        for step in range(6 * minutes)
    ]
    notes = run(
        one_operator(Workload.of_rates("bursts", 10.0, bursts), delays=equal_delays(6, 5.0), rows=10**9),
        physics=replace(QUIET, trigger_s=2.0),
    )
    assert replicas_at(notes, 3000) >= 3
    assert replicas_at(notes, 3000 + 600) == 1
    assert len(changes(notes)) <= 10  # a burst of 60 s of rows takes as long as the objective: 4 or 6 at the peak
