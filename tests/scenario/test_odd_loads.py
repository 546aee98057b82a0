"""Loads and totals that are odd: none for a day and then a jump, totals that are not numbers."""

import math
from dataclasses import replace

import pytest
from complaint_world import changes, reasons, replicas_at, run, under

from gesscale.loop import ControlLoop
from gesscale.model.decision import Reason
from gesscale.model.observation import OperatorReading, WorkflowObservation
from gesscale.monitor.batch_screen import screen_batches
from gesscale.monitor.window import summarise
from gesscale.ports import MetricSource
from testbed.simulator.scene import MetricTraits

DAY_MIN = 24 * 60
WINDOW_S = MetricTraits().window_s


def test_a_day_without_load_and_a_jump() -> None:
    # 100 rows/s for ten minutes, then none for a day; then 900, which need two replicas of 488.
    notes = run(under([100] * 10 + [0] * DAY_MIN + [900] * 20))
    jump_s = 60.0 * (10 + DAY_MIN)
    assert changes(notes, 0, jump_s) == []
    quiet = [each.analysis.reading for each in notes.decisions if 1200 <= each.at_s < jump_s]
    assert {reading.input_rows_per_s for reading in quiet} == {0.0}
    first, *_ = changes(notes, jump_s)
    assert first.at_s <= jump_s + 120
    assert len(first.plan.placement) in {2, 3}  # a fifth of the growth by 900 is expected to go on
    assert first.analysis.reading.input_rows_per_s == pytest.approx(900, rel=0.1)
    assert replicas_at(notes, jump_s + 1190) in {2, 3}


class Totals:
    """A metric source whose drivers report other totals of offered rows from 600 to 1500 s."""

    def __init__(self, inner: MetricSource, total: float | None) -> None:
        self._inner, self._total = inner, total

    def observe(self, now_s: float) -> WorkflowObservation:
        seen = self._inner.observe(now_s)
        return replace(seen, readings={name: self._read(each) for name, each in seen.readings.items()})

    def _read(self, reading: OperatorReading) -> OperatorReading:
        batches = [
            replace(each, offered_rows_total=self._total) if 600 <= each.ended_at_s < 1500 else each
            for each in reading.batches
        ]
        read = summarise(
            "op", screen_batches(batches, reading.at_s), now_s=reading.at_s, window_s=WINDOW_S, stale_after_s=180.0
        )
        assert isinstance(read, OperatorReading)
        return read


@pytest.mark.parametrize("total", [None, math.nan, math.inf, -1.0])
def test_totals_that_are_no_numbers_are_unknown(total: float | None) -> None:
    # The load falls at 600 s to what one replica carries, and the totals cannot show it.
    def lying(loop: ControlLoop) -> ControlLoop:
        return replace(loop, metrics=Totals(loop.metrics, total))

    notes = run(under([900] * 10 + [300] * 25), wired=lying)
    read = {each.at_s: each.analysis.reading for each in notes.decisions if each.analysis.reading is not None}
    assert {read[at_s].input_rows_per_s for at_s in (720.0, 900.0, 1440.0)} == {None}
    # The batches of the last three minutes are known; from then on there is no total.
    assert reasons(notes, 900, 1500) == {Reason.METRICS_MISSING}
    assert changes(notes, 900, 1500) == []
    assert replicas_at(notes, 2050) == 1
    assert read[1980.0].input_rows_per_s == pytest.approx(300, rel=0.05)
