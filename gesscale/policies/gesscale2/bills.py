"""The expected bill of each number of replicas: every candidate is played against every course of the load.

After the first step a candidate goes on as one of a few simple rules would, of which the best counts (rollout;
Bertsekas, Dynamic Programming and Optimal Control, section 6.4). Rows are late where what was served is less than
what had been offered the objective ago: first in, first out.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What is decided on, in rows, rows/s and seconds.

    Attributes
    ----------
    capacity
        Capacity of 1..N replicas on their best placements, rows/s.
    replicas
        How many there are now.
    candidates
        How many there may be next.
    least, most
        Limits of the rules that go on.
    step_s
        Length of each step.
    offered
        ``(s, steps + 1)``: rows offered until the beginning of each step, 0 now.
    due
        The same, for the rows that are late if they were not served.
    weights
        Of the courses.
    served
        Rows served now: the backlog below 0.
    change_stop_s, change_slow_s
        For how long a change stops the job, and for how long new replicas do not count.
    """

    capacity: Array
    replicas: int
    candidates: NDArray[np.int64]
    least: int
    most: int
    step_s: Array
    offered: Array
    due: Array
    weights: Array
    backlog_rows: float
    resting_s: float
    change_stop_s: float
    change_slow_s: float
    late_minute_price: float
    change_price: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Bill:
    """What a candidate is expected to cost over the horizon."""

    replicas: int
    replica_minutes: float
    late_minutes: float
    changes: float
    total: float


RULES = np.array(
    # headroom upwards, slack before going down, seconds (in objectives) to drain a backlog
    [
        (0.00, 0.05, 3.0),
        (0.10, 0.15, 2.0),
        (0.25, 0.35, 1.0),
        (0.50, 0.60, 1.0),
        (0.25, 1.50, 1.0),
        (0.60, 1e9, 1.0),
    ]
)


def bills(asked: Question, slo_s: float) -> tuple[Bill, ...]:
    """Return the bill of each candidate, in their order."""
    candidates, rules, courses = len(asked.candidates), len(RULES), len(asked.weights)
    shape = (candidates, rules, courses)
    cap = np.concatenate([[0.0], asked.capacity])
    count = np.broadcast_to(asked.candidates[:, None, None], shape)
    before = np.full(shape, asked.replicas)
    served = np.full(shape, -asked.backlog_rows)
    stop = np.zeros(shape)
    paid = np.zeros(shape)
    late = np.zeros(shape)
    changes = np.zeros(shape)
    up, down, drain = (RULES[:, i][None, :, None] for i in range(3))
    drain_s = drain * slo_s
    rates = np.diff(asked.offered, axis=1) / asked.step_s
    for index, seconds in enumerate(asked.step_s):
        if index:
            need = rates[:, index - 1][None, None, :]
            waiting = asked.offered[:, index] - served
            extra = np.maximum(0.0, waiting - need * asked.resting_s) / drain_s
            wanted = np.searchsorted(asked.capacity, need * (1 + up) + extra) + 1
            keeps = np.searchsorted(asked.capacity, need * (1 + down) + extra) + 1
            count = np.where(wanted > before, wanted, np.where(keeps < before, keeps, before))
            count = np.clip(count, asked.least, asked.most)
            count = np.where(stop > 0, before, count)
        moved = count != before
        changes += moved
        paid += count * (seconds / 60)
        stop = np.where(moved, asked.change_stop_s, stop)
        new, old = cap[count], cap[before]
        if asked.change_stop_s > 0:
            first = np.minimum(stop, seconds)
            slow = 0.0
        else:
            first = np.where(moved, min(asked.change_slow_s, seconds), 0.0)
            slow = np.minimum(new, old)
        share = first / seconds
        here = asked.offered[:, index] + share * (asked.offered[:, index + 1] - asked.offered[:, index])
        due_here = asked.due[:, index] + share * (asked.due[:, index + 1] - asked.due[:, index])
        mid = np.minimum(here, served + slow * first)
        after = np.minimum(asked.offered[:, index + 1], mid + new * (seconds - first))
        late += first * _late_share(asked.due[:, index] - served, due_here - mid)
        late += (seconds - first) * _late_share(due_here - mid, asked.due[:, index + 1] - after)
        served, before = after, count
        stop = stop - first
    waiting = np.maximum(0.0, asked.offered[:, -1] - served)
    overdue = np.maximum(0.0, asked.due[:, -1] - served)
    last = rates[:, -1][None, None, :]
    spare = np.maximum(asked.capacity[-1] - last, 0.1 * asked.capacity[-1])
    late += np.minimum(overdue / spare, 600 * slo_s / 10)
    paid += waiting / (asked.capacity[0] * 60)
    late /= 60
    total = paid + asked.late_minute_price * late + asked.change_price * changes
    expected = total @ asked.weights
    best = np.argmin(expected, axis=1)
    rows = np.arange(candidates)
    means = [np.take_along_axis(each @ asked.weights, best[:, None], 1)[:, 0] for each in (paid, late, changes)]
    return tuple(
        Bill(
            replicas=int(asked.candidates[row]),
            replica_minutes=float(means[0][row]),
            late_minutes=float(means[1][row]),
            changes=float(means[2][row]),
            total=float(expected[row, best[row]]),
        )
        for row in rows
    )


def _late_share(begin: Array, end: Array) -> Array:
    """Return the share of a time in which something that goes straight from one value to another is above 0."""
    high, low = np.maximum(begin, end), np.minimum(begin, end)
    return np.where(high <= 0, 0.0, np.where(low >= 0, 1.0, high / np.maximum(high - low, 1e-9)))
