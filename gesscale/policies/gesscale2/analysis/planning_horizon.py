"""What a bill is made from: an operator, the scenarios that its load may take, and what a change costs."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Counts = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeCost:
    """What a change of the replicas costs."""

    #: For how long the job stops; 0 where it goes on.
    stop_s: float
    #: For how long a new replica does not count where the job goes on.
    start_s: float
    #: For how long no other change can be ordered.
    settle_s: float
    #: What a change costs on top.
    replica_minutes: float

    @property
    def serves_during_change(self) -> bool:
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
class PlanningHorizon:
    """An operator and its load from now on; c scenarios, k steps."""

    #: Shape ``(most,)``: capacity of 1, 2, ... replicas, never falling.
    rows_per_s: Array
    #: How many there are.
    replicas: int
    #: What they carry where they are.
    present_rows_per_s: float
    #: How many there may be (least, most).
    least: int
    most: int
    #: Shape ``(k,)``: length of each step, seconds.
    steps_s: Array
    #: Shape ``(c, k + 1)``: rows offered from now until each instant, and those that have to be through by then
    #: (offered, due).
    offered: Array
    due: Array
    #: Shape ``(c,)``: of the scenarios.
    weights: Array
    #: Rows that wait now.
    backlog_rows: float
    #: What a change costs.
    change: ChangeCost
    #: In replica-minutes.
    late_minute_price: float


class Candidate(NamedTuple):
    """What may be done in the first step."""

    #: How many to hold, from 1 to as many as have a capacity.
    replicas: int
    #: Whether that is a change: another number, or the same on other nodes.
    changed: bool
