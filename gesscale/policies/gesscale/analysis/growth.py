"""Why growth ends: with every further node the replicas would carry no more."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gesscale.policies.gesscale.analysis.capacity import OperatorModel, round_trips_ms
from perfmodel import Points

#: A further replica must add at least this share of what a replica carries on average.
MIN_REPLICA_GAIN = 0.05


class Addition(NamedTuple):
    """A node that could take one more replica."""

    node: str
    #: Its longest round trip, to the driver or to another replica, whichever costs more.
    delay_ms: float
    #: Predicted capacity with it, and if it were no farther than the others (rows_per_s, near_rows_per_s).
    rows_per_s: float
    near_rows_per_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class GrowthEnd:
    """The number of replicas that carries most, though more are allowed."""

    #: Number of replicas, and their predicted capacity.
    replicas: int
    rows_per_s: float
    #: The nodes that could take one more, the highest capacity first; at least one.
    additions: tuple[Addition, ...]

    @property
    def nearest(self) -> Addition:
        """The node with which the replicas would carry most."""
        return self.additions[0]

    @property
    def by_delay(self) -> bool:
        """True if the delay is the reason; else it is the cap of a batch, or a slow node."""
        return self.is_too_far(self.nearest)

    def is_too_far(self, addition: Addition) -> bool:
        """Return True if a node adds too little because of its delay."""
        return addition.near_rows_per_s - addition.rows_per_s > MIN_REPLICA_GAIN * self.rows_per_s / self.replicas


def growing_sizes(rows_per_s: NDArray[np.float64], least: int) -> tuple[int, ...]:
    """Return the numbers of replicas that carry more than each smaller one; the least is always one of them.

    Examples
    --------
    A third replica makes up for the delay of the second:

    >>> growing_sizes(np.array([1483, 1129, 1694, 1700]), 1)
    (1, 3)
    """
    capacity = rows_per_s.tolist()
    sizes = [min(least, len(capacity))]
    for size in range(sizes[0] + 1, len(capacity) + 1):
        if carries_more(capacity[size - 1], size, capacity[sizes[-1] - 1], sizes[-1]):
            sizes.append(size)
    return tuple(sizes)


def carries_more(rows_per_s: float, replicas: float, than_rows_per_s: float, than_replicas: float) -> bool:
    """Return whether more replicas carry more than fewer, by `MIN_REPLICA_GAIN` for each, or for each unit of price."""
    added = (replicas - than_replicas) / than_replicas
    return rows_per_s > than_rows_per_s * (1 + MIN_REPLICA_GAIN * added)


def additions(fitted: OperatorModel, placement: Sequence[str], considered: tuple[str, ...]) -> tuple[Addition, ...]:
    """Return the nodes that could join a placement, the highest capacity first; without those of unknown delay."""
    to_driver_ms, pairs_ms = round_trips_ms(considered, fitted.operator.driver_node, fitted.delays)
    weights = np.array([fitted.weights.get(node, 1.0) for node in considered])
    held = np.array([considered.index(node) for node in placement])
    to_others_ms = pairs_ms[:, held].max(axis=1)
    free = np.setdiff1d(np.flatnonzero(~np.isnan(to_driver_ms + to_others_ms)), held)
    driver_ms, pair_ms = to_driver_ms[held].max(), to_others_ms[held].max()
    near = Points(
        weight=weights[held].sum() + weights[free],
        even_weight=(len(held) + 1) * np.minimum(weights[held].min(), weights[free]),
        driver_ms=np.full(len(free), driver_ms),
        pair_ms=np.full(len(free), pair_ms),
        cap_rows=np.full(len(free), fitted.cap_rows(len(held) + 1)),
        trigger_s=fitted.trigger_s,
    )
    far_from_driver = replace(near, driver_ms=np.maximum(driver_ms, to_driver_ms[free]))
    far_from_others = replace(near, pair_ms=np.maximum(pair_ms, to_others_ms[free]))
    middle = fitted.model.middle
    rows_per_s = middle(replace(far_from_driver, pair_ms=far_from_others.pair_ms))
    others_cost_more = middle(far_from_others) < middle(far_from_driver)
    delay_ms = np.where(others_cost_more, to_others_ms[free], to_driver_ms[free])
    names = [considered[index] for index in free.tolist()]
    found = map(Addition, names, delay_ms.tolist(), rows_per_s.tolist(), middle(near).tolist())
    return tuple(sorted(found, key=lambda each: (-each.rows_per_s, each.delay_ms, each.node)))
