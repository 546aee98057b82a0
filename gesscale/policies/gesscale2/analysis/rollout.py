"""Candidates played against every course of the load, by simple rules after their first step.

First in, first out: rows are late where what was served is less than what had been offered the objective ago.
"""

from collections.abc import Iterator, Sequence
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


class Game(NamedTuple):
    """An operator and its load, and the candidates that are played for it, one or more."""

    outlook: Outlook
    candidates: Sequence[Candidate]


class Paid(NamedTuple):
    """What each candidate pays by each rule on each course; shape ``(candidates, rules, c)``."""

    replica_minutes: Array
    late_minutes: Array
    changes: Array


MOST_LANES = 16384
"""So many are played at once: more no longer fit into a processor's nearest memory."""


def play(games: Sequence[Game]) -> list[Paid]:
    """Play the candidates of many operators to the end of the courses.

    Operators of the same shape are played together, since the steps of one alone are too short for arrays.

    Parameters
    ----------
    games
        Any number.

    Returns
    -------
    list of Paid
        In the order of the games.
    """
    alike: dict[object, list[int]] = {}
    for index, game in enumerate(games):
        alike.setdefault(_shape(game), []).append(index)
    found: dict[int, Paid] = {}
    for indices in alike.values():
        candidates, courses = len(games[indices[0]].candidates), len(games[indices[0]].outlook.weights)
        at_once = max(1, MOST_LANES // (candidates * len(_RULES) * courses))
        for begin in range(0, len(indices), at_once):
            some = indices[begin : begin + at_once]
            found.update(zip(some, _play_alike([games[index] for index in some]), strict=True))
    return [found[index] for index in range(len(games))]


def _shape(game: Game) -> tuple[object, ...]:
    outlook = game.outlook
    return (
        len(game.candidates),
        len(outlook.weights),
        len(outlook.rows_per_s),
        max(outlook.replicas, len(outlook.rows_per_s)),
        outlook.change.stop_s > 0,
        outlook.steps_s.tobytes(),
    )


class _Lanes(NamedTuple):
    """What o operators of one shape meet, the same for all candidates; a lane is a course with a rule, l of them.

    Attributes
    ----------
    steps_s
        Shape ``(k,)``.
    instants_s
        Shape ``(k + 1,)``: when each step begins, and the last one ends, seconds from now.
    offered, due
        Shape ``(k + 1, o, 1, l)``: as in `Outlook`.
    resting_rows, tolerated_rows
        Shape ``(k, o, 1, l)``: rows that always wait, and so many more that may wait as if they did not.
    high_load, low_load
        Shape ``(k, o, 1, l)``: the loads to which a rule grows and shrinks, rows/s.
    room_s
        Shape ``(o, 1, l)``: in which a backlog is to drain.
    rows_per_s
        Shape ``(o, n)``: capacity of 1, 2, ... replicas.
    grows_above, shrinks_at
        Shape ``(o, w)``: loads above and up to which 0, 1, 2 ... replicas become more or fewer, rows/s.
    least, most
        Shape ``(o,)``: replicas.
    start_s, stop_s, busy_s
        Shape ``(o,)``: for how long a new replica does not count, the job stops, and no other change can be ordered.
    """

    steps_s: Array
    instants_s: Array
    offered: Array
    due: Array
    resting_rows: Array
    tolerated_rows: Array
    high_load: Array
    low_load: Array
    room_s: Array
    rows_per_s: Array
    grows_above: Array
    shrinks_at: Array
    least: Counts
    most: Counts
    start_s: Array
    stop_s: Array
    busy_s: Array


def _lanes(outlooks: Sequence[Outlook]) -> _Lanes:
    """Lay out what the candidates meet; in each step a rule knows the load of the step before."""
    first = outlooks[0]
    headroom, slack, drain, tolerated = (
        np.repeat(column, len(first.weights)) for column in zip(*_RULES, strict=True)
    )
    offered, due = (
        np.tile(np.array(rows).transpose(2, 0, 1)[:, :, None], len(_RULES))
        for rows in ([each.offered for each in outlooks], [each.due for each in outlooks])
    )
    load = np.diff(offered, axis=0) / first.steps_s[:, None, None, None]
    load = np.concatenate([load[:1], load[:-1]])  # no rule is asked in the first step
    resting_s, allowed_s = (
        np.array(column)[:, None, None]
        for column in zip(*((each.resting_s, each.allowed_s) for each in outlooks), strict=True)
    )
    rows_per_s = np.array([each.rows_per_s for each in outlooks])
    least, most = np.array([(each.least, each.most) for each in outlooks]).T[:, :, None]
    count = np.arange(max(first.replicas, rows_per_s.shape[1]) + 1)
    carried, carried_by_fewer = (rows_per_s.take(count - fewer, axis=1, mode="clip") for fewer in (1, 2))
    changes = [each.change for each in outlooks]
    return _Lanes(
        steps_s=first.steps_s,
        instants_s=np.cumsum([0.0, *first.steps_s]),
        offered=offered,
        due=due,
        resting_rows=load * resting_s,
        tolerated_rows=load * (tolerated * allowed_s),
        high_load=load * (1 + headroom),
        low_load=load * (1 + slack),
        room_s=drain * allowed_s,
        rows_per_s=rows_per_s,
        grows_above=np.where(count < least, -np.inf, np.where(count < most, carried, np.inf)),
        shrinks_at=np.where(count > most, np.inf, np.where(count > least, carried_by_fewer, -np.inf)),
        least=least[:, 0],
        most=most[:, 0],
        start_s=np.array([each.start_s for each in changes]),
        stop_s=np.array([each.stop_s for each in changes]),
        busy_s=np.array([max(each.settle_s, each.stop_s) for each in changes]),
    )


@dataclass(slots=True)
class _Course:
    """Where each candidate is in each lane, and what it paid; each array of shape ``(o, candidates, l)``.

    Attributes
    ----------
    count, rows_per_s
        Replicas, and what they carry.
    slot
        Where `count` is in the tables of its operator, which have ``w`` columns.
    served
        Rows, from now on.
    overdue
        Rows that have to be through and are not; below 0 where there is time left.
    stopped_s
        How long the job still stops.
    settled_s
        When the last change has settled, seconds from now.
    replica_s, late_s
        What was paid so far.
    moved
        In each step, the flat indices of those that changed.
    """

    count: Array
    slot: Counts
    rows_per_s: Array
    served: Array
    overdue: Array
    stopped_s: Array
    settled_s: Array
    replica_s: Array
    late_s: Array
    moved: list[Counts]


def _play_alike(games: Sequence[Game]) -> Iterator[Paid]:
    """Play operators of one shape."""
    outlooks = [game.outlook for game in games]
    lanes = _lanes(outlooks)
    counts, changed = (
        np.array([[getattr(each, name) for each in game.candidates] for game in games])[:, :, None]
        for name in Candidate._fields
    )
    shape = (*counts.shape[:2], lanes.room_s.shape[-1])

    def everywhere(values: Sequence[float]) -> Array:
        return np.broadcast_to(np.array(values)[:, None, None], shape).copy()

    table = lanes.grows_above.shape[1] * np.arange(len(games))[:, None, None]
    served = everywhere([-each.backlog_rows for each in outlooks])
    course = _Course(
        np.broadcast_to(counts, shape).astype(np.float64),
        np.broadcast_to(counts + table, shape).copy(),
        everywhere([each.present_rows_per_s for each in outlooks]),
        served,
        lanes.due[0] - served,
        *(np.zeros(shape) for _ in range(4)),
        moved=[],
    )
    moved = np.broadcast_to(changed, shape).ravel().nonzero()[0]
    _play_step(lanes, course, 0, moved, np.broadcast_to(counts, shape).ravel().take(moved))
    for step in range(1, len(lanes.steps_s)):
        _play_step(lanes, course, step, *_by_rule(lanes, course, step))
    _settle(lanes, course)
    changes = np.bincount(np.concatenate(course.moved), minlength=served.size).astype(np.float64)
    each = len(games), shape[1], len(_RULES), len(outlooks[0].weights)
    parts = (course.replica_s / 60, course.late_s / 60, changes)
    return (Paid(*paid) for paid in zip(*(part.reshape(each) for part in parts), strict=True))


def _by_rule(lanes: _Lanes, course: _Course, step: int) -> tuple[Counts, Counts]:
    """Return where a rule wants another number of replicas, and how many."""
    low = lanes.offered[step] - course.served
    low -= lanes.resting_rows[step]
    high = low - lanes.tolerated_rows[step]
    for rows, load in (high, lanes.high_load[step]), (low, lanes.low_load[step]):
        np.maximum(rows, 0.0, out=rows)
        np.divide(rows, lanes.room_s, out=rows)
        np.add(rows, load, out=rows)
    moves = high > lanes.grows_above.take(course.slot)
    moves |= low <= lanes.shrinks_at.take(course.slot)
    moves &= course.settled_s <= lanes.instants_s[step]
    moved = moves.ravel().nonzero()[0]
    operator = _operators(course, moved)
    growing, shrinking = (_needed(lanes.rows_per_s, operator, load.take(moved)) for load in (high, low))
    wanted = np.maximum(growing, np.minimum(shrinking, course.count.take(moved)))
    wanted = np.minimum(np.maximum(wanted, lanes.least.take(operator)), lanes.most.take(operator))
    return moved, wanted.astype(np.int64)


def _operators(course: _Course, where: Counts) -> Counts:
    """Return whose the lanes at some flat indices are."""
    operators, candidates, lanes = course.count.shape
    return where // (candidates * lanes) if operators > 1 else np.zeros(len(where), dtype=np.int64)


def _needed(rows_per_s: Array, operator: Counts, load: Array) -> Counts:
    """Return how many replicas carry each load; operators are in ascending order."""
    if len(rows_per_s) == 1:
        return rows_per_s[0].searchsorted(load) + 1
    ends = operator.searchsorted(np.arange(len(rows_per_s) + 1))
    parts = (
        rows.searchsorted(load[begin:end])
        for rows, begin, end in zip(rows_per_s, ends[:-1], ends[1:], strict=True)
    )
    return np.concatenate([*parts]) + 1


def _play_step(lanes: _Lanes, course: _Course, step: int, moved: Counts, wanted: Counts) -> None:
    """Let one step pass, in which those at the indices ``moved`` change to so many replicas."""
    seconds = lanes.steps_s[step]
    held = _held_up(lanes, course, step, moved, wanted)
    served = course.rows_per_s * seconds
    served += course.served
    np.minimum(served, lanes.offered[step + 1], out=served)
    served.ravel()[held.who] = held.served
    overdue = lanes.due[step + 1] - served
    late_s = share_above_0(course.overdue, overdue)
    late_s *= seconds
    course.late_s += late_s
    course.late_s.ravel()[held.who] = held.late_s
    course.replica_s += course.count * seconds
    course.served, course.overdue = served, overdue


class _Held(NamedTuple):
    """Who is held up by a change in a step, as indices, the rows served until its end, and how long rows were late."""

    who: Counts
    served: Array
    late_s: Array


def _held_up(lanes: _Lanes, course: _Course, step: int, moved: Counts, wanted: Counts) -> _Held:
    """Begin the changes of a step, and play it for who is held up: first that, then the rest of it."""
    seconds = lanes.steps_s[step]
    operator = _operators(course, moved)
    rows_per_s = course.rows_per_s.ravel()
    before = rows_per_s.take(moved)
    after = lanes.rows_per_s.take(operator * lanes.rows_per_s.shape[1] + wanted - 1)
    course.count.ravel()[moved], rows_per_s[moved] = wanted, after
    course.slot.ravel()[moved] = operator * lanes.grows_above.shape[1] + wanted
    course.moved.append(moved)
    course.settled_s.ravel()[moved] = lanes.instants_s[step] + lanes.busy_s.take(operator)
    if lanes.stop_s[0] > 0:
        stopped_s = course.stopped_s.ravel()
        stopped_s[moved] = lanes.stop_s.take(operator)
        who = stopped_s.nonzero()[0]
        held_s, held_rows_per_s, after = (
            np.minimum(stopped_s.take(who), seconds),
            np.zeros(1),
            rows_per_s.take(who),
        )
        stopped_s[who] -= held_s
        operator = _operators(course, who)
    else:
        who, held_s = moved, np.minimum(lanes.start_s, seconds).take(operator)
        held_rows_per_s = np.minimum(before, after)
    width = course.count.shape[-1]
    lane = operator * width + who % width
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


def _settle(lanes: _Lanes, course: _Course) -> None:
    """Charge what is left: the work that waits, and the time until no row is late any more with all replicas."""
    load = (lanes.offered[-1] - lanes.offered[-2]) / lanes.steps_s[-1]
    most = np.take_along_axis(lanes.rows_per_s, lanes.most[:, None] - 1, axis=1)[:, :, None]
    # A load that no number of replicas carries goes down again some day: the less waits until then, the better.
    spare = np.maximum(most - load, _LEAST_SPARE_SHARE * most)
    course.late_s += np.maximum(0.0, course.overdue) / spare
    course.replica_s += np.maximum(0.0, lanes.offered[-1] - course.served) / lanes.rows_per_s[:, :1, None]


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
