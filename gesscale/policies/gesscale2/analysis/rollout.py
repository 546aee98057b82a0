"""Candidates played against every course of the load, by simple rules after their first step.

First in, first out: rows are late where what was served is less than what had been offered the objective ago.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gesscale.policies.gesscale2.analysis.outlook import Array, Candidate, Outlook

Counts = NDArray[np.int64]


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


class _Lanes(NamedTuple):
    """What is the same for all candidates; a lane is a course with a rule, l = rules * c of them.

    Attributes
    ----------
    instants_s
        Shape ``(k + 1,)``: when each step begins, and the last one ends, seconds from now.
    offered, due
        Shape ``(k + 1, l)``: as in `Outlook`.
    resting_rows, tolerated_rows
        Shape ``(k, l)``: rows that always wait, and so many more that may wait as if they did not.
    high_load, low_load
        Shape ``(k, l)``: the loads to which a rule grows and shrinks, rows/s.
    room_s
        Shape ``(l,)``: in which a backlog is to drain.
    grows_above, shrinks_at
        Loads above and up to which 0, 1, 2 ... replicas become more or fewer, rows/s.
    """

    instants_s: Array
    offered: Array
    due: Array
    resting_rows: Array
    tolerated_rows: Array
    high_load: Array
    low_load: Array
    room_s: Array
    grows_above: Array
    shrinks_at: Array


@dataclass(slots=True)
class _Course:
    """Where each candidate is in each lane, and what it paid; shape ``(candidates, l)``.

    Attributes
    ----------
    count, held
        How many replicas it has: as an index, and as a figure to sum up.
    grows_above, shrinks_at
        Loads above and up to which that many become more or fewer, rows/s.
    overdue
        Rows that have to be through and are not; below 0 where there is time left.
    settled_s
        When the last change has settled, seconds from now.
    """

    count: Counts
    held: Array
    grows_above: Array
    shrinks_at: Array
    rows_per_s: Array
    served: Array
    overdue: Array
    stopped_s: Array
    settled_s: Array
    replica_s: Array
    late_s: Array
    changes: Array


class Paid(NamedTuple):
    """What each candidate pays by each rule on each course; shape ``(candidates, rules, c)``."""

    replica_minutes: Array
    late_minutes: Array
    changes: Array


def play(outlook: Outlook, candidates: Sequence[Candidate]) -> Paid:
    """Play candidates to the end of the courses.

    Parameters
    ----------
    outlook
        The operator and its load.
    candidates
        One or more.
    """
    lanes = _lanes(outlook)
    shape = (len(candidates), len(lanes.room_s))
    counts, changed = (np.repeat(column, shape[1]) for column in zip(*candidates, strict=True))
    served = np.full(shape, -outlook.backlog_rows)
    count = counts.reshape(shape)
    course = _Course(
        count,
        count.astype(float),
        lanes.grows_above.take(count),
        lanes.shrinks_at.take(count),
        np.full(shape, outlook.present_rows_per_s),
        served,
        lanes.due[0] - served,
        *(np.zeros(shape) for _ in range(5)),
    )
    moved = np.flatnonzero(changed)
    _play_step(outlook, lanes, course, 0, moved, counts[moved])
    for step in range(1, len(outlook.steps_s)):
        _play_step(outlook, lanes, course, step, *_by_rule(outlook, lanes, course, step))
    _settle(outlook, lanes, course)
    each = len(candidates), len(_RULES), len(outlook.weights)
    return Paid(
        replica_minutes=(course.replica_s / 60).reshape(each),
        late_minutes=(course.late_s / 60).reshape(each),
        changes=course.changes.reshape(each),
    )


def _lanes(outlook: Outlook) -> _Lanes:
    """Lay out what the candidates meet; in each step a rule knows the load of the step before."""
    headroom, slack, drain, tolerated = (
        np.repeat(column, len(outlook.weights)) for column in zip(*_RULES, strict=True)
    )
    offered, due = (np.tile(rows.T, len(_RULES)) for rows in (outlook.offered, outlook.due))
    load = np.diff(offered, axis=0) / outlook.steps_s[:, None]
    load = np.concatenate([load[:1], load[:-1]])  # no rule is asked in the first step
    count = np.arange(max(outlook.replicas, len(outlook.rows_per_s)) + 1)
    below, above = count < outlook.least, count > outlook.most
    carried, carried_by_fewer = (outlook.rows_per_s.take(count - fewer, mode="clip") for fewer in (1, 2))
    return _Lanes(
        instants_s=np.cumsum([0.0, *outlook.steps_s]),
        offered=offered,
        due=due,
        resting_rows=load * outlook.resting_s,
        tolerated_rows=load * (tolerated * outlook.allowed_s),
        high_load=load * (1 + headroom),
        low_load=load * (1 + slack),
        room_s=drain * outlook.allowed_s,
        grows_above=np.where(below, -np.inf, np.where(count < outlook.most, carried, np.inf)),
        shrinks_at=np.where(above, np.inf, np.where(count > outlook.least, carried_by_fewer, -np.inf)),
    )


def _by_rule(outlook: Outlook, lanes: _Lanes, course: _Course, step: int) -> tuple[Counts, Counts]:
    """Return where a rule wants another number of replicas, and how many."""
    low = lanes.offered[step] - course.served
    low -= lanes.resting_rows[step]
    high = low - lanes.tolerated_rows[step]
    for rows, load in (high, lanes.high_load[step]), (low, lanes.low_load[step]):
        np.maximum(rows, 0.0, out=rows)
        np.divide(rows, lanes.room_s, out=rows)
        np.add(rows, load, out=rows)
    moves = high > course.grows_above
    moves |= low <= course.shrinks_at
    moves &= course.settled_s <= lanes.instants_s[step]
    moved = np.flatnonzero(moves)
    growing, shrinking = (outlook.rows_per_s.searchsorted(load.take(moved)) + 1 for load in (high, low))
    wanted = np.maximum(growing, np.minimum(shrinking, course.count.take(moved)))
    return moved, np.minimum(np.maximum(wanted, outlook.least), outlook.most)


def _play_step(
    outlook: Outlook, lanes: _Lanes, course: _Course, step: int, moved: Counts, wanted: Counts
) -> None:
    """Let one step pass, in which those at the indices ``moved`` change to so many replicas."""
    seconds = outlook.steps_s[step]
    held = _held_up(outlook, lanes, course, step, moved, wanted)
    served = course.rows_per_s * seconds
    served += course.served
    np.minimum(served, lanes.offered[step + 1], out=served)
    if held is not None:
        served.ravel()[held.who] = held.served
    overdue = lanes.due[step + 1] - served
    late_s = share_above_0(course.overdue, overdue)
    late_s *= seconds
    course.late_s += late_s
    if held is not None:
        course.late_s.ravel()[held.who] = held.late_s
    course.replica_s += course.held * seconds
    course.served, course.overdue = served, overdue


class _Held(NamedTuple):
    """Who is held up by a change in a step, as indices, the rows served until its end, and how long rows were late."""

    who: Counts
    served: Array
    late_s: Array


def _held_up(
    outlook: Outlook, lanes: _Lanes, course: _Course, step: int, moved: Counts, wanted: Counts
) -> _Held | None:
    """Begin the changes of a step, and play it for who is held up: first that, then the rest of it; None if nobody."""
    seconds, change = outlook.steps_s[step], outlook.change
    if not moved.size and (change.stop_s <= 0 or not course.stopped_s.any()):
        return None
    rows_per_s, stopped_s = course.rows_per_s.ravel(), course.stopped_s.ravel()
    before, after = rows_per_s.take(moved), outlook.rows_per_s.take(wanted - 1)
    course.count.ravel()[moved] = course.held.ravel()[moved] = wanted
    course.grows_above.ravel()[moved] = lanes.grows_above.take(wanted)
    course.shrinks_at.ravel()[moved] = lanes.shrinks_at.take(wanted)
    rows_per_s[moved] = after
    course.changes.ravel()[moved] += 1
    course.settled_s.ravel()[moved] = lanes.instants_s[step] + max(change.settle_s, change.stop_s)
    if change.stop_s > 0:
        stopped_s[moved] = change.stop_s
        who = np.flatnonzero(stopped_s)
        held_s, held_rows_per_s, after = (
            np.minimum(stopped_s.take(who), seconds),
            np.zeros(1),
            rows_per_s.take(who),
        )
        stopped_s[who] -= held_s
    else:
        who, held_s = moved, np.full(1, min(change.start_s, seconds))
        held_rows_per_s = np.minimum(before, after)
    lane = who % len(lanes.room_s)
    (offered_from, offered_until), (due_from, due_until) = (
        (rows[step].take(lane), rows[step + 1].take(lane)) for rows in (lanes.offered, lanes.due)
    )
    share = held_s / seconds
    offered_then = offered_from + share * (offered_until - offered_from)
    due_then = due_from + share * (due_until - due_from)
    served_then = np.minimum(offered_then, course.served.take(who) + held_rows_per_s * held_s)
    served = np.minimum(offered_until, served_then + after * (seconds - held_s))
    overdue_then = due_then - served_then
    late_s = course.late_s.take(who) + held_s * share_above_0(course.overdue.take(who), overdue_then)
    late_s += (seconds - held_s) * share_above_0(overdue_then, due_until - served)
    return _Held(who, served, late_s)


def _settle(outlook: Outlook, lanes: _Lanes, course: _Course) -> None:
    """Charge what is left: the work that waits, and the time until no row is late any more with all replicas."""
    load = (lanes.offered[-1] - lanes.offered[-2]) / outlook.steps_s[-1]
    most = outlook.rows_per_s[outlook.most - 1]
    # A load that no number of replicas carries goes down again some day: the less waits until then, the better.
    spare = np.maximum(most - load, _LEAST_SPARE_SHARE * most)
    course.late_s += np.maximum(0.0, course.overdue) / spare
    course.replica_s += np.maximum(0.0, lanes.offered[-1] - course.served) / outlook.rows_per_s[0]


def share_above_0(begin: Array, end: Array) -> Array:
    """Return the share of a time in which what goes straight from one value to another is above 0.

    Examples
    --------
    >>> share_above_0(np.array([-1.0, 2.0, 1.0, -1.0]), np.array([3.0, 1.0, -1.0, -2.0])).tolist()
    [0.75, 1.0, 0.5, 0.0]
    """
    high, low = np.maximum(begin, end), np.minimum(begin, end)
    np.subtract(high, low, out=low)
    np.maximum(low, 1e-300, out=low)
    high /= low
    np.maximum(high, 0.0, out=high)
    return np.minimum(high, 1.0, out=high)
