"""Inputs of a cost estimate: an operator, the scenarios of its load, and the cost of a change."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Counts = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeCost:
    """Cost of a change of the replicas."""

    #: Time during which the job stops; 0 if it continues.
    stop_s: float
    #: Time until a new replica serves, if the job continues.
    start_s: float
    #: Time until the change has settled.
    settle_s: float
    #: Price of a change in addition.
    replica_minutes: float

    @property
    def serves_during_change(self) -> bool:
        """True if the remaining replicas serve during a change."""
        return self.stop_s == 0

    @property
    def stalled_s(self) -> float:
        """Time during which a change stalls replicas: all of them, or only the new ones."""
        return self.stop_s or self.start_s

    @property
    def locked_s(self) -> float:
        """Time during which no other change can be ordered, because the job stops or the change has not settled."""
        return max(self.settle_s, self.stop_s)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanningHorizon:
    """Operator and predicted load over the planning horizon; c scenarios, k steps."""

    #: Shape ``(max_replicas,)``: capacity of 1, 2, ... replicas, non-decreasing.
    rows_per_s: Array
    #: Present number of replicas.
    replicas: int
    #: Capacity of the present placement.
    present_rows_per_s: float
    #: Minimum and maximum number of replicas (min_replicas, max_replicas).
    min_replicas: int
    max_replicas: int
    #: Shape ``(k,)``: length of each step, seconds.
    steps_s: Array
    #: Shape ``(c, k + 1)``: rows offered from now until each instant, and rows that must be processed by then to meet
    #: the objective (offered, deadline_rows).
    offered: Array
    deadline_rows: Array
    #: Shape ``(c,)``: weights of the scenarios.
    weights: Array
    #: Present backlog.
    backlog_rows: float
    #: Cost of a change.
    change: ChangeCost
    #: Price of a late minute, in replica-minutes.
    late_minute_price: float


class FirstAction(NamedTuple):
    """Action of a candidate in the first step."""

    #: Number of replicas, from 1 to the number of known capacities.
    replicas: int
    #: True if it is a change: another number, or the same number on other nodes.
    changed: bool
