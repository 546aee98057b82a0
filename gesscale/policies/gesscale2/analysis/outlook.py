"""What a bill is made from: an operator, the courses that its load may take, and what a change costs."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

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
        For how long no other change can be ordered.
    replica_minutes
        What a change costs on top.
    """

    stop_s: float
    start_s: float
    settle_s: float
    replica_minutes: float

    @property
    def goes_on(self) -> bool:
        """Whether the replicas that stay serve during a change."""
        return self.stop_s == 0

    @property
    def held_s(self) -> float:
        """For how long a change holds up the replicas: all of them, or the new ones."""
        return self.stop_s or self.start_s

    @property
    def busy_s(self) -> float:
        """For how long no other change can be ordered, as the job stops or the last one has not settled."""
        return max(self.settle_s, self.stop_s)


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
    change: ChangeCost
    late_minute_price: float


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
