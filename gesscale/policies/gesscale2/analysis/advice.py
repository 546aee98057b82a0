"""How to go on where a change stops the job: dynamic programming over replicas and backlog, along all courses.

From the end back, each number of replicas with each backlog has a cost on each course: the lesser of keeping and of
changing. Nobody knows which course the load takes. So the choice is made by the mean cost over the courses that have
been alike until then, and what it costs is that of the course itself (Longstaff and Schwartz, Valuing American options
by simulation, 2001; the mean over a mesh of courses: Broadie and Glasserman, A stochastic mesh method, 2004).
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gesscale.policies.gesscale2.analysis.lateness import Floats, share_above_0, spare_rows_per_s
from gesscale.policies.gesscale2.analysis.outlook import Array, Counts, Outlook

Single = NDArray[np.float32]
"""In single precision the table takes less time, and costs differ by far less than by what is not known."""

_BACKLOGS = 9
_LONGEST_S = 1800.0
"""The longest backlog that is laid out: what all replicas do in this time. Longer ones go on straight."""
_FADE = 0.5
"""How much of the distance of two courses is left after a step."""


class Advice(NamedTuple):
    """What keeping and what changing costs to the end; k steps, c courses, n numbers of replicas, g backlogs.

    Attributes
    ----------
    longest_rows
        The longest of the backlogs, which lie at the squares of even steps.
    least
        Fewest replicas; no more than the most.
    keeping
        Shape ``(k, c, n, g)``: mean cost over alike courses, replica-minutes. Nothing is chosen in the first step.
    changing, best
        Shape ``(k, c, g)``: the same for the best other number, and which that is.
    """

    longest_rows: float
    least: int
    keeping: Single
    changing: Single
    best: Counts

    def wanted(self, step: int, count: Counts, rows: Array) -> Counts:
        """Return how many replicas to have from a step on; may be the same.

        Parameters
        ----------
        step
            Not the first.
        count, rows
            Shape ``(candidates, c)``: replicas, and rows that wait.
        """
        course, most = np.arange(rows.shape[1]), self.keeping.shape[2]
        below, part = _between(rows, self.longest_rows)
        kept = _valued(self.keeping[step], course * most + np.minimum(count, most) - 1, below, part)
        changed = _valued(self.changing[step], course, below, part)
        changes = (changed < kept) | (count < self.least) | (count > most)
        found: Counts = np.where(
            changes, self.best[step].take(_BACKLOGS * course + below + (part > 0.5)), count
        )
        return found


def advice(outlook: Outlook) -> Advice:
    """Find how to go on, for every step but the first.

    Parameters
    ----------
    outlook
        Of an operator whose changes stop the job. The replicas of a change serve when it has stopped, and are kept
        for a step.
    """
    model = _Model(outlook)
    steps, (courses, most, backlogs) = len(outlook.steps_s), model.shape
    least = min(outlook.least, most)  # where there is room for fewer than the fewest, all of it is taken
    values = model.left()
    keeping = np.zeros((steps, *model.shape), dtype=np.float32)
    changing, best = (
        np.zeros((steps, courses, backlogs), dtype=np.float32),
        np.zeros((steps, courses, backlogs), dtype=np.int64),
    )
    keeps: list[Single] = [values] * (steps + 1)
    for step, alike in reversed(list(enumerate(model.alike))[1:]):
        keeps[step] = model.kept(step, values)
        changed = model.changed(step, keeps)[:, least - 1 :]
        kept, other = (
            (alike @ each.reshape(courses, -1)).reshape(each.shape) for each in (keeps[step], changed)
        )
        chosen = other.argmin(axis=1)[:, None]
        cheapest = other.min(axis=1, keepdims=True)
        leaves = cheapest < kept
        leaves[:, : least - 1] = True
        values = np.where(leaves, np.take_along_axis(changed, chosen, axis=1), keeps[step])
        keeping[step], changing[step], best[step] = kept, cheapest[:, 0], chosen[:, 0] + least
    return Advice(model.longest_rows, least, keeping, changing, best)


def _single(values: NDArray[Any]) -> Single:
    return values.astype(np.float32)


def _between(rows: Floats, longest_rows: float) -> tuple[Counts, Floats]:
    """Return the backlog of the table below some rows, and how far they are on the way to the next one."""
    part = rows * ((_BACKLOGS - 1) ** 2 / longest_rows)
    below = np.minimum(np.floor(np.sqrt(part)), _BACKLOGS - 2)
    part -= below * below
    part /= 2 * below + 1
    return below.astype(np.int64), part


def _valued(values: Single, row: Counts, below: Counts, part: NDArray[Any]) -> NDArray[Any]:
    """Return what is between the values of two backlogs, in rows of the table."""
    at = below + _BACKLOGS * row
    low = values.take(at, mode="clip")  # which no index needs, and is faster
    found: NDArray[Any] = low + (values.take(at + 1, mode="clip") - low) * part
    return found


class _Model:
    """An operator in steps; arrays by course, number of replicas and backlog.

    Attributes
    ----------
    longest_rows
        As in `Advice`.
    shape
        Of most arrays.
    alike
        For each step, shape ``(c, c)``: how much each course counts where another is the true one.
    """

    def __init__(self, outlook: Outlook) -> None:
        self._outlook = outlook
        self._rows_per_s = _single(outlook.rows_per_s[: outlook.most, None])
        self.longest_rows = float(_LONGEST_S * self._rows_per_s[-1, 0])
        self._waiting = _single(self.longest_rows * np.linspace(0.0, 1.0, _BACKLOGS) ** 2)
        self.shape = len(outlook.weights), outlook.most, _BACKLOGS
        self._row = np.arange(self.shape[0] * self.shape[1]).reshape(*self.shape[:2], 1)
        self._seconds = outlook.steps_s.tolist()
        self._replicas = _single(np.arange(1, outlook.most + 1)[:, None])
        self._offered = _single(np.diff(outlook.offered, axis=1).T[:, :, None, None])
        self._allowed = _single((outlook.offered - outlook.due).T[:, :, None, None])
        self.alike = self._mixed()

    def _mixed(self) -> Single:
        steps, courses = len(self._seconds), self.shape[0]
        apart = np.zeros((steps, courses, courses), dtype=np.float32)
        replicas = self._offered[..., 0] / _single(self._outlook.steps_s[:, None, None] * self._rows_per_s[0])
        for step in range(1, steps):
            now = (replicas[step - 1] - replicas[step - 1].T) ** 2
            apart[step] = _FADE * apart[step - 1] + (1 - _FADE) * now
        weights: Single = np.exp(-0.5 * apart) * _single(self._outlook.weights)
        weights /= weights.sum(axis=2, keepdims=True)
        return weights

    def left(self) -> Single:
        """Return what is charged for the rows that wait in the end."""
        outlook = self._outlook
        load = self._offered[-1] / self._seconds[-1]
        late_s = np.maximum(0.0, self._waiting - self._allowed[-1]) / spare_rows_per_s(
            self._rows_per_s[-1], load
        )
        cost = outlook.late_minute_price * late_s / 60 + self._waiting / self._rows_per_s[0] / 60
        return np.broadcast_to(cost, self.shape)

    def _played(self, step: int, rows: Single, served: Single | float) -> tuple[Single, Single]:
        """Return the rows that wait after a step in which so many are served at most, and what lateness costs."""
        left = np.maximum(0.0, rows + self._offered[step] - served)
        late = share_above_0(rows - self._allowed[step], left - self._allowed[step + 1])
        late *= self._outlook.late_minute_price * self._seconds[step] / 60
        return left, late

    def kept(self, step: int, after: Single) -> Single:
        """Return the cost of a step in which the replicas stay, and of what comes after it."""
        left, late = self._played(step, self._waiting, self._rows_per_s * self._seconds[step])
        cost: Single = (
            _valued(after, self._row, *_between(left, self.longest_rows))
            + late
            + self._replicas * (self._seconds[step] / 60)
        )
        return cost

    def changed(self, step: int, keeps: list[Single]) -> Single:
        """Return the cost of a change to each number, by what keeping costs in the step when it has stopped."""
        rows, cost, stop_s = self._waiting, self._outlook.change.replica_minutes, self._outlook.change.stop_s
        total: Single = np.full(1, cost, dtype=np.float32)
        while stop_s > 0 and step < len(self._seconds):
            seconds = self._seconds[step]
            serves_s = max(0.0, seconds - stop_s)
            served = self._rows_per_s * serves_s if serves_s else 0.0
            rows, late = self._played(step, rows, served)
            total = total + late + self._replicas * (seconds / 60)
            stop_s, step = stop_s - seconds, step + 1
        return _valued(keeps[step], self._row, *_between(rows, self.longest_rows)) + total
