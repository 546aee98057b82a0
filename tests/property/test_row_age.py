"""The age of rows against a simulated queue of single rows, whose ages are exact."""

from bisect import bisect_right
from dataclasses import dataclass, field
from itertools import accumulate

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from thoroughness import examples

from gesscale.model.observation import Batch, OperatorReading
from gesscale.monitor.batch_screen import screen_batches
from gesscale.monitor.row_age import RowAgeMeter
from gesscale.monitor.window import summarise

BEGAN_S, TRIGGER_S, OBJECTIVE_S = 1000.0, 2.0, 9.0


@dataclass
class Queue:
    """A query that takes single rows in batches, at its triggers, at most ``cap`` at a time."""

    offered_s: list[float]
    cap: int
    row_s: float
    batches: list[Batch] = field(default_factory=list)

    def run(self, until_s: float) -> None:
        at_s, done = BEGAN_S, 0
        while at_s < until_s:
            offered = bisect_right(self.offered_s, at_s)
            if rows := min(self.cap, offered - done):
                done += rows
                self.batches.append(
                    Batch(
                        batch_id=len(self.batches),
                        ended_at_s=at_s + 0.5 + rows * self.row_s,
                        rows=rows,
                        seconds=0.5 + rows * self.row_s,
                        nodes=("hub",),
                        trigger_s=TRIGGER_S,
                        offered_rows_total=offered,
                        backlog_rows=offered - done,
                    )
                )
                ended_s = self.batches[-1].ended_at_s
                at_s = (
                    ended_s
                    if (ended_s - BEGAN_S) % TRIGGER_S == 0
                    else ended_s + TRIGGER_S - (ended_s - BEGAN_S) % TRIGGER_S
                )
            else:
                at_s += TRIGGER_S

    def ended(self, at_s: float) -> list[Batch]:
        return [each for each in self.batches if each.ended_at_s <= at_s]

    def age_s(self, at_s: float) -> float:
        """Return the true age of the oldest row that waits at an instant."""
        through = sum(each.rows for each in self.ended(at_s))
        oldest_s = self.offered_s[through] if through < len(self.offered_s) else at_s
        return max(0.0, at_s - oldest_s)

    def late_s(self, from_s: float, until_s: float) -> float:
        """Return the true time in which the oldest row was late."""
        ends = [each.ended_at_s for each in self.batches if from_s < each.ended_at_s < until_s]
        total = 0.0
        for begin_s, end_s in zip([from_s, *ends], [*ends, until_s], strict=True):
            through = sum(each.rows for each in self.ended(begin_s))
            if through < len(self.offered_s):
                total += max(0.0, end_s - max(begin_s, self.offered_s[through] + OBJECTIVE_S))
        return total

    @property
    def cycle_s(self) -> float:
        return max(TRIGGER_S, *(each.seconds + TRIGGER_S for each in self.batches))

    def reading(self, at_s: float) -> OperatorReading | None:
        seen = summarise("op", screen_batches(self.ended(at_s), at_s), now_s=at_s, window_s=20.0, stale_after_s=1e6)
        return seen if isinstance(seen, OperatorReading) else None


@st.composite
def queues(draw: st.DrawFn) -> Queue:
    """Draw a stream whose rate changes, and a query that is at times too slow for it."""
    gaps = [
        gap
        for gap, count in draw(
            st.lists(st.tuples(st.sampled_from([0.02, 0.1, 0.4]), st.integers(40, 150)), min_size=2, max_size=6)
        )
        for _ in range(count)
    ]
    offered_s = [BEGAN_S + at_s for at_s in accumulate(gaps)]
    queue = Queue(offered_s, draw(st.sampled_from([10, 40, 10_000])), draw(st.sampled_from([0.01, 0.05, 0.2])))
    queue.run(offered_s[-1])
    assume(len(queue.batches) > 2)
    return queue


@given(queue=queues(), step_s=st.sampled_from([0.7, 3.0, 10.0]))
@settings(max_examples=examples(200), deadline=None)
def test_the_age_is_within_a_cycle_of_the_true_age(queue: Queue, step_s: float) -> None:
    meter, at_s = RowAgeMeter(), BEGAN_S
    while (at_s := at_s + step_s) < queue.offered_s[-1]:
        if (seen := queue.reading(at_s)) is None:
            continue
        measured = meter.measure(seen, OBJECTIVE_S)
        if measured.seconds is None:
            assert len(seen.batches) == 1  # the rate is not known yet
        elif measured.is_least:
            assert measured.seconds <= queue.age_s(at_s) + 1e-6
        else:
            assert abs(measured.seconds - queue.age_s(at_s)) <= queue.cycle_s


@given(queue=queues(), steps_s=st.tuples(st.sampled_from([0.7, 3.0]), st.sampled_from([11.0, 60.0])))
@settings(max_examples=examples(200), deadline=None)
def test_late_seconds_do_not_depend_on_the_steps(queue: Queue, steps_s: tuple[float, float]) -> None:
    first_s, last_s = queue.batches[0].ended_at_s, queue.batches[-1].ended_at_s
    found = []
    for step_s in steps_s:
        meter, at_s = RowAgeMeter(), first_s
        while at_s < last_s:
            if (seen := queue.reading(at_s)) is not None:
                meter.measure(seen, OBJECTIVE_S)
            at_s += step_s
        seen = queue.reading(last_s)
        assert seen is not None
        meter.measure(seen, OBJECTIVE_S)
        found.append(meter.ended_s)  # the counter itself may have run ahead of the batches
    assert found[0] == pytest.approx(found[1])
    crossings = 1 + sum(each.backlog_rows == 0 for each in queue.batches)
    assert abs(found[0] - queue.late_s(first_s, last_s)) <= crossings * queue.cycle_s
