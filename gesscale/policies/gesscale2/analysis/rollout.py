"""Candidates played against every course of the load: after their first step by simple rules, or as advised.

First in, first out: rows are late where what was served is less than what had been offered the objective ago.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gesscale.policies.gesscale2.analysis.advice import Advice, advice
from gesscale.policies.gesscale2.analysis.lanes import RULES, Lanes, lanes_of
from gesscale.policies.gesscale2.analysis.lateness import share_above_0, spare_rows_per_s
from gesscale.policies.gesscale2.analysis.outlook import Array, Candidate, Counts, Outlook


class Game(NamedTuple):
    """An operator and its load, and the candidates that are played for it, one or more."""

    outlook: Outlook
    candidates: Sequence[Candidate]


class Paid(NamedTuple):
    """What each candidate pays by each rule on each course; shape ``(candidates, rules, c)``.

    Where a change stops the job there is one way to go on, the advised one.
    """

    replica_minutes: Array
    late_minutes: Array
    changes: Array


MOST_LANES = 32768
"""So many are played at once: half as many take a tenth longer or more, and memory grows with them."""


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
        at_once = max(1, MOST_LANES // (candidates * len(RULES) * courses))
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


@dataclass(slots=True, kw_only=True)
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
    replica_s, late_s, changes
        What was paid so far.
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
    changes: Array


def _play_alike(games: Sequence[Game]) -> Iterator[Paid]:
    """Play operators of one shape."""
    outlooks = [game.outlook for game in games]
    stops = outlooks[0].change.stop_s > 0
    lanes = lanes_of(outlooks, rules=1 if stops else len(RULES))
    course, changed = _at_first(games, lanes)
    if stops:
        _play_as_advised([advice(outlook) for outlook in outlooks], lanes, course, changed)
    else:
        _play_by_rules(lanes, course, changed)
    _settle(lanes, course)
    operators, candidates, _ = course.count.shape
    each = operators, candidates, -1, len(games[0].outlook.weights)
    parts = (course.replica_s / 60, course.late_s / 60, course.changes)
    return (Paid(*paid) for paid in zip(*(part.reshape(each) for part in parts), strict=True))


def _at_first(games: Sequence[Game], lanes: Lanes) -> tuple[_Course, NDArray[np.bool_]]:
    """Return where the candidates are at first, and which of them are a change."""
    counts, changed = (
        np.array([[getattr(each, name) for each in game.candidates] for game in games])[:, :, None]
        for name in Candidate._fields
    )
    shape = (*counts.shape[:2], lanes.room_s.shape[-1])

    def everywhere(values: Sequence[float]) -> Array:
        return np.broadcast_to(np.array(values)[:, None, None], shape).copy()

    table = lanes.grows_above.shape[1] * np.arange(len(games))[:, None, None]
    served = everywhere([-game.outlook.backlog_rows for game in games])
    course = _Course(
        count=np.broadcast_to(counts, shape).astype(np.float64),
        slot=np.broadcast_to(counts + table, shape).copy(),
        rows_per_s=everywhere([game.outlook.present_rows_per_s for game in games]),
        served=served,
        overdue=lanes.due[0] - served,
        stopped_s=np.zeros(shape),
        settled_s=np.zeros(shape),
        replica_s=np.zeros(shape),
        late_s=np.zeros(shape),
        changes=np.zeros(shape),
    )
    return course, np.broadcast_to(changed, shape)


def _play_by_rules(lanes: Lanes, course: _Course, changed: NDArray[np.bool_]) -> None:
    """Let all steps pass where the job goes on while it changes."""
    moved = changed.ravel().nonzero()[0]
    _play_step(lanes, course, 0, moved, course.count.take(moved).astype(np.int64))
    for step in range(1, len(lanes.steps_s)):
        _play_step(lanes, course, step, *_by_rule(lanes, course, step))


def _by_rule(lanes: Lanes, course: _Course, step: int) -> tuple[Counts, Counts]:
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
    if operators == 1:
        return np.zeros_like(where)
    found: Counts = where // (candidates * lanes)
    return found


def _needed(rows_per_s: Array, operator: Counts, load: Array) -> Counts:
    """Return how many replicas carry each load; operators are in ascending order."""
    if len(rows_per_s) == 1:
        one: Counts = rows_per_s[0].searchsorted(load) + 1
        return one
    ends = operator.searchsorted(np.arange(len(rows_per_s) + 1))
    parts = (
        rows.searchsorted(load[begin:end])
        for rows, begin, end in zip(rows_per_s, ends[:-1], ends[1:], strict=True)
    )
    needed: Counts = np.concatenate([*parts]) + 1
    return needed


def _play_step(lanes: Lanes, course: _Course, step: int, moved: Counts, wanted: Counts) -> None:
    """Let one step pass, in which those at the indices ``moved`` change to so many replicas."""
    seconds = lanes.steps_s[step]
    held = _held_up(lanes, course, step, moved, wanted)
    served = course.rows_per_s * seconds
    served += course.served
    np.minimum(served, lanes.offered[step + 1], out=served)
    served.ravel()[held.who] = held.served
    overdue = lanes.due[step + 1] - served
    late = np.maximum(course.overdue, overdue).ravel() > 0
    late[held.who] = False
    late_s, who = course.late_s.ravel(), late.nonzero()[0]
    late_s[who] += seconds * share_above_0(course.overdue.take(who), overdue.take(who))
    late_s[held.who] = held.late_s
    course.replica_s += course.count * seconds
    course.served, course.overdue = served, overdue


class _Held(NamedTuple):
    """Who is held up by a change in a step, as indices, the rows served until its end, and how long rows were late."""

    who: Counts
    served: Array
    late_s: Array


def _held_up(lanes: Lanes, course: _Course, step: int, moved: Counts, wanted: Counts) -> _Held:
    """Begin the changes of a step, and play it for who is held up: first that, then the rest of it."""
    seconds = lanes.steps_s[step]
    operator = _operators(course, moved)
    rows_per_s = course.rows_per_s.ravel()
    before = rows_per_s.take(moved)
    after = lanes.rows_per_s.take(operator * lanes.rows_per_s.shape[1] + wanted - 1)
    course.count.ravel()[moved], rows_per_s[moved] = wanted, after
    course.slot.ravel()[moved] = operator * lanes.grows_above.shape[1] + wanted
    course.changes.ravel()[moved] += 1
    course.settled_s.ravel()[moved] = lanes.instants_s[step] + lanes.busy_s.take(operator)
    held_s = np.minimum(lanes.start_s, seconds).take(operator)
    held_rows_per_s = np.minimum(before, after)
    width = course.count.shape[-1]
    lane = operator * width + moved % width
    (offered_from, offered_until), (due_from, due_until) = (
        (rows[step].take(lane), rows[step + 1].take(lane)) for rows in (lanes.offered, lanes.due)
    )
    share = held_s / seconds
    offered_then = offered_from + share * (offered_until - offered_from)
    due_then = due_from + share * (due_until - due_from)
    served_then = np.minimum(offered_then, course.served.take(moved) + held_rows_per_s * held_s)
    served = np.minimum(offered_until, served_then + after * (seconds - held_s))
    overdue_then = due_then - served_then
    late_s = course.late_s.take(moved) + held_s * share_above_0(course.overdue.take(moved), overdue_then)
    late_s += (seconds - held_s) * share_above_0(overdue_then, due_until - served)
    return _Held(moved, served, late_s)


def _play_as_advised(
    advices: Sequence[Advice], lanes: Lanes, course: _Course, changed: NDArray[np.bool_]
) -> None:
    """Let all steps pass where a change stops the job."""
    count = course.count.astype(np.int64)
    _play_stopping(lanes, course, 0, changed, count)
    for step in range(1, len(lanes.steps_s)):
        count = course.count.astype(np.int64)
        rows = np.maximum(0.0, lanes.offered[step] - course.served)
        wanted = np.array([each.wanted(step, *of) for each, *of in zip(advices, count, rows, strict=True)])
        changed = (wanted != count) & (course.settled_s <= lanes.instants_s[step])
        _play_stopping(lanes, course, step, changed, wanted)


def _play_stopping(
    lanes: Lanes, course: _Course, step: int, changed: NDArray[np.bool_], wanted: Counts
) -> None:
    """Let one step pass, in which those that change to the replicas wanted stop first."""
    seconds, table = lanes.steps_s[step], lanes.rows_per_s.shape[1] * np.arange(len(wanted))[:, None, None]
    for kept, now in (
        (course.count, wanted),
        (course.rows_per_s, lanes.rows_per_s.take(table + wanted - 1)),
        (course.stopped_s, lanes.stop_s[:, None, None]),
        (course.settled_s, lanes.instants_s[step] + lanes.busy_s[:, None, None]),
    ):
        np.copyto(kept, now, where=changed)
    course.changes += changed
    held_s = np.minimum(course.stopped_s, seconds)
    course.stopped_s -= held_s
    serves_s = seconds - held_s
    served = np.minimum(course.served + course.rows_per_s * serves_s, lanes.offered[step + 1])
    due, due_in_the_end = lanes.due[step], lanes.due[step + 1]
    overdue_then = due + held_s / seconds * (due_in_the_end - due) - course.served
    overdue = due_in_the_end - served
    course.late_s += held_s * share_above_0(course.overdue, overdue_then)
    course.late_s += serves_s * share_above_0(overdue_then, overdue)
    course.replica_s += course.count * seconds
    course.served, course.overdue = served, overdue


def _settle(lanes: Lanes, course: _Course) -> None:
    """Charge what is left: the work that waits, and the time until no row is late any more with all replicas."""
    load = (lanes.offered[-1] - lanes.offered[-2]) / lanes.steps_s[-1]
    most = np.take_along_axis(lanes.rows_per_s, lanes.most[:, None] - 1, axis=1)[:, :, None]
    course.late_s += np.maximum(0.0, course.overdue) / spare_rows_per_s(most, load)
    course.replica_s += np.maximum(0.0, lanes.offered[-1] - course.served) / lanes.rows_per_s[:, :1, None]
