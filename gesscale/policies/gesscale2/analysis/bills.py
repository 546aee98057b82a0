"""What each number of replicas is expected to cost: every candidate is played against every course of the load.

After its first step a candidate goes on by simple rules, of which the best counts (parallel rollout; Bertsekas,
Reinforcement Learning and Optimal Control, 2019, section 2.4). First in, first out: rows are late where what was
served is less than what had been offered the objective ago.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gesscale.decision import CandidateBill

Array = NDArray[np.float64]
Counts = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeCost:
    """What a change of the replicas costs.

    Attributes
    ----------
    stop_s
        For how long the job stops; 0 where it goes on.
    start_s
        For how long a new replica does not count where the job goes on.
    settle_s
        So long after a change no other can be ordered.
    replica_minutes
        What a change costs on top.
    """

    stop_s: float
    start_s: float
    settle_s: float
    replica_minutes: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Outlook:
    """An operator and its load from now on; c courses, k steps.

    Attributes
    ----------
    rows_per_s
        Shape ``(most,)``: capacity of 1, 2, ... replicas, never falling.
    replicas
        How many there are.
    present_rows_per_s
        What they carry where they are.
    least, most
        How many there may be.
    steps_s
        Shape ``(k,)``: length of each step, seconds.
    offered, due
        Shape ``(c, k + 1)``: rows offered from now until each instant, and those that have to be through by then.
    weights
        Shape ``(c,)``: of the courses.
    backlog_rows
        Rows that wait now.
    resting_s, allowed_s
        Rows of so many seconds always wait; and of so many may, before one is late.
    change
        What a change costs.
    late_minute_price
        In replica-minutes.
    """

    rows_per_s: Array
    replicas: int
    present_rows_per_s: float
    least: int
    most: int
    steps_s: Array
    offered: Array
    due: Array
    weights: Array
    backlog_rows: float
    resting_s: float
    allowed_s: float
    change: ChangeCost
    late_minute_price: float


class _Rule(NamedTuple):
    """How a candidate goes on.

    Attributes
    ----------
    headroom
        It grows to the load and this share of it.
    slack
        It shrinks to the load and this share of it.
    drain
        Beside the load it has room for the backlog to drain within so many allowed times.
    tolerated
        A backlog of this share of the allowed time is none.
    """

    headroom: float
    slack: float
    drain: float
    tolerated: float


_NEVER = 1e9
_LEAST_SPARE_SHARE = 0.25
_RULES = (
    _Rule(headroom=-0.60, slack=-0.50, drain=1.0, tolerated=0.4),
    _Rule(headroom=-0.30, slack=-0.25, drain=1.0, tolerated=0.5),
    _Rule(headroom=-0.10, slack=-0.05, drain=1.0, tolerated=0.6),
    _Rule(headroom=-0.05, slack=0.00, drain=2.0, tolerated=0.4),
    _Rule(headroom=0.00, slack=0.05, drain=3.0, tolerated=0.0),
    _Rule(headroom=0.10, slack=0.15, drain=2.0, tolerated=0.0),
    _Rule(headroom=0.25, slack=0.35, drain=1.0, tolerated=0.0),
    _Rule(headroom=0.60, slack=0.60, drain=1.0, tolerated=0.0),
    # For where a change stops the job: few changes, and a backlog drains by itself.
    _Rule(headroom=0.00, slack=0.30, drain=_NEVER, tolerated=0.0),
    _Rule(headroom=0.00, slack=0.80, drain=_NEVER, tolerated=0.0),
    _Rule(headroom=0.00, slack=_NEVER, drain=_NEVER, tolerated=0.0),
    _Rule(headroom=0.30, slack=1.00, drain=20.0, tolerated=0.0),
)


@dataclass(slots=True)
class _Course:
    """Where each candidate is by each rule on each course, and what it paid; shape ``(candidates, rules, c)``."""

    count: Counts
    rows_per_s: Array
    served: Array
    stopped_s: Array
    settling_s: Array
    replica_s: Array
    late_s: Array
    changes: Array


class Candidate(NamedTuple):
    """What may be done in the first step.

    Attributes
    ----------
    replicas
        How many to hold, from 1 to as many as have a capacity.
    changed
        Whether that is a change: another number, or the same on other nodes.
    """

    replicas: int
    changed: bool


def bills(outlook: Outlook, candidates: Sequence[Candidate]) -> tuple[CandidateBill, ...]:
    """Return the bill of each candidate.

    Parameters
    ----------
    outlook
        The operator and its load.
    candidates
        One or more.

    Returns
    -------
    tuple of CandidateBill
        In the order of the candidates.
    """
    shape = (len(candidates), len(_RULES), len(outlook.weights))
    course = _Course(
        np.full(shape, outlook.replicas),
        np.full(shape, outlook.present_rows_per_s),
        np.full(shape, -outlook.backlog_rows),
        *(np.zeros(shape) for _ in range(5)),
    )
    counts, changed = (
        np.broadcast_to(np.array(column)[:, None, None], shape) for column in zip(*candidates, strict=True)
    )
    _play(outlook, course, 0, counts, changed)
    for step in range(1, len(outlook.steps_s)):
        wanted = _by_rule(outlook, course, step)
        _play(outlook, course, step, wanted, wanted != course.count)
    _settle(outlook, course)
    paid = course.replica_s / 60, course.late_s / 60, course.changes
    totals = paid[0] + outlook.late_minute_price * paid[1] + outlook.change.replica_minutes * paid[2]
    expected = totals @ outlook.weights
    best = np.argmin(expected, axis=1)
    picked = np.arange(len(candidates)), best
    parts = [(part @ outlook.weights)[picked].tolist() for part in paid]
    return tuple(
        CandidateBill(
            replicas=candidate.replicas,
            replica_minutes=replicas,
            late_minutes=late,
            changes=changes,
            total=float(total),
        )
        for candidate, replicas, late, changes, total in zip(
            candidates, *parts, expected[picked], strict=True
        )
    )


def _by_rule(outlook: Outlook, course: _Course, step: int) -> Counts:
    """Return how many replicas each rule wants, which knows the load of the step before."""
    headroom, slack, drain, tolerated = (np.array(column)[:, None] for column in zip(*_RULES, strict=True))
    before = slice(step - 1, step + 1)
    load = np.diff(outlook.offered[:, before])[:, 0] / outlook.steps_s[step - 1]
    waiting = outlook.offered[:, step] - course.served
    beyond = waiting - load * outlook.resting_s
    room = drain * outlook.allowed_s
    high = np.maximum(0.0, beyond - load * (tolerated * outlook.allowed_s)) / room
    low = np.maximum(0.0, beyond) / room
    growing = np.searchsorted(outlook.rows_per_s, load * (1 + headroom) + high) + 1
    shrinking = np.searchsorted(outlook.rows_per_s, load * (1 + slack) + low) + 1
    count = course.count
    wanted = np.where(growing > count, growing, np.minimum(shrinking, count))
    wanted = np.clip(wanted, outlook.least, outlook.most)
    return np.where(course.settling_s > 0, count, wanted)


def _play(outlook: Outlook, course: _Course, step: int, wanted: Counts, moved: NDArray[np.bool_]) -> None:
    """Let one step pass: first what a change holds up, then the rest of it."""
    seconds, change = outlook.steps_s[step], outlook.change
    before = course.rows_per_s
    after = np.where(moved, outlook.rows_per_s[wanted - 1], before)
    if change.stop_s > 0:
        course.stopped_s = np.where(moved, change.stop_s, course.stopped_s)
        held_s, held_rows_per_s = np.minimum(course.stopped_s, seconds), np.zeros(1)
        course.stopped_s = course.stopped_s - held_s
    else:
        held_s = np.where(moved, min(change.start_s, seconds), 0.0)
        held_rows_per_s = np.minimum(before, after)
    (offered_from, offered_until), (due_from, due_until) = (
        (rows[:, step], rows[:, step + 1]) for rows in (outlook.offered, outlook.due)
    )
    share = held_s / seconds
    offered_then = offered_from + share * (offered_until - offered_from)
    due_then = due_from + share * (due_until - due_from)
    served_then = np.minimum(offered_then, course.served + held_rows_per_s * held_s)
    served = np.minimum(offered_until, served_then + after * (seconds - held_s))
    course.late_s += held_s * share_above_0(due_from - course.served, due_then - served_then)
    course.late_s += (seconds - held_s) * share_above_0(due_then - served_then, due_until - served)
    settling_s = np.where(moved, max(change.settle_s, change.stop_s), course.settling_s)
    course.settling_s = np.maximum(0.0, settling_s - seconds)
    course.replica_s += wanted * seconds
    course.changes += moved
    course.count, course.rows_per_s, course.served = wanted, after, served


def _settle(outlook: Outlook, course: _Course) -> None:
    """Charge what is left: the work that waits, and the time until no row is late any more with all replicas."""
    load = (outlook.offered[:, -1] - outlook.offered[:, -2]) / outlook.steps_s[-1]
    most = outlook.rows_per_s[outlook.most - 1]
    # A load that no number of replicas carries goes down again some day: the less waits until then, the better.
    spare = np.maximum(most - load, _LEAST_SPARE_SHARE * most)
    course.late_s += np.maximum(0.0, outlook.due[:, -1] - course.served) / spare
    course.replica_s += np.maximum(0.0, outlook.offered[:, -1] - course.served) / outlook.rows_per_s[0]


def share_above_0(begin: Array, end: Array) -> Array:
    """Return the share of a time in which what goes straight from one value to another is above 0.

    Examples
    --------
    >>> share_above_0(np.array([-1.0, 2.0, 1.0, -1.0]), np.array([3.0, 1.0, -1.0, -2.0])).tolist()
    [0.75, 1.0, 0.5, 0.0]
    """
    high, low = np.maximum(begin, end), np.minimum(begin, end)
    return np.where(high <= 0, 0.0, np.where(low >= 0, 1.0, high / np.maximum(high - low, 1e-300)))
