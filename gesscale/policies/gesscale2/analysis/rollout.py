"""Candidates played against every course of the load: what is done first is theirs, then they go on as advised.

First in, first out: rows are late where what was served is less than what had been offered the objective ago.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gesscale.policies.gesscale2.analysis.advice import Advice, advice
from gesscale.policies.gesscale2.analysis.lateness import share_above_0, spare_rows_per_s
from gesscale.policies.gesscale2.analysis.outlook import Array, Candidate, Counts, Outlook


class Game(NamedTuple):
    """An operator and its load, and the candidates that are played for it, one or more."""

    outlook: Outlook
    candidates: Sequence[Candidate]


class Paid(NamedTuple):
    """What each candidate pays on each course; shape ``(candidates, c)``."""

    replica_minutes: Array
    late_minutes: Array
    changes: Array


#: So many candidates on courses are played at once: memory grows with them.
MOST_AT_ONCE = 32768


def play(games: Sequence[Game]) -> list[Paid]:
    """Play the candidates of many operators to the end of the courses.

    Operators of the same shape are played together, since the steps of one alone are too short for arrays.
    """
    alike: dict[object, list[int]] = {}
    for index, game in enumerate(games):
        alike.setdefault(_shape(game), []).append(index)
    found: dict[int, Paid] = {}
    for indices in alike.values():
        candidates, courses = len(games[indices[0]].candidates), len(games[indices[0]].outlook.weights)
        at_once = max(1, MOST_AT_ONCE // (candidates * courses))
        for begin in range(0, len(indices), at_once):
            some = indices[begin : begin + at_once]
            found.update(zip(some, _play_alike([games[index] for index in some]), strict=True))
    return [found[index] for index in range(len(games))]


def _shape(game: Game) -> tuple[object, ...]:
    outlook = game.outlook
    return (len(game.candidates), len(outlook.weights), len(outlook.rows_per_s), outlook.steps_s.tobytes())


class _Together(NamedTuple):
    """What o operators of one shape meet, the same for all their candidates; c courses, k steps."""

    #: Shape ``(k,)``.
    steps_s: Array
    #: Shape ``(k + 1,)``: when each step begins, and the last one ends, seconds from now.
    instants_s: Array
    #: Shape ``(k + 1, o, 1, c)``: as in `Outlook` (offered, due).
    offered: Array
    due: Array
    #: Shape ``(o, n)``: capacity of 1, 2, ... replicas.
    rows_per_s: Array
    #: Shape ``(o, 1, 1)``: capacity of as many as there may be.
    most_rows_per_s: Array
    #: Shape ``(o, 1, 1)``: for how long a change holds up the replicas, and no other change can be ordered (held_s,
    #: busy_s).
    held_s: Array
    busy_s: Array
    #: Shape ``(o, 1, 1)``: 1 where those that stay serve meanwhile, 0 where the job stops.
    goes_on: Array

    def carried(self, count: Counts) -> Array:
        """Return what so many replicas carry, rows/s; shape ``(o, candidates, c)`` as ``count``."""
        first = self.rows_per_s.shape[1] * np.arange(len(count))[:, None, None]
        carried: Array = self.rows_per_s.take(first + count - 1)
        return carried


def _together(outlooks: Sequence[Outlook]) -> _Together:
    steps_s = outlooks[0].steps_s
    offered, due = (
        np.array(rows).transpose(2, 0, 1)[:, :, None]
        for rows in ([each.offered for each in outlooks], [each.due for each in outlooks])
    )
    each_alone = [
        (each.rows_per_s[each.most - 1], each.change.held_s, each.change.busy_s, each.change.goes_on)
        for each in outlooks
    ]
    most_rows_per_s, held_s, busy_s, goes_on = np.array(each_alone, dtype=np.float64).T[:, :, None, None]
    return _Together(
        steps_s=steps_s,
        instants_s=np.cumsum([0.0, *steps_s]),
        offered=offered,
        due=due,
        rows_per_s=np.array([each.rows_per_s for each in outlooks]),
        most_rows_per_s=most_rows_per_s,
        held_s=held_s,
        busy_s=busy_s,
        goes_on=goes_on,
    )


@dataclass(slots=True, kw_only=True)
class _Played:
    """Where each candidate is on each course, and what it paid; each array of shape ``(o, candidates, c)``."""

    #: Replicas, and what they carry (count, rows_per_s).
    count: Counts
    rows_per_s: Array
    #: For how long a change still holds them up, and what they carry until then (held_s, held_rows_per_s).
    held_s: Array
    held_rows_per_s: Array
    #: Rows, from now on.
    served: Array
    #: Rows that have to be through and are not; below 0 where there is time left.
    overdue: Array
    #: When the last change has settled, seconds from now.
    settled_s: Array
    #: What was paid so far (replica_s, late_s, changes).
    replica_s: Array
    late_s: Array
    changes: Array


def _play_alike(games: Sequence[Game]) -> Iterator[Paid]:
    """Play operators of one shape."""
    outlooks = [game.outlook for game in games]
    together = _together(outlooks)
    advices = [advice(outlook) for outlook in outlooks]
    wanted, changed = _at_first(games)
    played = _begun(outlooks, together, wanted)
    _play_step(together, played, 0, changed, wanted)
    for step in range(1, len(together.steps_s)):
        wanted = _advised(advices, together, played, step)
        _play_step(together, played, step, wanted != played.count, wanted)
    _settle(together, played)
    parts = (played.replica_s / 60, played.late_s / 60, played.changes)
    return (Paid(*paid) for paid in zip(*parts, strict=True))


def _at_first(games: Sequence[Game]) -> tuple[Counts, NDArray[np.bool_]]:
    """Return how many replicas the candidates hold, and which of them are a change."""
    shape = (len(games), len(games[0].candidates), len(games[0].outlook.weights))
    count, changed = (
        np.array([[getattr(each, name) for each in game.candidates] for game in games])[:, :, None]
        for name in Candidate._fields
    )
    return np.broadcast_to(count, shape), np.broadcast_to(changed, shape)


def _begun(outlooks: Sequence[Outlook], together: _Together, count: Counts) -> _Played:
    def everywhere(values: Sequence[float]) -> Array:
        return np.broadcast_to(np.array(values)[:, None, None], count.shape).copy()

    served = everywhere([-outlook.backlog_rows for outlook in outlooks])
    return _Played(
        count=count.copy(),
        rows_per_s=everywhere([outlook.present_rows_per_s for outlook in outlooks]),
        held_s=np.zeros(count.shape),
        held_rows_per_s=np.zeros(count.shape),
        served=served,
        overdue=together.due[0] - served,
        settled_s=np.zeros(count.shape),
        replica_s=np.zeros(count.shape),
        late_s=np.zeros(count.shape),
        changes=np.zeros(count.shape),
    )


def _advised(advices: Sequence[Advice], together: _Together, played: _Played, step: int) -> Counts:
    """Return how many replicas to have in a step; the same ones until the last change has settled."""
    rows = np.maximum(0.0, together.offered[step] - played.served)
    wanted = np.array([each.wanted(step, *of) for each, *of in zip(advices, played.count, rows, strict=True)])
    return np.where(played.settled_s <= together.instants_s[step], wanted, played.count)


def _play_step(together: _Together, played: _Played, step: int, changed: NDArray[np.bool_], wanted: Counts) -> None:
    """Let one step pass, in which those that change to the replicas wanted are held up first."""
    seconds, carried = together.steps_s[step], together.carried(wanted)
    for kept, now in (
        (played.held_s, together.held_s),
        (played.held_rows_per_s, np.minimum(played.rows_per_s, carried) * together.goes_on),
        (played.settled_s, together.instants_s[step] + together.busy_s),
        (played.rows_per_s, carried),
        (played.count, wanted),
    ):
        np.copyto(kept, now, where=changed)
    played.changes += changed
    held_s = np.minimum(played.held_s, seconds)
    played.held_s -= held_s
    freely_s, share = seconds - held_s, held_s / seconds
    offered, due = (
        (rows[step] + share * (rows[step + 1] - rows[step]), rows[step + 1])
        for rows in (together.offered, together.due)
    )
    served_then = np.minimum(played.served + played.held_rows_per_s * held_s, offered[0])
    served = np.minimum(served_then + played.rows_per_s * freely_s, offered[1])
    overdue_then, overdue = due[0] - served_then, due[1] - served
    played.late_s += held_s * share_above_0(played.overdue, overdue_then)
    played.late_s += freely_s * share_above_0(overdue_then, overdue)
    played.replica_s += played.count * seconds
    played.served, played.overdue = served, overdue


def _settle(together: _Together, played: _Played) -> None:
    """Charge what is left: the work that waits, and the time until no row is late any more with all replicas."""
    load = (together.offered[-1] - together.offered[-2]) / together.steps_s[-1]
    played.late_s += np.maximum(0.0, played.overdue) / spare_rows_per_s(together.most_rows_per_s, load)
    played.replica_s += np.maximum(0.0, together.offered[-1] - played.served) / together.rows_per_s[:, :1, None]
