"""What the replicas of a query did with their time."""

import math


class Account:
    """Work, waiting and the time of kept replicas, as of any instant that is not past.

    What a batch takes is spread evenly over its course, so that a window that ends within it sees its part.
    """

    __slots__ = (
        "_from_s",
        "_replicas",
        "_since_s",
        "_time_s",
        "_until_s",
        "_waiting",
        "_work",
        "waited_s",
        "worked_s",
    )

    def __init__(self, replicas: int) -> None:
        self._replicas = replicas
        self._since_s = self._time_s = 0.0
        self.worked_s = self.waited_s = 0.0
        self._from_s, self._until_s = 0.0, math.inf
        self._work = self._waiting = 0.0

    def plan(self, from_s: float, until_s: float, work_s: float, waiting_s: float) -> None:
        """Spread what is to be done over a span of time; what was planned before is done."""
        self.worked_s += self._work
        self.waited_s += self._waiting
        self._from_s, self._until_s = from_s, until_s
        self._work, self._waiting = work_s, waiting_s

    def cut(self, at_s: float) -> tuple[float, float]:
        """Forget what is planned beyond an instant, and return it: work and waiting, seconds."""
        work, waiting = self.at(at_s)
        left = self.worked_s + self._work - work, self.waited_s + self._waiting - waiting
        self.worked_s, self.waited_s = work, waiting
        self._work = self._waiting = 0.0
        return left

    def at(self, at_s: float) -> tuple[float, float]:
        """Return work and waiting until an instant, seconds of replicas."""
        if at_s >= self._until_s:
            return self.worked_s + self._work, self.waited_s + self._waiting
        share = (at_s - self._from_s if at_s > self._from_s else 0.0) / (self._until_s - self._from_s)
        return self.worked_s + share * self._work, self.waited_s + share * self._waiting

    def keep(self, replicas: int, at_s: float) -> None:
        """Note how many replicas are kept from an instant on."""
        self._time_s = self.replica_seconds(at_s)
        self._since_s, self._replicas = at_s, replicas

    def replica_seconds(self, at_s: float) -> float:
        """Return the time of all kept replicas until an instant."""
        return self._time_s + self._replicas * (at_s - self._since_s)
