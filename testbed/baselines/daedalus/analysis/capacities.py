"""What other numbers of workers could do: as remembered where they were seen, else in proportion (Daedalus, 3.1)."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import scipy

_GUESSED = 1e-3
"""Weight of a capacity in proportion against one that was seen, where the two contradict each other."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedRate:
    """The capacity at a number of workers, rows/s, and when it was last found."""

    rows_per_s: float
    at_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Capacities:
    """What is known of capacities.

    Attributes
    ----------
    per_worker_rows_per_s
        The newest capacity over its number of workers; 0 before there is any.
    seen
        By number of workers.
    """

    per_worker_rows_per_s: float = 0.0
    seen: Mapping[int, ObservedRate] = field(default_factory=dict)

    def learned(
        self, workers: int, rows_per_s: float, at_s: float, *, drift_share: float, remember_s: float
    ) -> "Capacities":
        """Return the same with the newest capacity of so many workers.

        Parameters
        ----------
        workers, rows_per_s, at_s
            What was found, and when.
        drift_share
            Where it differs from what was remembered by more than this share of that, the job or its nodes have
            changed: what was seen is forgotten. Else the mean of both is remembered.
        remember_s
            What is older is forgotten.
        """
        before = self.seen.get(workers)
        kept = {count: seen for count, seen in self.seen.items() if at_s - seen.at_s <= remember_s}
        remembered = rows_per_s
        if before is not None and abs(rows_per_s - before.rows_per_s) > drift_share * before.rows_per_s:
            kept = {}
        elif before is not None and workers in kept:
            remembered = (before.rows_per_s + rows_per_s) / 2
        kept[workers] = ObservedRate(rows_per_s=remembered, at_s=at_s)
        return Capacities(per_worker_rows_per_s=rows_per_s / workers, seen=kept)

    def up_to(self, most: int) -> tuple[float, ...]:
        """Return the capacities of 1, 2 ... `most` workers, rows/s; empty before anything is known.

        Notes
        -----
        Never falling: values that were seen and contradict each other meet in the middle; values in proportion give way
        to them (isotonic regression). Algorithm 1 looks for the fewest workers that do, from one upwards.
        """
        if self.per_worker_rows_per_s <= 0:
            return ()
        counts = range(1, most + 1)
        raw = [
            self.seen[count].rows_per_s if count in self.seen else count * self.per_worker_rows_per_s
            for count in counts
        ]
        weights = [1.0 if count in self.seen else _GUESSED for count in counts]
        return tuple(scipy.optimize.isotonic_regression(raw, weights=weights).x.tolist())
