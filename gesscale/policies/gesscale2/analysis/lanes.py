"""What candidates meet as they are played: each course of the load with each of the rules by which they go on."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from gesscale.policies.gesscale2.analysis.outlook import Array, Counts, Outlook


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
RULES = (
    _Rule(headroom=-0.60, slack=-0.50, drain=1.0, tolerated=0.4),
    _Rule(headroom=-0.30, slack=-0.25, drain=1.0, tolerated=0.5),
    _Rule(headroom=-0.10, slack=-0.05, drain=1.0, tolerated=0.6),
    _Rule(headroom=-0.05, slack=0.00, drain=2.0, tolerated=0.4),
    _Rule(headroom=0.00, slack=0.05, drain=3.0, tolerated=0.0),
    _Rule(headroom=0.10, slack=0.15, drain=2.0, tolerated=0.0),
    _Rule(headroom=0.25, slack=0.35, drain=1.0, tolerated=0.0),
    _Rule(headroom=0.60, slack=0.60, drain=1.0, tolerated=0.0),
    # Few changes, and a backlog drains by itself.
    _Rule(headroom=0.00, slack=0.30, drain=_NEVER, tolerated=0.0),
    _Rule(headroom=0.00, slack=0.80, drain=_NEVER, tolerated=0.0),
    _Rule(headroom=0.00, slack=_NEVER, drain=_NEVER, tolerated=0.0),
    _Rule(headroom=0.30, slack=1.00, drain=20.0, tolerated=0.0),
)


class Lanes(NamedTuple):
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


def lanes_of(outlooks: Sequence[Outlook], rules: int) -> Lanes:
    """Lay out what the candidates of operators of one shape meet; by the first so many rules.

    In each step a rule knows the load of the step before.
    """
    first = outlooks[0]
    headroom, slack, drain, tolerated = (
        np.repeat(column, len(first.weights)) for column in zip(*RULES[:rules], strict=True)
    )
    offered, due = (
        np.tile(np.array(rows).transpose(2, 0, 1)[:, :, None], rules)
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
    return Lanes(
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
